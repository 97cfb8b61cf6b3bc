"""What ./dev computes: counts, packages, names, comparisons, the stages of ci."""

import argparse
import contextlib
import io
import unittest

import bench
import build
import ci
import dev
import packages
import scaffold
import testing
from shell import ROOT, Failure
from testing import Counts

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="5">
  <testcase name="core.A.Works" classname="core.A.Works" time="0.1" status="run"/>
  <testcase name="core.A.Fails" status="fail"><failure message=""/></testcase>
  <testcase name="core.A.Skips" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
  <testcase name="core.A.DISABLED_B" status="disabled"><skipped message="Disabled"/></testcase>
  <testcase name="core_NOT_BUILT" status="notrun">
    <skipped message="Unable to find executable"/></testcase>
</testsuite>"""


class Counting(unittest.TestCase):
    def test_junit(self):
        counts = testing.counts_of_junit(JUNIT)
        self.assertEqual(str(counts + Counts(passed=2)), "3 passed, 2 failed, 2 skipped")

    def test_quiet_lines(self):
        for line in ("    Start 1: core.A", " 1/20 Test  #1: core.A ........   Passed    0.01 sec",
                     " 2/20 Test  #2: core.B ........***Skipped   0.01 sec"):
            self.assertTrue(testing.QUIET.match(line), line)
        self.assertFalse(testing.QUIET.match(" 3/20 Test  #3: core.C ......***Failed    0.01 sec"))
        self.assertFalse(testing.QUIET.match("      Expected: Passed"))


class Packages(unittest.TestCase):
    def test_groups(self):
        groups = packages.parse("# c\n[a]  # why\nx\ny  # z\n\n[b]\nw\n")
        self.assertEqual(groups, {"a": ["x", "y"], "b": ["w"]})

    def test_the_list_has_no_duplicates(self):
        names = packages.wanted()
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("cmake", packages.wanted(["product"]))


class Presets(unittest.TestCase):
    def test_folders(self):
        folders = build.presets()
        self.assertEqual(folders["release"], ROOT / "build")
        self.assertEqual(folders["asan"], ROOT / "build" / "asan")
        self.assertNotIn("base", folders)

    def test_unknown_preset_is_explained(self):
        with self.assertRaisesRegex(Failure, "no preset 'fast'.*release"):
            build.folder_of("fast")


class Names(unittest.TestCase):
    def test_decisions_are_numbered(self):
        self.assertEqual(scaffold.next_number([]), 1)
        self.assertEqual(scaffold.next_number(["0002-a.md", "0011-b.md", "readme"]), 12)
        self.assertEqual(scaffold.slug_of("Tables, not templates!"), "tables-not-templates")

    def test_type_names(self):
        self.assertEqual(scaffold.type_name("k_means"), "KMeans")

    def test_templates_exist(self):
        for files, _ in scaffold.KINDS.values():
            for template, _ in files:
                self.assertTrue((scaffold.TEMPLATES / template).exists(), template)


class Comparing(unittest.TestCase):
    def test_a_regression_is_both_relative_and_absolute(self):
        old = {"a": [1000, 1000, 9000], "b": [10, 10], "c": [1000], "d": [1000], "gone": [1]}
        new = {"a": [1200, 1201, 1199], "b": [20, 20], "c": [1050], "d": [999, 1300, 1300],
               "fresh": [1]}
        rows = {row[0]: (round(row[3], 2), row[4]) for row in bench.compared(old, new)}
        self.assertEqual(rows, {"a": (1.2, True), "b": (2.0, False), "c": (1.05, False),
                                "d": (1.3, False)})


class Stages(unittest.TestCase):
    def run_stages(self, outcomes, **options):
        """Runs ci with stages whose commands end as given; returns (counts, printed)."""
        def outcome(parsed):
            result = outcomes[parsed.word]
            if isinstance(result, Exception):
                raise result
            return result
        parser = argparse.ArgumentParser()
        parser.add_argument("word")
        parser.set_defaults(function=outcome)
        printed = io.StringIO()
        saved, ci.STAGES = ci.STAGES, {name: [name] for name in outcomes}
        try:
            with contextlib.redirect_stdout(printed):
                return ci.run_stages(parser, list(outcomes), **options), printed.getvalue()
        finally:
            ci.STAGES = saved

    def test_counts_are_summed(self):
        counts, _ = self.run_stages({"a": None, "b": Counts(2, 0, 1), "c": Counts(3)})
        self.assertEqual(counts, Counts(5, 0, 1))

    def test_the_first_failure_ends_the_run_and_says_how_to_reproduce_it(self):
        outcomes = {"a": Counts(1), "b": Failure("no compiler"), "c": Counts(1)}
        counts, text = self.run_stages(outcomes)
        self.assertEqual(counts, Counts(1, 1, 0))
        self.assertIn("no compiler", text)
        self.assertIn("to reproduce: ./dev b", text)

    def test_a_mistake_in_the_tools_is_a_failure_too(self):
        counts, text = self.run_stages({"a": ValueError("oops"), "b": Counts(1)}, keep_going=True)
        self.assertEqual(counts, Counts(1, 1, 0))
        self.assertIn("oops", text)

    def test_every_stage_is_a_command(self):
        for words in ci.STAGES.values():
            self.assertTrue(callable(dev.parser().parse_args(words).function))


if __name__ == "__main__":
    unittest.main()
