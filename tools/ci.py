"""Everything a change must pass: each stage is one ./dev command, in this order."""

import shlex
import time
import traceback

from shell import Failure, say
from testing import Counts

STAGES = {
    "setup": ["setup"],
    "lint": ["lint"],
    "test": ["test"],
    "asan": ["test", "--preset", "asan"],
    "tsan": ["test", "--preset", "tsan", "--label", "threads"],
    "bench": ["bench", "--smoke"],
    "demo": ["demo"],
    "docs": ["docs", "--check"],
}


def run_stage(parser, words):
    """Counts of one stage. A stage that breaks without a failed test counts as one failure."""
    try:
        options = parser.parse_args(words)
        return options.function(options) or Counts()
    except Failure as failure:
        say(f"dev: {failure}")
    except Exception:  # a mistake in these tools must still end in the line of counts
        say(traceback.format_exc())
    return Counts(failed=1)


def run_stages(parser, names, *, keep_going=False):
    total = Counts()
    times = []
    for name in names:
        command = "./dev " + shlex.join(STAGES[name])
        say(f"\n==== {name}: {command}")
        start = time.monotonic()
        counts = run_stage(parser, STAGES[name])
        total += counts
        seconds = time.monotonic() - start
        verdict = "FAILED" if counts.failed else "ok"
        times.append(f"{name:8}{seconds:7.0f} s  {verdict:8}{counts}")
        say(f"==== {name} {verdict} after {seconds:.0f} s")
        if counts.failed:
            say(f"to reproduce: {command}")
            if not keep_going:
                break
    say("\n" + "\n".join(times))
    return total
