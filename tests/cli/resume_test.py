"""Stopping, being killed and going on; and that a model does not depend on any of it."""

import json
import random
import re
import shlex
import signal
import subprocess
import unittest

from support import CASTOR, Case, arrays_of, finish, main

CLOCKS = 60
FOREVER = 100_000_000  # clocks; no test waits for them
RUN = ("train", "mf", "--data", "ratings.tsv", "--rank", "8", "--seed", "3", "--biases")


class Trainings(Case):
    def setUp(self):
        super().setUp()
        self.done(
            "data",
            "generate",
            "ratings",
            "--users",
            500,
            "--items",
            300,
            "--ratings",
            30000,
            "--out",
            "ratings.tsv",
        )

    def start_training(self, *words, out="model"):
        return self.start(*RUN, "--out", out, *words, text=True)

    def uninterrupted(self, *words):
        self.done(*RUN, "--out", "whole", "--quiet", *words)
        return arrays_of(self.folder / "whole")

    def document(self, name):
        """model.json without what the clock on the wall says."""
        found = json.loads((self.folder / name / "model.json").read_text())
        found["metrics"] = {
            key: value
            for key, value in found["metrics"].items()
            if "second" not in key and key not in ("model", "resumed_clock")
        }
        return found


class Killed(Trainings):
    def killed_after(self, lines):
        """Starts, reads so many events, kills. True when it had not ended by itself."""
        process = self.start_training(
            "--clocks", str(CLOCKS), "--resume", "--checkpoint-every", "0.001", "--json", "--quiet"
        )
        for _ in range(lines):
            if not process.stdout.readline():
                break
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        finish(process)
        return alive

    def test_killed_anywhere_and_resumed_it_is_the_model_of_an_uninterrupted_run(self):
        whole = self.uninterrupted("--clocks", CLOCKS)
        for seed in range(3):
            rng = random.Random(seed)
            with self.subTest(seed=seed):
                kills = sum(self.killed_after(rng.randrange(CLOCKS // 3)) for _ in range(6))
                self.assertGreater(kills, 0)
                events = self.done(
                    *RUN, "--out", "model", "--clocks", CLOCKS, "--resume", "--json"
                ).events()
                self.assertEqual(events[-1]["event"], "done")
                self.assertEqual(arrays_of(self.folder / "model"), whole)
                self.assertEqual(self.document("model"), self.document("whole"))
                self.assertEqual(
                    [
                        path.name
                        for path in (self.folder / "model").iterdir()
                        if path.is_dir() or path.name.startswith(".")
                    ],
                    [],
                )

    def test_killed_while_a_new_model_is_saved_it_is_the_old_one_or_none_or_the_new_one(self):
        for lines in range(0, 8):
            process = self.start_training("--clocks", "4", "--json", "--overwrite", "--quiet")
            for _ in range(lines):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            finish(process)
            if (self.folder / "model" / "model.json").exists():
                self.done("inspect", "model")


class Stopped(Trainings):
    def stop(self, process, number=signal.SIGINT):
        """Sends the signal once a few clocks are done; gives what it said."""
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "clock" and event["clock"] >= 3:
                break
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        return [json.loads(line) for line in out.splitlines()], err

    def test_ctrl_c_makes_a_checkpoint_and_prints_the_command_that_goes_on(self):
        self.write("a b's.toml", f"clocks = {FOREVER}\n")
        process = self.start_training(
            "--config", "a b's.toml", "--json", "--overwrite", out="my model"
        )
        events, err = self.stop(process)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(events[-1]["event"], "stopped")
        self.assertTrue((self.folder / events[-1]["checkpoint"]).exists())
        self.assertFalse((self.folder / "my model" / "model.json").exists())
        command = err.splitlines()[-1]
        words = shlex.split(command)
        self.assertEqual(words[0], CASTOR)
        self.assertIn("--resume", words)
        self.assertNotIn("--overwrite", words)
        stopped_at = events[-1]["clock"]
        command = command.replace("--json", "") + f" --clocks {stopped_at + 2} --quiet"
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=120
        )
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f"for {stopped_at + 2} clocks", done.stdout)
        self.assertEqual(
            arrays_of(self.folder / "my model"), self.uninterrupted("--clocks", stopped_at + 2)
        )

    def test_sigterm_does_the_same(self):
        process = self.start_training("--clocks", str(FOREVER), "--json", "--quiet")
        events, err = self.stop(process, signal.SIGTERM)
        self.assertEqual(process.returncode, 143)
        self.assertEqual(events[-1]["event"], "stopped")
        self.assertRegex(err, r"stopped at clock \d+; checkpoint \S+; resume with:\n")

    def test_ctrl_c_while_reading_ends_at_once(self):
        process = self.start("train", "mf", "--data", "-", "--out", "model", stdin=subprocess.PIPE)
        process.stdin.write(b"1\t1\t5\n")
        process.stdin.flush()
        self.wait_until_signals_are_handled(process)
        process.send_signal(signal.SIGINT)
        self.assertIn(process.wait(timeout=60), (130, -signal.SIGINT))

    def wait_until_signals_are_handled(self, process):
        status = f"/proc/{process.pid}/status"
        while process.poll() is None:
            with open(status) as file:
                caught = int(re.search(r"SigCgt:\s*(\w+)", file.read())[1], 16)
            if caught >> (signal.SIGINT - 1) & 1:
                return

    def test_an_unfinished_run_is_not_lost_by_accident(self):
        process = self.start_training("--clocks", str(FOREVER), "--json", "--quiet")
        self.stop(process)
        self.refused(*RUN, "--out", "model", says=["unfinished run", "--resume", "--overwrite"])
        self.done(*RUN, "--out", "model", "--clocks", 2, "--overwrite", "--quiet")
        self.assertFalse((self.folder / "model" / "checkpoints").exists())

    def test_resuming_something_else_is_refused(self):
        process = self.start_training("--clocks", str(FOREVER), "--json", "--quiet")
        self.stop(process)
        given = ("train", "mf", "--out", "model", "--resume", "--data")
        self.refused(*given, "ratings.tsv", "--rank", "9", "--seed", "3", "--biases", says="rank")
        self.refused(*given, "ratings.tsv", "--rank", "8", "--seed", "4", "--biases", says="seed")
        self.write("other.tsv", "1\t1\t5\n2\t2\t4\n")
        self.refused(*given, "other.tsv", "--rank", "8", "--seed", "3", "--biases")


    def test_a_warm_started_run_goes_on_with_the_command_it_printed(self):
        self.done(*RUN, "--out", "first", "--clocks", 2, "--quiet")
        process = self.start_training(
            "--warm-start", "first", "--clocks", str(FOREVER), "--json", "--quiet"
        )
        events, _ = self.stop(process)
        wanted = events[-1]["clock"] + 2
        self.done(
            *(*RUN, "--out", "model", "--warm-start", "first", "--resume"),
            *("--clocks", wanted, "--quiet"),
        )
        whole = self.uninterrupted("--warm-start", "first", "--clocks", wanted)
        self.assertEqual(arrays_of(self.folder / "model"), whole)

    def test_resuming_with_other_measurements_is_refused_and_not_called_damage(self):
        process = self.start_training("--clocks", str(FOREVER), "--json", "--quiet")
        self.stop(process)
        self.refused(
            *RUN, "--out", "model", "--resume", "--test", "ratings.tsv", says=["metrics", "test"]
        )

    def test_overwrite_discards_nothing_while_the_new_run_is_wrong(self):
        process = self.start_training("--clocks", str(FOREVER), "--json", "--quiet")
        self.stop(process)
        self.refused("train", "mf", "--data", "missing.tsv", "--out", "model", "--overwrite")
        self.assertTrue(any((self.folder / "model" / "checkpoints").iterdir()))

    def test_a_training_that_diverges_saves_nothing_and_says_what_to_try(self):
        self.refused(*RUN, "--out", "model", "--rate", 100, says=["diverged", "--rate"])
        self.assertFalse((self.folder / "model" / "model.json").exists())


class TheSame(Trainings):
    def check(self, *words, threads=(1, 2, 4)):
        models = []
        for count in threads:
            name = f"model{count}"
            self.done(
                *RUN[:6],
                "--seed",
                3,
                "--quiet",
                "--out",
                name,
                "--clocks",
                6,
                "--threads",
                count,
                *words,
            )
            models.append((arrays_of(self.folder / name), self.document(name)))
        for arrays, document in models[1:]:
            self.assertEqual(arrays, models[0][0])
            self.assertEqual(document, models[0][1])

    def test_any_number_of_threads_gives_the_same_bytes(self):
        self.check()
        self.check("--biases", "--test", "ratings.tsv", "--validation", "ratings.tsv")

    def test_so_do_the_other_solvers(self):
        for words in (("--solver", "als"), ("--solver", "als", "--implicit"), ("--solver", "ccd")):
            with self.subTest(words=words):
                self.check(*words)

    def test_another_seed_gives_another_model(self):
        first = self.uninterrupted("--clocks", 2)
        self.assertNotEqual(first, self.uninterrupted("--clocks", 2, "--seed", 4))

    def test_numpy_opens_the_arrays(self):
        try:
            import numpy
        except ImportError:
            raise unittest.SkipTest("no numpy") from None
        self.done(*RUN, "--out", "model", "--clocks", 5, "--quiet")
        model = self.folder / "model"
        users, items = (numpy.load(model / f"{side}_factors.npy") for side in ("user", "item"))
        self.assertEqual((users.shape, users.dtype, items.dtype), ((500, 8), "float32", "float32"))
        names = {
            side: (model / f"{side}.txt").read_text().splitlines() for side in ("users", "items")
        }
        biases = numpy.load(model / "user_bias.npy"), numpy.load(model / "item_bias.npy")
        mean = json.loads((model / "model.json").read_text())["mean"]
        pairs = self.done("predict", "model", "--data", "ratings.tsv").table()[:500]
        for user, item, value in pairs:
            u, i = names["users"].index(user), names["items"].index(item)
            wanted = mean + biases[0][u] + biases[1][i] + users[u] @ items[i]
            self.assertAlmostEqual(float(value), wanted, places=4)
        offsets, seen = numpy.load(model / "seen_offsets.npy"), numpy.load(model / "seen_items.npy")
        self.assertEqual((len(offsets), offsets[-1], len(seen)), (501, 30000, 30000))


if __name__ == "__main__":
    main()
