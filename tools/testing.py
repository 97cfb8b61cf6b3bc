"""Running the tests of a build folder and of the tools, and counting them."""

import re
import subprocess
import unittest
import xml.etree.ElementTree as xml
from typing import NamedTuple

import build
from shell import ROOT, Failure, processors


class Counts(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Counts(*(mine + theirs for mine, theirs in zip(self, other)))

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class NoTests(Failure):
    pass


def counts_of_junit(text):
    """Counts of a JUnit file written by ctest. A test whose program is missing has failed."""
    passed = failed = skipped = 0
    for case in xml.fromstring(text).iter("testcase"):
        status = case.get("status")
        note = case.find("skipped")
        reason = note.get("message", "") if note is not None else ""
        if status == "run":
            passed += 1
        elif status == "disabled" or (status == "notrun" and "SKIP_" in reason):
            skipped += 1
        else:
            failed += 1
    return Counts(passed, failed, skipped)


QUIET = re.compile(r"\s*Start +\d+: |\s*\d+/\d+ Test +#\d+: .*"
                   r"(Passed|\*+Skipped|\(Disabled\))")


def ctest(folder, *, pattern="", label="", env=None, verbose=False):
    """Runs the tests of a build folder; prints what failed; returns the counts."""
    report = folder / "ctest.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "--parallel", processors(), "--output-on-failure",
               "--no-tests=error", "--no-label-summary", "--output-junit", report]
    command += ["-R", pattern] if pattern else []
    command += ["-L", label] if label else []
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT,
                               env=env or build.environment(), text=True, errors="replace",
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    tail = []
    for line in process.stdout:
        if verbose or not QUIET.match(line):
            print(line, end="", flush=True)
        tail = [*tail[-4:], line]
    code = process.wait()
    if any("No tests were found" in line for line in tail):
        raise NoTests("no test matches; ctest -N in the build folder lists them")
    counts = counts_of_junit(report.read_text()) if report.exists() else Counts()
    if code != 0 and counts.failed == 0:
        raise Failure(f"ctest ended with exit code {code}")
    return counts


def tool_tests(pattern=""):
    """Runs tools/*_test.py in this process; returns the counts. Names: tools.FILE.CLASS.TEST."""
    suite = unittest.TestSuite()
    found = unittest.defaultTestLoader.discover(str(ROOT / "tools"), pattern="*_test.py")
    for test in flatten(found):
        if re.search(pattern, "tools." + test.id()):
            suite.addTest(test)
    if suite.countTestCases() == 0:
        return Counts()
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    return Counts(max(0, result.testsRun - failed - skipped), failed, skipped)


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item
