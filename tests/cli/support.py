"""What the tests of the command line share. Each is started as: python3 X_test.py CASTOR ROOT"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

CASTOR = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else "castor"
ROOT = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
TIMEOUT = 240  # seconds; far above what any step takes, so that a hang is an error

# Small enough to train in milliseconds, with a few of everything.
RATINGS = "".join(
    f"{user}\t{item}\t{(user * item) % 5 + 1}\n"
    for user in range(1, 31)
    for item in range(1, 21)
    if (user + item) % 3
)


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def events(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def table(self):
        """Rows of a table with tabs, without its head."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]


class Case(unittest.TestCase):
    """A test with a folder of its own, in which castor runs."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="castor-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def start(self, *words, **options):
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.folder,
            **options,
        }
        process = subprocess.Popen([CASTOR, *map(str, words)], **options)
        self.addCleanup(finish, process)
        return process

    def castor(self, *words, stdin=b"", stdout=subprocess.PIPE, env=None):
        """Runs to the end. However it ends, it must not be by a signal or a sanitizer."""
        stdin = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [CASTOR, *map(str, words)],
            input=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            timeout=TIMEOUT,
            env=env,
        )
        outcome = Outcome(
            done.returncode,
            (done.stdout or b"").decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )
        self.check_alive(outcome)
        return outcome

    def check_alive(self, outcome):
        self.assertGreaterEqual(outcome.code, 0, outcome)
        for trouble in ("Sanitizer", "runtime error:", "CHECK", "terminate called"):
            self.assertNotIn(trouble, outcome.err, outcome)

    def done(self, *words, **options):
        outcome = self.castor(*words, **options)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome

    def refused(self, *words, code=1, says=(), **options):
        """One clear line on standard error, nothing on standard output."""
        outcome = self.castor(*words, **options)
        self.assertEqual(outcome.code, code, outcome)
        self.assertEqual(outcome.out, "", outcome)
        last = outcome.err.splitlines()[-1] if outcome.err else ""
        self.assertTrue(last.startswith("castor: "), outcome)
        if code == 2:
            self.assertEqual(len(outcome.err.splitlines()), 1, outcome)
            self.assertIn("--help", last, outcome)
        for words_wanted in [says] if isinstance(says, str) else says:
            self.assertIn(words_wanted, last, outcome)
        return outcome

    def train(self, *words, data=RATINGS, out="model", **options):
        """A model in `out`, trained for a few clocks unless words say otherwise."""
        name = self.write("ratings.tsv", data)
        return self.done(
            "train", "mf", "--data", name, "--out", out, "--rank", 4, "--quiet", *words, **options
        )


def finish(process):
    """Ends a process that was started here, if it is still there."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def arrays_of(folder):
    """The files of a model that must not depend on when and where it was trained."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.suffix in (".npy", ".txt")
    }


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of `size` bytes at `folder`. SkipTest where nobody may mount one."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0:
        raise unittest.SkipTest("no permission to mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
