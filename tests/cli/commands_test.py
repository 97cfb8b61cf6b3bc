"""Commands that use a model, against the obvious computation; and those on data."""

from support import RATINGS, Case, main


class Recommend(Case):
    def setUp(self):
        super().setUp()
        self.train("--clocks", 5)
        everything = "".join(f"{u}\t{i}\n" for u in range(1, 31) for i in range(1, 21))
        rows = self.done("predict", "model", "--data", "-", stdin=everything).table()
        self.predicted = {(user, item): float(value) for user, item, value in rows}
        self.seen = {tuple(line.split("\t")[:2]) for line in RATINGS.splitlines()}

    def best(self, user, top, left_out):
        items = [i for u, i in self.predicted if u == user and (u, i) not in left_out]
        return sorted(items, key=lambda item: -self.predicted[user, item])[:top]

    def check(self, left_out, *words, top=5):
        rows = self.done("recommend", "model", "--all-users", "--top", top, *words).table()
        for user in {user for user, _ in self.predicted}:
            found = [(item, float(score)) for u, item, score in rows if u == user]
            scores = [self.predicted[user, item] for item in self.best(user, top, left_out)]
            self.assertEqual(len(found), len(scores))
            for (item, score), wanted in zip(found, scores):
                self.assertNotIn((user, item), left_out)
                self.assertAlmostEqual(score, wanted, places=4)

    def test_the_best_are_those_of_the_highest_predictions(self):
        self.check(self.seen)
        self.check(self.seen, top=1000)
        self.check(set(), "--include-seen")

    def test_excluded_pairs(self):
        pairs = {(str(u), str(u % 20 + 1)) for u in range(1, 31)}
        self.write("not.tsv", "".join(f"{u}\t{i}\n" for u, i in pairs) + "nobody\tnothing\n")
        self.check(self.seen | pairs, "--exclude", "not.tsv")
        self.check(pairs, "--include-seen", "--exclude", "not.tsv")

    def test_users_from_a_file_or_standard_input_in_their_order(self):
        self.write("users.txt", "7\r\n\n3\n7")
        wanted = self.done("recommend", "model", "--user", "7", "3", "7", "--json").out
        self.assertEqual(
            self.done("recommend", "model", "--users", "users.txt", "--json").out, wanted
        )
        piped = self.done("recommend", "model", "--users", "-", "--json", stdin="7\n3\n7\n")
        self.assertEqual(piped.out, wanted)

    def test_the_number_of_threads_changes_nothing(self):
        words = ("recommend", "model", "--all-users", "--threads")
        self.assertEqual(self.done(*words, 1).out, self.done(*words, 4).out)

    def test_a_model_without_seen_pairs_asks_what_to_do(self):
        self.train("--clocks", 2, "--no-seen", out="bare")
        self.refused("recommend", "bare", "--user", "1", says="--include-seen")
        self.done("recommend", "bare", "--user", "1", "--include-seen")
        self.refused("evaluate", "bare", "--data", "ratings.tsv", "--ranking", says="--no-seen")


class Evaluate(Case):
    def test_errors_are_those_of_the_predictions(self):
        self.train("--clocks", 5, "--biases")
        test = [("1", "1", 5), ("2", "5", 1), ("30", "20", 3), ("nobody", "1", 4)]
        self.write("test.tsv", "".join(f"{u}\t{i}\t{v}\n" for u, i, v in test))
        rows = self.done("predict", "model", "--data", "test.tsv").table()
        off = [float(row[2]) - value for row, (_, _, value) in zip(rows, test)]
        found = self.done("evaluate", "model", "--data", "test.tsv", "--json").events()[0]
        rmse = (sum(x * x for x in off) / 4) ** 0.5
        self.assertAlmostEqual(found["rmse"], rmse, places=5)
        self.assertAlmostEqual(found["mae"], sum(map(abs, off)) / 4, places=5)
        known = (sum(x * x for x in off[:3]) / 3) ** 0.5
        self.assertAlmostEqual(found["known_rmse"], known, places=5)

    def test_ranking_stands_beside_popularity(self):
        self.train("--clocks", 5)
        self.write("test.tsv", "1\t2\t5\n2\t1\t5\n3\t3\t1\n")
        words = ("evaluate", "model", "--data", "test.tsv", "--ranking", "--top", "3")
        found = self.done(*words, "--json").events()[0]["ranking"]
        self.assertEqual((found["top"], found["users"]), (3, 3))
        self.assertEqual(
            self.done(*words, "--json", "--relevant-above", 2).events()[0]["ranking"]["users"], 2
        )
        self.assertIn("recall@3", self.done(*words).out)

    def test_an_implicit_model_is_judged_by_ranking_only(self):
        self.train("--clocks", 2, "--solver", "als", "--implicit")
        self.refused("evaluate", "model", "--data", "ratings.tsv", says="--ranking")
        self.write("test.tsv", "1\t2\t5\n")
        found = self.done(
            "evaluate", "model", "--data", "test.tsv", "--ranking", "--json"
        ).events()[0]
        self.assertEqual(set(found), {"ranking"})

    def test_clipped_predictions_stay_among_the_ratings(self):
        self.train("--clocks", 50, "--lambda", 0)
        rows = self.done("predict", "model", "--data", "ratings.tsv", "--clip").table()
        self.assertTrue(all(1 <= float(row[2]) <= 5 for row in rows))


class Data(Case):
    def test_a_split_is_complete_disjoint_and_the_same_again(self):
        self.write("all.tsv", RATINGS)
        words = ("data", "split", "all.tsv", "--test", "0.3", "--seed", "5", "--train-out")
        self.done(*words, "a.tsv", "--test-out", "b.tsv")
        parts = [(self.folder / name).read_text().splitlines() for name in ("a.tsv", "b.tsv")]
        self.assertEqual(sorted(parts[0] + parts[1]), sorted(RATINGS.splitlines()))
        self.assertTrue(parts[0] and parts[1])
        self.done(*words, "c.tsv", "--test-out", "d.tsv")
        for one, other in (("a.tsv", "c.tsv"), ("b.tsv", "d.tsv")):
            self.assertEqual((self.folder / one).read_bytes(), (self.folder / other).read_bytes())

    def test_generated_ratings_are_as_many_as_asked_for_and_the_same_again(self):
        words = (
            "data",
            "generate",
            "ratings",
            "--ratings",
            "5000",
            "--test",
            "0.2",
            "--json",
            "--out",
        )
        first = self.done(*words, "a", "--test-out", "b").events()[0]
        self.done(*words, "c", "--test-out", "d")
        self.assertEqual(first["ratings"] + first["test_ratings"], 5000)
        for one, other in (("a", "c"), ("b", "d")):
            self.assertEqual((self.folder / one).read_bytes(), (self.folder / other).read_bytes())

    def test_a_summary_for_people_and_for_programs(self):
        self.write("all.tsv", RATINGS)
        self.assertIn("users", self.done("data", "describe", "all.tsv").out)
        found = self.done("data", "describe", "all.tsv", "--json").events()[0]
        self.assertEqual((found["users"], found["items"]), (30, 20))


if __name__ == "__main__":
    main()
