"""Configuring and building a preset of CMakePresets.json."""

import json
import os
from pathlib import Path

from shell import ROOT, Failure, at_terminal, processors, run, say

BYTES_PER_COMPILER = 1_500_000_000


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
        run(["cmake", "--fresh", "--preset", preset], env=environment(), capture=True)
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
