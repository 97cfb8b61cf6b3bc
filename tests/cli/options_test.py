"""Options: every way to give them, and what is said about wrong ones."""

from support import Case, main


class Help(Case):
    def test_castor_alone_lists_the_commands(self):
        out = self.done().out
        for name in ("train mf", "evaluate", "recommend", "predict", "inspect", "data describe"):
            self.assertIn(f"\n  {name} ", out)

    def test_a_group_lists_its_commands(self):
        self.assertIn("train mf", self.done("train").out)
        out = self.done("data", "--help").out
        self.assertIn("data split", out)
        self.assertNotIn("evaluate", out)

    def test_version(self):
        self.assertRegex(self.done("--version").out, r"^castor \d+\.\d+\.\d+\n$")

    def test_help_in_three_ways_is_the_same_page(self):
        pages = {
            self.done(*words).out
            for words in (("train", "mf", "--help"), ("train", "mf", "-h"), ("help", "train", "mf"))
        }
        self.assertEqual(len(pages), 1)

    def test_help_says_defaults_and_ranges(self):
        page = self.done("train", "mf", "--help").out
        self.assertIn("--solver sgd|als|ccd", page)
        self.assertIn("from 1 to 2048; default 32", " ".join(page.split()))

    def test_help_needs_nothing_else_to_be_right(self):
        self.done("train", "mf", "--rank", "zero", "--help")

    def test_every_command_has_help_and_a_place_in_the_reference(self):
        reference = self.done("options", "--markdown").out
        names = [
            line[len("## castor ") :]
            for line in reference.splitlines()
            if line.startswith("## castor ")
        ]
        self.assertGreaterEqual(len(names), 9)
        for name in names:
            page = self.done(*name.split(), "--help").out
            self.assertTrue(page.startswith(f"castor {name}: "), page)
            self.assertLessEqual(max(map(len, page.splitlines())), 100, page)

    def test_options_of_one_program(self):
        page = self.done("options", "mf").out
        self.assertIn("--lambda", page)
        self.assertNotIn("--all-users", page)
        self.refused("options", "nothing", says="'nothing'")


class Wrong(Case):
    def test_unknown_commands_suggest_the_nearest(self):
        self.refused("evalute", code=2, says=["evalute", "did you mean 'evaluate'"])
        self.refused("data", "splitt", code=2, says="did you mean 'split'")
        self.refused("--nonsense", code=2, says="unknown option '--nonsense'")

    def test_unknown_options_suggest_the_nearest(self):
        self.refused(
            "train",
            "mf",
            "--rnk",
            "8",
            code=2,
            says=["unknown option '--rnk'", "did you mean '--rank'", "castor train mf --help"],
        )
        self.refused("train", "mf", "-x", code=2, says="'-x'")

    def test_values_out_of_range(self):
        for option, value in (
            ("rank", 0),
            ("rank", -5),
            ("rank", 10**9),
            ("rank", "many"),
            ("rank", "4.5"),
            ("rank", ""),
            ("clocks", -1),
            ("lambda", "nan"),
            ("lambda", "inf"),
            ("rate", 0),
            ("threads", -1),
            ("seed", -1),
            ("solver", "magic"),
            ("checkpoint-every", -1),
            ("user-column", 0),
            ("rank", "99999999999999999999999"),
        ):
            with self.subTest(option=option, value=value):
                self.refused(
                    "train",
                    "mf",
                    "--data",
                    "x",
                    "--out",
                    "y",
                    f"--{option}",
                    value,
                    code=2,
                    says=[f"--{option} is '{value}'", "it must be"],
                )

    def test_missing_values_and_options(self):
        self.refused("train", "mf", "--data", "x", "--out", code=2, says="--out needs a value")
        self.refused("train", "mf", "--out", "--data", "x", code=2, says="--out needs a value")
        self.refused("train", "mf", "--data", "x", code=2, says="--out is missing")
        self.refused("train", "mf", "--out", "x", code=2, says="--data is missing")
        self.refused("evaluate", "--data", "x", code=2, says="MODEL is missing")
        self.refused("evaluate", "m", code=2, says="--data is missing")

    def test_one_word_too_many(self):
        self.refused("inspect", "a", "b", code=2, says="'b'")
        self.refused("train", "mf", "--resume", "yes", code=2, says="'yes'")

    def test_options_that_do_not_go_together(self):
        given = ("train", "mf", "--data", "x", "--out", "y")
        self.refused(*given, "--implicit", "--solver", "sgd", code=2, says="implicit")
        self.refused("recommend", "m", code=2, says="--all-users")
        self.refused("recommend", "m", "--user", "1", "--all-users", code=2, says="one of")
        self.refused(
            "data", "generate", "ratings", "--out", "x", "--test", "0.5", code=2, says="--test-out"
        )
        self.refused(
            "data", "split", "a", "--train-out", "a", "--test-out", "b", code=2, says="'a'"
        )
        self.refused(
            "data", "split", "a", "--train-out", "b", "--test-out", "b", code=2, says="same file"
        )
        self.refused("data", "generate", "ratings", "--out", "x.gz", code=2, says="x.gz")

    def test_strange_bytes_are_shown_safely(self):
        outcome = self.refused(
            "train", "mf", "--rank", b"\x1b[31m\xff".decode(errors="surrogateescape"), code=2
        )
        self.assertNotIn("\x1b", outcome.err)

    def test_nothing_is_made_for_a_wrong_command_line(self):
        self.refused("train", "mf", "--data", "x", "--out", "y", "--rank", "0", code=2)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_errors_as_json(self):
        outcome = self.castor("inspect", "nothing", "--log=json")
        self.assertEqual(outcome.code, 1)
        outcome.out = outcome.err
        self.assertEqual(outcome.events()[0]["code"], "not_found")


class Given(Case):
    def effective(self, *words):
        """The options that a model was trained with."""
        self.train(*words)
        return self.done("inspect", "model", "--json").events()[0]["model"]["options"]

    def test_values_after_a_space_or_an_equals_sign(self):
        self.assertEqual(self.effective("--clocks=3", "--lambda", "0.5")["clocks"], 3)

    def test_numbers_as_people_write_them(self):
        self.assertEqual(self.effective("--clocks", "2", "--seed", "1e3")["seed"], 1000)

    def test_the_last_one_holds(self):
        self.assertEqual(self.effective("--clocks", "5", "--clocks", "2")["clocks"], 2)

    def test_flags(self):
        self.assertTrue(self.effective("--biases", "--clocks", "2")["biases"])
        self.assertFalse(self.effective("--biases", "--biases=false", "--clocks", "2")["biases"])

    def test_configuration_file_then_set_then_options(self):
        self.write("mf.toml", "clocks = 7\nlambda = 0.25\nseed = 5\nbiases = true\n")
        options = self.effective(
            "--config", "mf.toml", "--set", "seed=6", "lambda=0.75", "--lambda", "1.5"
        )
        self.assertEqual(
            (options["clocks"], options["lambda"], options["seed"], options["biases"]),
            (7, 1.5, 6, True),
        )

    def test_lists_in_a_configuration_file(self):
        self.write("a.tsv", "1\t1\t5\n")
        self.write("b.tsv", "2\t2\t3\n")
        self.write("mf.toml", 'data = ["a.tsv", "b.tsv"]\nout = "m"\nclocks = 1\n')
        self.assertIn("2 ratings", self.done("train", "mf", "--config", "mf.toml").err)
        self.assertIn(
            "1 rating ", self.done("train", "mf", "--config", "mf.toml", "--data", "a.tsv").err
        )

    def test_wrong_configuration_files(self):
        given = ("train", "mf", "--data", "x", "--out", "y", "--config", "mf.toml")
        self.refused(*given, code=2, says="mf.toml")
        for content, said in (
            ("clocks = ", "mf.toml:1"),
            ("clcks = 3", "did you mean 'clocks'"),
            ("clocks = -3", "clocks is '-3'"),
            ("clocks = 'x'", "clocks"),
            ("[clocks]\na = 1", "clocks"),
            ("data = 3", "data"),
            ("\0", "mf.toml"),
        ):
            with self.subTest(content=content):
                self.write("mf.toml", content)
                self.refused(*given, code=2, says=[said, "mf.toml"])
        self.refused("train", "mf", "--set", "clocks", code=2, says="KEY=VALUE")
        self.refused("train", "mf", "--set", "clcks=3", code=2, says="did you mean 'clocks'")
        self.refused("train", "mf", "--set", "clocks=x", code=2, says="clocks is 'x'")

    def test_lists_take_several_words_and_repetitions(self):
        self.write("a,b.tsv", "1\t1\t5\n")
        self.write("c.tsv", "2\t2\t3\n")
        self.write("d.tsv", "3\t3\t1\n")
        err = self.done(
            "train",
            "mf",
            "--data",
            "a,b.tsv",
            "c.tsv",
            "--clocks",
            "1",
            "--data",
            "d.tsv",
            "--out",
            "m",
        ).err
        self.assertIn("3 ratings", err)

    def test_arguments_may_stand_before_or_after_options(self):
        self.train("--clocks", "2")
        first = self.done("evaluate", "model", "--data", "ratings.tsv").out
        self.assertEqual(first, self.done("evaluate", "--data", "ratings.tsv", "model").out)
        self.assertEqual(
            first, self.done("evaluate", "--data", "ratings.tsv", "model", "--threads", "1").out
        )

    def test_after_two_dashes_nothing_is_an_option(self):
        self.refused("inspect", "--", "--strange", says="--strange")

    def test_negative_values_and_standard_input(self):
        self.train("--clocks", "2", data="-5\t-\t3\n-6\t-\t4\n")
        out = self.done("recommend", "model", "--user", "-5", "--include-seen").out
        self.assertIn("-5\t-\t", out)
        self.done("evaluate", "model", "--data", "-", stdin="-5\t-\t3\n")

    def test_quiet_says_nothing(self):
        outcome = self.train("--clocks", "2")
        self.assertEqual(outcome.err, "")


if __name__ == "__main__":
    main()
