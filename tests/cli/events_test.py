"""What --json says: every event with its members and their kinds."""

import json

from support import RATINGS, Case, main

WHOLE, REAL, TEXT, LIST = int, (int, float), str, list

# event: members that are always there; members that may be.
EVENTS = {
    "read": (
        {
            "ratings": WHOLE,
            "users": WHOLE,
            "items": WHOLE,
            "seconds": REAL,
            "duplicates": WHOLE,
            "duplicates_removed": WHOLE,
            "warnings": LIST,
        },
        {"test_ratings": WHOLE, "test_unknown": WHOLE, "validation_ratings": WHOLE},
    ),
    "start": (
        {"solver": TEXT, "rank": WHOLE, "shards": WHOLE, "threads": WHOLE, "prepare_seconds": REAL},
        {"blocks": WHOLE, "warnings": LIST},
    ),
    "clock": (
        {"clock": WHOLE, "clocks": WHOLE, "objective": REAL, "seconds": REAL, "cpu_seconds": REAL},
        {
            "train_rmse": REAL,
            "test_rmse": REAL,
            "validation_rmse": REAL,
            "test_recall_at_10": REAL,
            "ratings_per_second": REAL,
            "seconds_left": REAL,
        },
    ),
    "done": (
        {
            "clock": WHOLE,
            "reason": TEXT,
            "seconds": REAL,
            "ratings_per_second": REAL,
            "cpu_seconds": REAL,
            "ratings_per_cpu_second": REAL,
            "read_seconds": REAL,
            "prepare_seconds": REAL,
            "stalled_seconds": REAL,
            "model": TEXT,
        },
        {
            "train_rmse": REAL,
            "test_rmse": REAL,
            "validation_rmse": REAL,
            "best_clock": WHOLE,
            "objective": REAL,
            "test_recall_at_10": REAL,
            "resumed_clock": WHOLE,
        },
    ),
}


class Events(Case):
    def check(self, event):
        name = event.pop("event")
        always, sometimes = EVENTS[name]
        self.assertEqual(set(always) - set(event), set(), name)
        for key, value in event.items():
            kind = always.get(key, sometimes.get(key))
            self.assertIsNotNone(kind, f"{name}: unexpected '{key}'")
            self.assertIsInstance(value, kind, f"{name}: {key}")
            self.assertFalse(isinstance(value, bool), f"{name}: {key}")
        return name

    def names_of(self, *words):
        events = self.train("--json", *words).events()
        clocks = [event["clock"] for event in events if event["event"] == "clock"]
        self.assertEqual(clocks, sorted(set(clocks)))
        return [self.check(event) for event in events], clocks

    def test_every_event_has_its_members(self):
        names, clocks = self.names_of(
            "--clocks", 4, "--test", "ratings.tsv", "--validation", "ratings.tsv"
        )
        self.assertEqual(names, ["read", "start"] + ["clock"] * 4 + ["done"])
        self.assertEqual(clocks, [1, 2, 3, 4])

    def test_the_other_solvers_speak_the_same(self):
        self.write("test.tsv", "1\t2\t5\n")  # a pair that is not trained on
        for words in (
            ("--solver", "als"),
            ("--solver", "ccd"),
            ("--solver", "als", "--implicit", "--test", "test.tsv"),
        ):
            with self.subTest(words=words):
                names, _ = self.names_of("--clocks", 3, *words)
                self.assertEqual((names[:2], names[-1]), (["read", "start"], "done"))

    def test_text_for_people_goes_to_standard_error(self):
        self.write("ratings.tsv", RATINGS)
        outcome = self.done("train", "mf", "--data", "ratings.tsv", "--out", "model", "--json")
        self.assertIn("clock", outcome.err)
        for line in outcome.out.splitlines():
            json.loads(line)

    def test_the_summary_goes_to_standard_output(self):
        self.write("ratings.tsv", RATINGS)
        outcome = self.done(
            "train", "mf", "--data", "ratings.tsv", "--out", "my model", "--test", "ratings.tsv"
        )
        for said in ("test RMSE", "ratings/s", "my model", "castor recommend 'my model'"):
            self.assertIn(said, outcome.out)

    def test_early_stopping_says_why(self):
        self.write(
            "other.tsv",
            "".join(
                f"{u}\t{i}\t{(u * 7 + i * 3) % 5 + 1}\n" for u in range(1, 31) for i in range(1, 21)
            ),
        )
        done = self.train(
            "--json",
            "--clocks",
            500,
            "--validation",
            "other.tsv",
            "--patience",
            2,
            "--rate",
            "0.3",
            "--lambda",
            0,
        ).events()[-1]
        self.assertEqual(done["reason"], "no_improvement")
        self.assertLess(done["best_clock"], 500)


if __name__ == "__main__":
    main()
