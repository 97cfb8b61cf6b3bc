#!/usr/bin/env python3
"""The commands behind ./dev: each a function of its options; what they share is beside this file.

A function returns nothing, or the Counts of the tests it ran, which are printed as the last line.
"""

import argparse
import random
import re
import shutil
import sys
import time

import bench
import build
import ci
import demo
import docs
import packages
import scaffold
import testing
import tidy
from shell import ROOT, Failure, run, say
from testing import Counts


def setup(_):
    packages.setup()
    say(f"all {len(packages.wanted())} packages of tools/packages.txt are installed")


def build_preset(options):
    packages.ensure("product")
    if options.preset in ("fuzz", "lint"):
        packages.ensure("checks")
    targets = options.target or []
    if options.preset == "release" and not targets and not options.all:
        targets = ["castor"]
    folder = build.build(options.preset, targets)
    say(f"built in {folder.relative_to(ROOT)}/")


def test(options):
    packages.ensure("product")
    pattern = options.pattern or ""
    env = build.environment()
    if options.accept:
        env["CASTOR_ACCEPT"] = "1"
    counts = Counts()
    if options.preset == "dev" and not options.label:
        counts += testing.tool_tests(pattern)
    if not pattern.startswith("tools."):
        folder = build.build(options.preset)
        try:
            counts += testing.ctest(folder, pattern=pattern, label=options.label or "", env=env,
                                    verbose=options.verbose)
        except testing.NoTests:
            if counts == Counts():
                raise
    return counts


SIMULATIONS = "[Ss]im"
SEED_MAX = 99_999  # of googletest


def sim(options):
    packages.ensure("product")
    folder = build.build("dev")
    pattern = options.pattern or SIMULATIONS
    if options.minutes is None:
        return testing.ctest(folder, pattern=pattern, env=seeded(options.seed), verbose=True)
    end = time.monotonic() + 60 * options.minutes
    counts = Counts()
    while time.monotonic() < end and counts.failed == 0:
        seed = random.randint(1, SEED_MAX)
        say(f"seed {seed}")
        counts += testing.ctest(folder, pattern=pattern, env=seeded(seed))
        if counts.failed:
            say(f"to reproduce: ./dev sim '{pattern}' {seed}")
    return counts


def seeded(seed):
    """The environment in which properties (core/property.h) run this seed alone; 0: their own."""
    return {**build.environment(), "GTEST_RANDOM_SEED": str(seed)}


def fuzz(options):
    packages.ensure("product", "checks")
    targets = sorted(path.stem for path in (ROOT / "src").rglob("*_fuzz.cc"))
    if options.target:
        named = options.target.removesuffix("_fuzz") + "_fuzz"
        if named not in targets:
            raise Failure(f"no fuzz target {named}; there are: {', '.join(targets) or 'none'}")
        targets = [named]
    folder = build.build("fuzz", targets)
    for target in targets:
        fuzz_target(folder, target, options.minutes)


def fuzz_target(folder, target, minutes):
    """New inputs go to the build folder; the committed corpus is read, never written."""
    name = target.removesuffix("_fuzz")
    found, crashes = folder / "corpus" / name, folder / "crashes" / name
    corpora = [found, ROOT / "tests" / "corpus" / name]
    for path in (found, crashes):
        path.mkdir(parents=True, exist_ok=True)
    command = [folder / target, f"-max_total_time={int(60 * minutes)}", "-rss_limit_mb=2048",
               "-timeout=20", f"-artifact_prefix={crashes}/", "-print_final_stats=1",
               *(path for path in corpora if path.is_dir())]
    if run(command, echo=True, check=False).returncode != 0:
        raise Failure(f"{target} failed; the input is in {crashes.relative_to(ROOT)}/: put it into "
                      f"tests/corpus/{name}/, where every test run replays it")


def run_bench(options):
    packages.ensure("product")
    if options.smoke:
        return bench.smoke()
    if options.against:
        return bench.run_against(options.pattern, options.against)
    return bench.run_benchmarks(options.pattern, options.arguments)


def run_demo(_):
    packages.ensure("product")
    demo.run_demo()


def source_files():
    folders = ("src", "tests", "examples", "bench", "python")
    return sorted(path.relative_to(ROOT) for folder in folders
                  for path in (ROOT / folder).rglob("*")
                  if path.suffix in (".cc", ".h"))


def fmt(options):
    packages.ensure("product", "checks")
    files = source_files()
    action = ["--dry-run", "-Werror"] if options.check else ["-i"]
    done = run(["clang-format-19", *action, *files], check=False, capture=True)
    if done.returncode != 0:
        say("\n".join(sorted({line.split(": error")[0] for line in done.stderr.splitlines()
                              if ": error" in line})))
        raise Failure("formatting differs at these places: run ./dev fmt")
    say(f"{len(files)} files: format ok" if options.check else f"{len(files)} files formatted")


def lint(options):
    packages.ensure("product", "checks")
    run([sys.executable, ROOT / "tools" / "tidy.py"])
    fmt(argparse.Namespace(check=True))
    folder = build.build("lint")
    check_headers()
    check_templates(folder / "templates")
    if options.tidy:
        clang_tidy(folder, options.since)


SYNTAX_ONLY = ("clang++-19", "-std=c++20", "-fsyntax-only", "-Isrc", "-DCASTOR_DCHECK", "-Wall",
               "-Wextra", "-Werror", "-Wthread-safety", "-Wno-pragma-once-outside-header",
               "-Wno-unused-function")


def check_headers():
    """Headers without a .cc of their own are compiled alone; for the others their .cc does that."""
    alone = [path for path in (ROOT / "src").rglob("*.h") if not path.with_suffix(".cc").exists()]
    for path in sorted(alone):
        run([*SYNTAX_ONLY, "-x", "c++", path.relative_to(ROOT)])
    say(f"{len(alone)} headers without a .cc compile alone")


def check_templates(folder):
    """What ./dev new writes compiles."""
    shutil.rmtree(folder, ignore_errors=True)
    for kind in scaffold.KINDS:
        paths = scaffold.write(kind, "new_thing", folder)
        for path in paths:
            if path.suffix == ".cc":
                run([*SYNTAX_ONLY, f"-I{folder / 'src'}", path])
    say(f"{len(scaffold.KINDS)} templates of ./dev new compile")


def clang_tidy(folder, since):
    changed = []
    for words in (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"]):
        changed += run(["git", *words], capture=True).stdout.split()
    files = sorted(path for path in set(changed) if path.endswith(".cc") and (ROOT / path).exists())
    if files:
        run(["clang-tidy-19", "--quiet", "-p", folder, *files])
    say(f"clang-tidy: {len(files)} files changed since {since}")


# Pages that castor writes itself.
REFERENCE = {"docs/reference/options.md": ["options", "--markdown"]}


def write_docs(options):
    packages.ensure("product")
    program = build.build("release", ["castor"]) / "castor"
    tree = tidy.read_tree(ROOT)
    wanted = {path: docs.rendered(tree.texts[path], tree.texts) for path in tree.markdown()}
    known = run([program, "--help"], capture=True).stdout
    for path, words in REFERENCE.items():
        if re.search(rf"^ +{words[0]}\b", known, re.MULTILINE):
            wanted[path] = run([program, *words], capture=True).stdout
    differing = [path for path, text in wanted.items() if tree.texts.get(path) != text]
    if options.check and differing:
        raise Failure("run ./dev docs; these differ from their sources: " + ", ".join(differing))
    for path in differing:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(wanted[path])
        say(f"wrote {path}")
    say(f"{len(wanted)} pages are up to date")


def decide(options):
    scaffold.decide(" ".join(options.title))


def new(options):
    scaffold.new(options.kind, options.name)


def run_ci(options):
    unknown = set(options.stage) - set(ci.STAGES)
    if unknown:
        raise Failure(f"no stage {', '.join(unknown)}; there are: {', '.join(ci.STAGES)}")
    stages = options.stage or list(ci.STAGES)
    return ci.run_stages(parser(), stages, keep_going=options.keep_going)


def add_building(add):
    add("setup", setup, "Install the Debian packages of tools/packages.txt.")

    command = add("build", build_preset, "Configure if needed, and compile.")
    command.add_argument("preset", nargs="?", default="release",
                         help="release (default; leaves build/castor), dev, asan, tsan, fuzz, lint")
    command.add_argument("--all", action="store_true",
                         help="with release: tests and benchmarks too")
    command.add_argument("--target", nargs="+", help="only these targets of CMake")

    command = add("test", test, "Build and run the tests; the last line counts them.")
    command.add_argument("pattern", nargs="?", help="regular expression on MODULE.SUITE.TEST")
    command.add_argument("--preset", default="dev", help="dev (default), asan, tsan, release")
    command.add_argument("--label", help="only tests with this label: a module, or threads")
    command.add_argument("--accept", action="store_true",
                         help="rewrite golden files with what the tests produce now")
    command.add_argument("--verbose", action="store_true", help="name every test as it runs")


def add_running(add):
    add("demo", run_demo, "Train and use a recommendation model on made-up ratings, in runs/demo.")

    command = add("sim", sim, "Run the simulation tests: those with 'sim' in the name.")
    command.add_argument("pattern", nargs="?", help="other tests, by regular expression")
    command.add_argument("seed", nargs="?", type=int, default=0,
                         help="tests over many seeds (for_seeds) run this one alone")
    command.add_argument("--minutes", type=float, help="go on with random seeds, one after another")

    command = add("fuzz", fuzz, "Run one fuzz target, or each in turn, on tests/corpus/.")
    command.add_argument("target", nargs="?", help="x for src/*/x_fuzz.cc")
    command.add_argument("--minutes", type=float, default=1, help="for each target; default 1")

    command = add("bench", run_bench, "Build and run benchmarks: x_bench.cc and bench/x.py.")
    command.add_argument("pattern", nargs="?", default="",
                         help="regular expression on drivers; exact name of a script")
    command.add_argument("arguments", nargs="*", help="for the script, after --")
    command.add_argument("--against", metavar="REV",
                         help="compare the drivers with this revision, in turns")
    command.add_argument("--smoke", action="store_true",
                         help="each driver at its smallest, counted")


def add_checking(add):
    command = add("fmt", fmt, "Format the C++ sources with clang-format 19.")
    command.add_argument("--check", action="store_true", help="only say what differs")

    command = add("lint", lint, "tools/tidy.py, formatting, clang 19 warnings and thread safety.")
    command.add_argument("--tidy", action="store_true", help="also clang-tidy, on changed files")
    command.add_argument("--since", default="HEAD", metavar="REV",
                         help="changed since; default HEAD")

    command = add("docs", write_docs, "Write the generated pages and parts of pages.")
    command.add_argument("--check", action="store_true",
                         help="fail where they differ; write nothing")

    command = add("ci", run_ci, "Everything a change must pass, in stages; the last line counts.")
    command.add_argument("stage", nargs="*", help="only these: " + ", ".join(ci.STAGES))
    command.add_argument("--keep-going", action="store_true", help="run all stages whatever fails")


def add_adding(add):
    command = add("new", new, "Write the skeleton of something new, and its test.")
    command.add_argument("kind", choices=list(scaffold.KINDS))
    command.add_argument("name", help="in snake_case")

    command = add("decide", decide, "Start the next decision record in docs/decisions/.")
    command.add_argument("title", nargs="+")


def parser():
    top = argparse.ArgumentParser(prog="./dev", description="Build, test and check castor.")
    commands = top.add_subparsers(metavar="command", required=True)

    def add(name, function, description):
        command = commands.add_parser(name, help=description, description=description)
        command.set_defaults(function=function)
        return command

    for group in (add_building, add_running, add_checking, add_adding):
        group(add)
    return top


def main():
    options = parser().parse_args()
    try:
        counts = options.function(options)
    except Failure as failure:
        print(f"dev: {failure}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        return 130
    if counts is None:
        return 0
    say(str(counts))
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
