"""Configuring and building a preset, running its tests, and counting them."""

import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import NamedTuple

from shell import ROOT, Failure, at_terminal, processors, run, say

BYTES_PER_COMPILER = 1_500_000_000


class Counts(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Counts(*(mine + theirs for mine, theirs in zip(self, other)))

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def presets():
    """{"release": folder, ...} of every preset that can be built."""
    entries = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    by_name = {entry["name"]: entry for entry in entries}
    folders = {}
    for name, entry in by_name.items():
        if entry.get("hidden"):
            continue
        parent = by_name.get(entry.get("inherits", ""), {})
        pattern = entry.get("binaryDir") or parent["binaryDir"]
        folder = pattern.replace("${sourceDir}", str(ROOT)).replace("${presetName}", name)
        folders[name] = Path(folder)
    return folders


def folder_of(preset):
    folders = presets()
    if preset not in folders:
        raise Failure(f"no preset '{preset}' in CMakePresets.json; there are: {', '.join(folders)}")
    return folders[preset]


def environment():
    """Environment of a build: the compiler cache is shared by all presets and checkouts."""
    env = dict(os.environ)
    home = Path(env.get("HOME") or "/")
    default = home / ".cache" if os.access(home, os.W_OK) and home != Path("/") else ROOT / ".cache"
    env.setdefault("CCACHE_DIR", str(default / "ccache"))
    env.setdefault("CCACHE_BASEDIR", str(ROOT))
    env.setdefault("CCACHE_NOHASHDIR", "1")
    env.setdefault("CCACHE_MAXSIZE", "5G")
    return env


def jobs():
    """Compilers at a time: one a processor, fewer where memory would not do."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(processors(), memory // BYTES_PER_COMPILER))


def is_configured(folder):
    cache = folder / "CMakeCache.txt"
    if not cache.exists() or not (folder / "build.ninja").exists():
        return False
    if cache.stat().st_mtime < (ROOT / "CMakePresets.json").stat().st_mtime:
        return False
    return f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" in cache.read_text()  # not of a moved checkout


def configure(preset):
    folder = folder_of(preset)
    if not is_configured(folder):
        say(f"configuring {preset}")
        run(["cmake", "--fresh", "--preset", preset, "--log-level=WARNING"], env=environment())
    return folder


def build(preset, targets=()):
    """Builds the named targets of a preset (all when none is named); returns its folder."""
    folder = configure(preset)
    say(f"building {preset}")
    command = ["cmake", "--build", folder, "--parallel", jobs()]
    if targets:
        command += ["--target", *targets]
    if not at_terminal():
        command += ["--", "--quiet"]
    run(command, env=environment())
    return folder


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


QUIET = re.compile(r"\s*Start +\d+: |\s*\d+/\d+ Test +#\d+: .*(Passed|\*+Skipped|\(Disabled\))")


def ctest(folder, *, pattern="", label="", env=None, verbose=False):
    """Runs the tests of a build folder; prints what failed; returns the counts."""
    report = folder / "ctest.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "--parallel", processors(), "--output-on-failure",
               "--no-tests=error", "--output-junit", report]
    command += ["-R", pattern] if pattern else []
    command += ["-L", label] if label else []
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env=env or environment(),
                               text=True, errors="replace", stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tail = []
    for line in process.stdout:
        if verbose or not QUIET.match(line):
            print(line, end="", flush=True)
        tail = [*tail[-4:], line]
    code = process.wait()
    if any("No tests were found" in line for line in tail):
        raise Failure("no test matches; ctest -N in the build folder lists them")
    counts = counts_of_junit(report.read_text()) if report.exists() else Counts()
    if code != 0 and counts.failed == 0:
        raise Failure(f"ctest ended with exit code {code}")
    return counts


def tool_tests(pattern=""):
    """Runs tools/*_test.py in this process; returns the counts. Names are tools.FILE.CLASS.TEST."""
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
