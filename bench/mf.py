#!/usr/bin/env python3
"""Matrix factorisation, measured beside LIBMF in the same run: quality, speed, scaling, memory.

    ./dev bench mf [-- --only quality,speed-small,...] [--data DIR] [--libmf PYTHON]

Every figure is of `castor train mf --json` run as a process. Speeds are medians over runs that
alternate with LIBMF's (A B A B ...), because a shared machine drifts. CPU seconds of training only:
reading and metrics are off the clock on both sides (LIBMF: a long run minus one of 1 iteration).

--data DIR holds ml-100k/ua.base and ua.test (the publisher's terms forbid shipping them) and
gen/synth.cpp, the generator whose test error the time-to-quality row names; without them those rows
are skipped and say so. --libmf names a Python that can import the PyPI package libmf; without one
the published figures in PEER_FIGURES stand for it, and the table says so.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASTOR = ROOT / "build" / "castor"

# Ratings per CPU-second of LIBMF (commit 1498368), one thread, on an AMD Zen 4 class core:
# its best build a row, measured 2026-12-01. Only used when LIBMF cannot be run here.
PEER_FIGURES = {"small": 44e6, "rank32": 36.2e6, "rank128": 15.6e6}

# What the quality rows were tuned to. (a) on the test part, as the figures known for LIBMF were.
TUNED_ON_TEST = {
    16: dict(lam=0.08, rate=0.15, decay=0.9, clocks=13),
    64: dict(lam=0.08, rate=0.08, decay=0.95, clocks=13),
}
LIBMF_QUALITY = {16: 0.9389, 64: 0.9325}
# (b) the grid tried on a tenth of the training part; the best becomes the default.
GRID = dict(lam=[0.07, 0.08, 0.09, 0.1], rate=[0.1, 0.12, 0.15], decay=[0.9, 0.93, 0.95])

# Stands in for GNU time: runs a command, prints its peak resident KiB.
PEAK_OF = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
)

LIBMF_DRIVER = """
import os, sys, time, numpy as np
import libmf.mf as m
train, k, lam, rate, iters, threads, times = sys.argv[1:8]
x = np.ascontiguousarray(np.load(train))
def cpu(n):
    best = []
    for _ in range(int(times)):
        t = time.process_time()
        m.MF(k=int(k), nr_threads=int(threads), nr_bins=20, nr_iters=n, lambda_p2=float(lam),
             lambda_q2=float(lam), lambda_p1=0.0, lambda_q1=0.0, eta=float(rate), quiet=True).fit(x)
        best.append(time.process_time() - t)
    return sorted(best)[len(best) // 2]
n = int(iters)
one, many = cpu(1), cpu(n)
print(len(x) * (n - 1) / (many - one))
"""


def train(data, test, out, **options):
    """One `castor train mf`; its events."""
    command = [
        str(CASTOR),
        "train",
        "mf",
        "--data",
        str(data),
        "--out",
        str(out),
        "--json",
        "--overwrite",
    ]
    if test:
        command += ["--test", str(test)]
    for key, value in options.items():
        flag = "--" + {"lam": "lambda"}.get(key, key).replace("_", "-")
        command += [flag] if value is True else [flag, str(value)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def done(events):
    return events[-1]


def rmse_curve(events):
    return [event["test_rmse"] for event in events if event["event"] == "clock"]


def timed_curve(events):
    """(training seconds, test RMSE) a clock."""
    return [
        (event["seconds"], event["test_rmse"]) for event in events if event["event"] == "clock"
    ]


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.work = pathlib.Path(arguments.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.rows = []
        self.curves = {}

    def row(self, name, bar, measured, ok, note=""):
        verdict = {True: "met", False: "MISSED", None: "-"}[ok]
        self.rows.append(dict(name=name, bar=bar, measured=measured, verdict=verdict, note=note))
        print(f"{name:<52} {measured:<44} bar {bar:<28} {verdict} {note}", flush=True)

    # data
    def ml100k(self):
        folder = pathlib.Path(self.arguments.data) / "ml-100k"
        if (folder / "ua.base").exists():
            return folder / "ua.base", folder / "ua.test"
        print(f"skipped: {folder} has no ua.base (see the head of bench/mf.py)")
        return None

    def large(self):
        """138,000 x 27,000, 20 M ratings; (train, test, is_reference)."""
        source = pathlib.Path(self.arguments.data) / "gen" / "synth.cpp"
        parts = self.work / "large.train", self.work / "large.test"
        if source.exists():
            if not parts[1].exists():
                tool = self.work / "synth"
                subprocess.run(
                    ["g++", "-O2", "-std=c++20", str(source), "-o", str(tool)], check=True
                )
                subprocess.run([str(tool), "ratings", *map(str, parts)], check=True)
            return *parts, True
        parts = self.work / "own.train", self.work / "own.test"
        if not parts[1].exists():
            whole = self.work / "own.tsv"
            subprocess.run(
                [
                    str(CASTOR),
                    "data",
                    "generate",
                    "ratings",
                    "--users",
                    "138000",
                    "--items",
                    "27000",
                    "--ratings",
                    "20000000",
                    "--out",
                    str(whole),
                ],
                check=True,
            )
            subprocess.run(
                [
                    str(CASTOR),
                    "data",
                    "split",
                    str(whole),
                    "--test",
                    "0.1",
                    "--train-out",
                    str(parts[0]),
                    "--test-out",
                    str(parts[1]),
                ],
                check=True,
            )
        return *parts, False

    # LIBMF
    def libmf_python(self):
        if self.arguments.libmf == "none":
            return None
        if self.arguments.libmf:
            return self.arguments.libmf
        environment = self.work / "libmf"
        python = environment / "bin" / "python"
        if not python.exists():
            made = subprocess.run(
                [sys.executable, "-m", "venv", str(environment)], capture_output=True, check=False
            )
            if made.returncode != 0:
                return None
            subprocess.run(
                [str(python), "-m", "pip", "install", "-q", "libmf", "numpy"],
                capture_output=True,
                check=False,
            )
        works = subprocess.run(
            [str(python), "-W", "ignore", "-c", "import libmf.mf"],
            capture_output=True,
            check=False,
        )
        return str(python) if works.returncode == 0 else None

    def libmf(self, data, key, k, lam, rate, iterations, times=1):
        """Ratings per CPU-second, or None when it cannot be run."""
        python = self.libmf_python()
        if python is None:
            return None
        array = self.work / f"{pathlib.Path(data).name}.npy"
        if not array.exists():
            script = (
                'import sys, numpy as np; np.save(sys.argv[2], '
                'np.loadtxt(sys.argv[1], usecols=(0, 1, 2), dtype=np.float32))'
            )
            subprocess.run([python, "-c", script, str(data), str(array)], check=True)
        run = subprocess.run(
            [
                python,
                "-W",
                "ignore",
                "-c",
                LIBMF_DRIVER,
                str(array),
                str(k),
                str(lam),
                str(rate),
                str(iterations),
                "1",
                str(times),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        return float(run.stdout.split()[-1]) if run.returncode == 0 else None

    def speed_row(self, name, bar, aim, data, key, rounds, libmf_iterations, **options):
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(done(train(data, None, self.work / "speed", threads=1, **options)))
            peer = self.libmf(
                data, key, options["rank"], options["lam"], options["rate"], libmf_iterations
            )
            if peer:
                theirs.append(peer)
        speeds = [run["ratings_per_cpu_second"] for run in ours]
        median = statistics.median(speeds)
        if theirs:
            ratio = statistics.median(a / b for a, b in zip(speeds, theirs))
            peer = statistics.median(theirs) / 1e6
            note = (
                f"LIBMF from PyPI, same minutes: {peer:.1f} M; ratio {ratio:.1f} (from source with "
                f"AVX it is faster: {PEER_FIGURES[key] / 1e6:.1f} M on another machine)"
            )
        else:
            peer = PEER_FIGURES[key] / 1e6
            note = f"LIBMF not run here; its published {peer:.1f} M (another machine)"
        spread = f"{min(speeds) / 1e6:.1f}-{max(speeds) / 1e6:.1f}, n={len(speeds)}"
        self.row(
            name,
            f">= {bar} M, aim {aim} M / CPU-s",
            f"{median / 1e6:.1f} M ({spread})",
            median >= bar * 1e6,
            note,
        )

    # sections
    def quality(self):
        parts = self.ml100k()
        if parts is None:
            return
        for rank, tuned in TUNED_ON_TEST.items():
            curves = [
                timed_curve(
                    train(*parts, self.work / "quality", rank=rank, seed=seed, threads=1, **tuned)
                )
                for seed in range(1, 6)
            ]
            finals = sorted(curve[-1][1] for curve in curves)
            self.curves[f"ml-100k rank {rank}"] = curves[0]
            bar = {16: 0.939, 64: 0.9325}[rank]
            self.row(
                f"quality (a), ml-100k ua, rank {rank}, 5 seeds",
                f"<= {bar}",
                f"{finals[2]:.4f} ({finals[0]:.4f}-{finals[4]:.4f})",
                finals[2] <= bar,
                f"LIBMF {LIBMF_QUALITY[rank]}; {tuned}",
            )
        self.quality_held_out(parts)

    def quality_held_out(self, parts):
        """(b): options from a tenth of the training part, then one look at the test part."""
        inner, held = self.work / "inner.tsv", self.work / "held.tsv"
        subprocess.run(
            [
                str(CASTOR),
                "data",
                "split",
                str(parts[0]),
                "--test",
                "0.1",
                "--seed",
                "7",
                "--train-out",
                str(inner),
                "--test-out",
                str(held),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank in (16, 32, 64):
            best = None
            for lam in GRID["lam"]:
                for rate in GRID["rate"]:
                    for decay in GRID["decay"]:
                        options = dict(rank=rank, lam=lam, rate=rate, decay=decay, threads=1)
                        curves = [
                            rmse_curve(
                                train(
                                    inner,
                                    held,
                                    self.work / "grid",
                                    clocks=30,
                                    seed=seed,
                                    **options,
                                )
                            )
                            for seed in (1, 2, 3)
                        ]
                        means = [statistics.mean(points) for points in zip(*curves)]
                        value = min(means)
                        if best is None or value < best[0]:
                            best = value, dict(options, clocks=means.index(value) + 1)
            finals = sorted(
                rmse_curve(train(*parts, self.work / "grid", seed=seed, **best[1]))[-1]
                for seed in range(1, 6)
            )
            self.row(
                f"quality (b), ml-100k ua, rank {rank}, 5 seeds",
                "reported",
                f"{finals[2]:.4f} ({finals[0]:.4f}-{finals[4]:.4f})",
                None,
                f"chosen on a tenth of the training part: {best[1]}",
            )

        defaults = sorted(
            rmse_curve(train(*parts, self.work / "grid", seed=seed))[-1] for seed in range(1, 6)
        )
        self.row(
            "quality, ml-100k ua, all options left out, 5 seeds",
            "reported",
            f"{defaults[2]:.4f} ({defaults[0]:.4f}-{defaults[4]:.4f})",
            None,
            "rank 32, 20 clocks",
        )

    def speed_small(self):
        parts = self.ml100k()
        if parts:
            self.speed_row(
                "speed, ml-100k, rank 16, 200 clocks, 1 thread",
                80,
                150,
                parts[0],
                "small",
                5,
                201,
                rank=16,
                clocks=200,
                lam=0.08,
                rate=0.1,
                decay=1,
            )

    def speed_large(self):
        data, _, _ = self.large()
        self.speed_row(
            "speed, 20 M ratings, rank 32, 1 thread",
            60,
            95,
            data,
            "rank32",
            3,
            4,
            rank=32,
            clocks=6,
            lam=0.05,
            rate=0.12,
            decay=1,
        )
        self.speed_row(
            "speed, 20 M ratings, rank 128, 1 thread",
            28,
            42,
            data,
            "rank128",
            3,
            3,
            rank=128,
            clocks=4,
            lam=0.05,
            rate=0.12,
            decay=1,
        )

    def time_to_quality(self):
        data, test, reference = self.large()
        if not reference:
            print(
                "skipped: time to test RMSE 0.785 needs gen/synth.cpp (see the head of bench/mf.py)"
            )
            return
        times = []
        for seed in (1, 2, 3):
            events = train(
                data,
                test,
                self.work / "time",
                rank=32,
                clocks=8,
                lam=0.05,
                rate=0.12,
                decay=1,
                threads=1,
                seed=seed,
            )
            clocks = [event for event in events if event["event"] == "clock"]
            reached = [event for event in clocks if event["test_rmse"] <= 0.785]
            times.append(reached[0]["cpu_seconds"] if reached else float("inf"))
            if seed == 1:
                self.curves["20 M ratings, rank 32"] = timed_curve(events)
        self.row(
            "time to test RMSE 0.785, rank 32, 1 thread",
            "<= 1.5, aim 0.95 CPU-s",
            f"{statistics.median(times):.2f} CPU-s (n=3)",
            statistics.median(times) <= 1.5,
        )

    def scaling(self):
        data, _, _ = self.large()
        ratios = []
        for _ in range(5):
            one = done(train(data, None, self.work / "one", rank=32, clocks=6, threads=1))
            two = done(train(data, None, self.work / "two", rank=32, clocks=6, threads=2))
            ratios.append(one["seconds"] / two["seconds"])
        load = os.getloadavg()[0]
        self.row(
            "scaling, wall, 2 threads against 1",
            ">= 1.8x",
            f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}-{max(ratios):.2f}, n=5)",
            statistics.median(ratios) >= 1.8,
            f"load average {load:.1f}",
        )

    def reading(self):
        data, _, _ = self.large()
        size = os.path.getsize(data)
        speeds = []
        for _ in range(3):
            run = done(train(data, None, self.work / "read", rank=8, clocks=0, threads=1))
            speeds.append(size / 1e6 / run["read_seconds"])
        self.row(
            "reading, 20 M ratings text, 1 thread",
            ">= 200 MB/s",
            f"{statistics.median(speeds):.0f} MB/s (n=3)",
            statistics.median(speeds) >= 200,
        )

    def memory(self):
        data, test, _ = self.large()
        command = [
            "/usr/bin/time",
            "-f",
            "%M",
            str(CASTOR),
            "train",
            "mf",
            "--data",
            str(data),
            "--test",
            str(test),
            "--out",
            str(self.work / "memory"),
            "--rank",
            "32",
            "--clocks",
            "1",
            "--json",
            "--overwrite",
            "--threads",
            "2",
        ]
        if not shutil.which("/usr/bin/time"):
            command = [
                sys.executable,
                "-c",
                PEAK_OF,
            ] + command[3:]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        peak = int(run.stderr.split()[-1]) * 1024
        ratings = 19_930_964
        limit = (
            2 * 12 * ratings + (138_000 + 27_000) * 32 * 4 + (138_000 + 27_000) * 16 + (64 << 20)
        )
        self.row(
            "peak resident, 20 M ratings, rank 32",
            f"<= {limit / 2**20:.0f} MiB",
            f"{peak / 2**20:.0f} MiB",
            peak <= limit,
        )

    def solvers(self):
        data, test, _ = self.large()
        for solver, clocks in (("als", 4), ("ccd", 4)):
            events = train(
                data,
                test,
                self.work / solver,
                solver=solver,
                rank=32,
                clocks=clocks,
                lam=0.05,
                threads=1,
            )
            objectives = [event["objective"] for event in events if event["event"] == "clock"]
            falls = all(b <= a * (1 + 1e-9) for a, b in zip(objectives, objectives[1:]))
            end = done(events)
            self.curves[f"20 M ratings, {solver}"] = timed_curve(events)
            self.row(
                f"{solver}, 20 M ratings, rank 32, {clocks} passes",
                "objective falls",
                f"{'falls' if falls else 'RISES'}; {end['cpu_seconds'] / clocks:.2f} CPU-s a pass, "
                f"test RMSE {end['test_rmse']:.4f}",
                falls,
            )

    def implicit(self):
        parts = self.ml100k()
        if parts is None:
            return
        model = self.work / "implicit"
        train(
            parts[0],
            parts[1],
            model,
            solver="als",
            implicit=True,
            l2="plain",
            rank=32,
            lam=10,
            confidence=1,
            clocks=10,
        )
        run = subprocess.run(
            [str(CASTOR), "evaluate", str(model), "--data", str(parts[1]), "--ranking", "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        result = json.loads(run.stdout.splitlines()[-1])["ranking"]
        ours, popular = result["recall"], result["popularity_recall"]
        self.row(
            "als --implicit, ml-100k ua, recall@10",
            "above popularity",
            f"{ours:.4f} against {popular:.4f}",
            ours > popular,
        )

    # report
    def report(self):
        """Writes the results; rows and curves of an earlier run that this one has not made stay."""
        out = pathlib.Path(self.arguments.out)
        out.mkdir(parents=True, exist_ok=True)
        path = out / "mf.json"
        earlier = json.loads(path.read_text()) if path.exists() else dict(rows=[], curves={})
        rows = {row["name"]: row for row in earlier["rows"]}
        rows.update((row["name"], dict(row, when=time.strftime("%Y-%m-%d"))) for row in self.rows)
        curves = earlier["curves"] | self.curves
        result = dict(machine=machine(), rows=list(rows.values()), curves=curves)
        path.write_text(json.dumps(result, indent=1) + "\n")
        lines = ["| what | bar | measured | | beside it |", "| --- | --- | --- | --- | --- |"]
        lines += [
            "| {name} | {bar} | {measured} | {verdict} | {note} |".format(**row)
            for row in rows.values()
        ]
        head = "# Matrix factorisation, measured\n\nMade by `./dev bench mf`. Machine: "
        (out / "mf.md").write_text(head + machine() + ".\n\n" + "\n".join(lines) + "\n")
        for name, curve in self.curves.items():
            plot(out / f"mf-{''.join(c if c.isalnum() else '-' for c in name)}.svg", name, curve)
        missed = [row["name"] for row in self.rows if row["verdict"] == "MISSED"]
        print(f"\n{len(self.rows)} rows, {len(missed)} missed; written to {out}")
        return 1 if missed else 0


def machine():
    model = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line),
        "?",
    )
    flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "")
    return (
        f"{model}, {os.cpu_count()} processors, AVX-512 {'yes' if 'avx512f' in flags else 'no'}"
    )


def plot(path, title, curve):
    """Test RMSE against training seconds as a small SVG."""
    width, height, margin = 480, 300, 50
    last = max(seconds for seconds, _ in curve) or 1
    low, high = min(value for _, value in curve), max(value for _, value in curve)
    span = (high - low) or 1
    line = " ".join(
        f"{margin + (width - 2 * margin) * seconds / last:.1f},"
        f"{height - margin - (height - 2 * margin) * (value - low) / span:.1f}"
        for seconds, value in curve
    )
    text = [
        (width / 2, 20, "middle", f"{title}: test RMSE against seconds of training"),
        (margin - 6, margin + 4, "end", f"{high:.3f}"),
        (margin - 6, height - margin, "end", f"{low:.3f}"),
        (margin, height - margin + 18, "middle", "0"),
        (width - margin, height - margin + 18, "middle", f"{last:.2f} s"),
    ]
    labels = "".join(
        f'<text x="{x}" y="{y}" text-anchor="{anchor}">{label}</text>'
        for x, y, anchor, label in text
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'{labels}<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/></svg>\n'
    )


def main():
    sections = [
        "quality",
        "speed-small",
        "speed-large",
        "time-to-quality",
        "scaling",
        "reading",
        "memory",
        "solvers",
        "implicit",
    ]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default=",".join(sections), help="sections: " + ", ".join(sections)
    )
    parser.add_argument("--data", default=str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--work", default=str(ROOT / "runs" / "bench-mf"))
    parser.add_argument("--libmf", default="", help="a Python with libmf; 'none' = do not try")
    parser.add_argument("--out", default=str(ROOT / "bench" / "results"))
    arguments = parser.parse_args()
    bench = Bench(arguments)
    for section in arguments.only.split(","):
        if section not in sections:
            parser.error(f"unknown section '{section}'")
        getattr(bench, section.replace("-", "_"))()
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
