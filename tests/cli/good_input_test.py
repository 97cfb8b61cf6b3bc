"""Input that looks odd and is not wrong: it works, and as documented."""

import gzip
import json

from bad_input_test import zstd_of
from support import RATINGS, Case, main


class Read(Case):
    def describe(self, content, *words, name="ratings.txt"):
        self.write(name, content)
        return self.done("data", "describe", name, "--json", *words).events()[0]

    def check(self, content, users, items, ratings, *words, **options):
        found = self.describe(content, *words, **options)
        self.assertEqual(
            (found["users"], found["items"], found["ratings"]), (users, items, ratings)
        )
        return found

    def test_separators_and_headers(self):
        for separator in ("\t", ",", ";", "::", " ", "   ", " \t "):
            lines = [
                separator.join(words)
                for words in (("1", "10", "5"), ("2", "10", "3.5"), ("2", "11", "1"))
            ]
            for head in ("", separator.join(("userId", "itemId", "rating")) + "\n"):
                with self.subTest(separator=separator, head=head):
                    self.check(head + "\n".join(lines) + "\n", 2, 2, 3)

    def test_windows_line_ends_and_no_final_one(self):
        self.check("1\t1\t5\r\n1\t2\t3\r\n2\t1\t4", 2, 2, 3)
        self.check("u,i,r\r\n1,1,5\r\n1,2,3", 1, 2, 2)
        self.check("\ufeff1,1,5\n1,2,3", 1, 2, 2)

    def test_further_and_other_columns(self):
        self.check("1\t1\t5\t881250949\n1\t2\t3\t881250949\n", 1, 2, 2)
        self.check(
            "5,x,9,7\n3,y,9,8\n",
            2,
            1,
            2,
            "--user-column",
            "4",
            "--item-column",
            "3",
            "--value-column",
            "1",
        )

    def test_lines_without_a_rating(self):
        found = self.check("ann\tTitanic\nbob\tTitanic\n", 2, 1, 2, "--no-value")
        self.assertEqual(found["value"]["min"] if "value" in found else 1, 1)

    def test_compressed_files_whatever_their_names(self):
        content = RATINGS.encode()
        plain = self.describe(content)
        for packed in (
            gzip.compress(content),
            gzip.compress(content[:600]) + gzip.compress(content[600:]),
            zstd_of(content),
        ):
            if packed is None:
                continue
            found = self.describe(packed, name="packed")
            for key in ("users", "items", "ratings"):
                self.assertEqual(found[key], plain[key])

    def test_matrix_market(self):
        self.check(
            "%%MatrixMarket matrix coordinate real general\n"
            "% a comment\n4 9 3\n1 9 5\n4 1 2\n4 2 1.5\n",
            2,
            3,
            3,
        )

    def test_several_files_are_one_data_set(self):
        self.write("a", "1\t1\t5\n")
        self.write("b", gzip.compress(b"2,2,4\n1,2,3\n"))
        found = self.done("data", "describe", "a", "b", "--json").events()[0]
        self.assertEqual((found["users"], found["items"], found["ratings"]), (2, 2, 3))

    def test_standard_input(self):
        for content in (RATINGS.encode(), gzip.compress(RATINGS.encode())):
            found = self.done("data", "describe", "-", "--json", stdin=content).events()[0]
            self.assertEqual(found["ratings"], RATINGS.count("\n"))


class Trained(Case):
    """Ids and odd shapes of data, all the way to recommendations."""

    def recommended(self, user, *words):
        found = self.done("recommend", "model", "--user", user, "--json", *words).events()[0]
        self.assertEqual(found["user"], user)
        return [entry["item"] for entry in found["items"]]

    def test_ids_of_every_kind(self):
        ids = (
            "4294967297",
            "4294967295",
            "4294967296",
            "-1",
            "007",
            "7",
            "1e3",
            "Ä-7",
            "日本",
            "a b",
            "x,y",
            'say "hi"',
            "'",
            "\\n",
            "--out",
            "NaN",
            "🎬",
        )
        lines = ["user,item,rating"]
        for user in ids:
            for item in ids:
                u, i = ids.index(user), ids.index(item)
                if (u + i) % 3:
                    lines.append(f"{quoted(user)},{quoted(item)},{u * i % 5 + 1}")
        self.train("--clocks", 5, data="\n".join(lines))
        for user in ids:
            left = {item for item in ids if (ids.index(user) + ids.index(item)) % 3 == 0}
            found = self.done("recommend", "model", f"--user={user}", "--json").events()[0]
            self.assertEqual(found["user"], user)
            self.assertEqual({entry["item"] for entry in found["items"]}, left)
        self.done("recommend", "model", "--all-users", "--out", "best.csv")
        self.assertIn(f"\n{quoted('x,y')},", (self.folder / "best.csv").read_text())
        names = (self.folder / "model" / "users.txt").read_text().splitlines()
        self.assertEqual(len(names), len(ids))

    def test_ids_that_numbers_cannot_tell_apart(self):
        self.train("--clocks", 2, data="7\ta\t1\n07\ta\t2\n7.0\ta\t3\n +7\ta\t4\n")
        self.assertEqual(json.loads((self.folder / "model/model.json").read_text())["users"], 4)

    def test_duplicates(self):
        data = RATINGS + "1\t1\t5\n1\t1\t1\n1\t1\t3\n"
        pairs = RATINGS.count("\n")  # (1, 1) is one of them
        for rule, ratings in (("keep", pairs + 3), ("last", pairs), ("mean", pairs)):
            outcome = self.train("--clocks", 2, "--duplicates", rule, "--json", data=data)
            read = outcome.events()[0]
            self.assertEqual((read["ratings"], read["duplicates"]), (ratings, 3))
            self.assertNotIn("1", self.recommended("1"))

    def test_duplicates_are_told(self):
        self.write("twice.tsv", "1\t1\t5\n1\t1\t3\n2\t2\t1\n")
        err = self.done("train", "mf", "--data", "twice.tsv", "--out", "m", "--clocks", "1").err
        self.assertIn("1 rating repeats a pair", err)

    def test_one_user_one_item_one_rating(self):
        self.train("--clocks", 3, data="".join(f"me\t{n}\t{n % 5 + 1}\n" for n in range(50)))
        self.assertEqual(self.recommended("me"), [])
        self.assertEqual(len(self.recommended("me", "--include-seen")), 10)
        self.train("--clocks", 3, data="".join(f"{n}\tit\t{n % 5 + 1}\n" for n in range(50)))
        self.assertEqual(self.recommended("7", "--include-seen"), ["it"])
        self.train("--clocks", 3, data="me it 3")
        self.assertEqual(self.recommended("me", "--include-seen"), ["it"])

    def test_all_ratings_equal(self):
        outcome = self.train(
            "--clocks", 3, "--json", data="".join(f"{n % 7}\t{n % 11}\t3\n" for n in range(77))
        )
        self.assertLess(outcome.events()[-1]["train_rmse"], 1)

    def test_ratings_of_any_size(self):
        for scale in (1e-3, 1, 1e4, 1e30):
            data = "".join(
                f"{u}\t{i}\t{(u * i % 5 + 1) * scale!r}\n" for u in range(20) for i in range(10)
            )
            last = self.train("--clocks", 20, "--lambda", 0, "--json", data=data).events()[-1]
            self.assertTrue(last["train_rmse"] < scale, last)

    def test_more_threads_rank_and_shards_than_data(self):
        self.train("--clocks", 2, "--threads", 64, "--rank", 200, "--shards", 64, "--blocks", 100)
        self.done("evaluate", "model", "--data", "ratings.tsv", "--threads", "100")

    def test_test_ratings_that_the_training_does_not_know(self):
        self.write("test.tsv", "1\t1\t3\nnobody\t1\t3\n1\tnothing\t3\nnobody\tnothing\t3\n")
        read = self.train("--clocks", 2, "--test", "test.tsv", "--json").events()[0]
        self.assertEqual((read["test_ratings"], read["test_unknown"]), (4, 3))
        found = self.done("evaluate", "model", "--data", "test.tsv", "--json").events()[0]
        self.assertEqual(
            (found["ratings"], found["known"], found["unknown_users"], found["unknown_items"]),
            (4, 1, 2, 2),
        )
        self.write("test.tsv", "nobody\tnothing\t3\n")
        self.train("--clocks", 2, "--test", "test.tsv")
        self.assertEqual(
            self.done("evaluate", "model", "--data", "test.tsv", "--json").events()[0]["known"], 0
        )

    def test_no_clocks_is_a_model_too(self):
        self.train("--clocks", 0)
        self.done("inspect", "model")


def quoted(field):
    """As in a CSV file."""
    if any(c in field for c in ',"\n'):
        return '"' + field.replace('"', '""') + '"'
    return field


if __name__ == "__main__":
    main()
