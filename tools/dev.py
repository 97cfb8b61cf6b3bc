#!/usr/bin/env python3
"""The commands behind ./dev. Each is a function here; what they share is in the files beside it."""

import argparse
import re
import shutil
import sys

import build
import packages
from shell import ROOT, Failure, run, say


def setup(_):
    packages.setup()
    say(f"all {len(packages.wanted())} packages of tools/packages.txt are installed")


def build_(options):
    packages.ensure("product")
    if options.preset in ("fuzz", "lint"):
        packages.ensure("checks")
    targets = ["castor"] if options.preset == "release" and not options.all else []
    folder = build.build(options.preset, targets)
    say(f"built in {folder.relative_to(ROOT)}/")


def test(options):
    packages.ensure("product")
    pattern = options.pattern or ""
    env = build.environment()
    if options.accept:
        env["CASTOR_ACCEPT"] = "1"
    counts = build.Counts()
    only_tools = pattern.startswith("tools.")
    if options.preset == "dev" and not options.label:
        counts += build.tool_tests(pattern)
    if not only_tools:
        folder = build.build(options.preset)
        try:
            counts += build.ctest(folder, pattern=pattern, label=options.label or "", env=env,
                                  verbose=options.verbose)
        except Failure:
            if counts == build.Counts():
                raise
    say(str(counts))
    return 1 if counts.failed else 0


def source_files():
    folders = ("src", "tests", "examples", "bench", "python")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*")
                  if path.suffix in (".cc", ".h"))


def fmt(options):
    packages.ensure("product", "checks")
    files = source_files()
    action = ["--dry-run", "-Werror"] if options.check else ["-i"]
    done = run(["clang-format-19", *action, *files], check=False)
    if done.returncode != 0:
        raise Failure("formatting differs: run ./dev fmt")
    say(f"{len(files)} files formatted" if not options.check else f"{len(files)} files: format ok")


def lint(options):
    packages.ensure("product", "checks")
    run([sys.executable, ROOT / "tools" / "tidy.py"])
    fmt(argparse.Namespace(check=True))
    build.build("lint")
    check_headers()


def check_headers():
    """Headers without a .cc of their own are compiled alone; for the others their .cc does that."""
    flags = ["-std=c++20", "-fsyntax-only", "-Isrc", "-Wall", "-Wextra", "-Werror",
             "-Wno-pragma-once-outside-header", "-x", "c++"]
    alone = [path for path in (ROOT / "src").rglob("*.h") if not path.with_suffix(".cc").exists()]
    for path in sorted(alone):
        run(["clang++-19", *flags, path])
    say(f"{len(alone)} headers without a .cc: self-contained")


def parser():
    top = argparse.ArgumentParser(prog="./dev", description="Build, test and check castor.")
    commands = top.add_subparsers(metavar="command", required=True)

    def add(name, function, help_text):
        command = commands.add_parser(name, help=help_text, description=help_text)
        command.set_defaults(function=function)
        return command

    add("setup", setup, "install the Debian packages of tools/packages.txt")

    command = add("build", build_, "configure if needed, and compile")
    command.add_argument("preset", nargs="?", default="release",
                         help="release (default; leaves build/castor), dev, asan, tsan, fuzz, lint")
    command.add_argument("--all", action="store_true",
                         help="with release: tests and benchmarks too")

    command = add("test", test, "build and run the tests; the last line counts them")
    command.add_argument("pattern", nargs="?", help="regular expression on the name of the test")
    command.add_argument("--preset", default="dev", help="dev (default), asan, tsan, release")
    command.add_argument("--label", help="only tests with this label: a module, or threads")
    command.add_argument("--accept", action="store_true",
                         help="rewrite golden files with what the tests produce now")
    command.add_argument("--verbose", action="store_true", help="name every test as it runs")

    command = add("fmt", fmt, "format the C++ sources with clang-format 19")
    command.add_argument("--check", action="store_true", help="only say what differs")

    add("lint", lint, "tidy.py, formatting, clang 19 warnings and thread-safety analysis")
    return top


def main():
    options = parser().parse_args()
    try:
        return options.function(options) or 0
    except Failure as failure:
        print(f"dev: {failure}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
