"""Running the benchmarks, and comparing them with another revision of the sources."""

import json
import re
import statistics
import sys

import build
from shell import ROOT, Failure, run, say
from testing import Counts

ROUNDS = 5            # of old and new in turn, so that a busy moment meets both
RATIO_MAX = 1.10      # slower than this ...
FLOOR_NS = 100.0      # ... and by more than this, and never once as fast, is a regression


def drivers(pattern=""):
    """Names of the benchmark programs: one for every x_bench.cc."""
    names = sorted(path.stem for path in (ROOT / "src").rglob("*_bench.cc"))
    return [name for name in names if re.search(pattern, name)]


def scripts():
    return {path.stem: path for path in sorted((ROOT / "bench").glob("*.py"))
            if not path.stem.endswith("_test")}


def run_benchmarks(pattern, arguments):
    """Drivers that match the pattern, and the script of exactly that name."""
    names = drivers(pattern)
    script = scripts().get(pattern)
    if not names and not script:
        known = ", ".join([*drivers(), *scripts()]) or "none"
        raise Failure(f"no benchmark matches '{pattern}'; there are: {known}")
    folder = build.build("release", names + (["castor"] if script else []))
    for name in names:
        run([folder / name], echo=True)
    if script:
        run([sys.executable, script, *arguments], echo=True)


def smoke():
    """Every driver at its smallest: shows that it works, not how fast it is."""
    names = drivers()
    folder = build.build("release", names)
    counts = Counts()
    for name in names:
        done = run([folder / name, "--benchmark_min_time=0.001"], check=False, capture=True)
        good = done.returncode == 0 and "ERROR OCCURRED" not in done.stdout
        counts += Counts(passed=int(good), failed=int(not good))
        if not good:
            say(f"{name} failed:\n{done.stdout}{done.stderr}")
    return counts


def times_of(program):
    """{"benchmark/size": nanoseconds of real time} from one run."""
    done = run([program, "--benchmark_format=json", "--benchmark_min_time=0.1"], capture=True)
    unit = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    return {entry["name"]: entry["real_time"] * unit[entry["time_unit"]]
            for entry in json.loads(done.stdout)["benchmarks"] if "real_time" in entry}


def compared(old, new):
    """Rows (name, old ns, new ns, ratio, is a regression) of medians; arguments: name to list."""
    rows = []
    for name in new:
        if name in old:
            before, after = statistics.median(old[name]), statistics.median(new[name])
            ratio = after / before if before > 0 else 1.0
            slower = ratio > RATIO_MAX and after - before > FLOOR_NS
            rows.append((name, before, after, ratio, slower and min(new[name]) > before))
    return rows


def checkout(revision):
    """A folder below build/ with that revision of the sources."""
    commit = run(["git", "rev-parse", "--verify", "--short", f"{revision}^{{commit}}"],
                 capture=True).stdout.strip()
    folder = ROOT / "build" / "against" / commit
    if not folder.exists():
        run(["git", "worktree", "prune"])
        run(["git", "worktree", "add", "--detach", folder, commit], capture=True)
    return folder


def run_against(pattern, revision):
    names = drivers(pattern)
    other = checkout(revision)
    old = [name for name in names if list((other / "src").rglob(f"{name}.cc"))]
    if not old:
        raise Failure(f"no benchmark matching '{pattern}' exists both here and in {revision}")
    run([other / "dev", "build", "release", "--target", *old], cwd=other)
    folder = build.build("release", old)
    regressions = 0
    say(f"{'benchmark':50} {'old ns':>12} {'new ns':>12}  ratio")
    for name in old:
        measured = {"old": {}, "new": {}}
        sides = [("old", other / "build" / name), ("new", folder / name)]
        for _ in range(ROUNDS):
            sides.reverse()
            for side, program in sides:
                for key, value in times_of(program).items():
                    measured[side].setdefault(key, []).append(value)
        for key, before, after, ratio, bad in compared(measured["old"], measured["new"]):
            regressions += bad
            say(f"{key:50} {before:12.0f} {after:12.0f}  {ratio:.3f}{'  SLOWER' if bad else ''}")
    if regressions:
        raise Failure(f"{regressions} benchmarks are slower than in {revision}")
