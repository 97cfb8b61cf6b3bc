"""Debian packages: which are needed (packages.txt), which are missing, and installing those."""

import os
import shutil

from shell import ROOT, Failure, run, say

LIST = ROOT / "tools" / "packages.txt"
# What a build cannot do without, whatever the system: used where packages cannot be installed.
COMMANDS = ("g++", "cmake", "ninja", "pkg-config")


def parse(text):
    """The groups of packages.txt: {"product": ["g++", ...], ...}."""
    groups = {}
    group = None
    for raw in text.splitlines():
        line = raw.split("#")[0].strip()
        if not line:
            continue
        if line.startswith("["):
            group = groups.setdefault(line.strip("[]"), [])
        else:
            group.append(line)
    return groups


def wanted(groups=()):
    """The packages of the named groups; of all groups when none is named."""
    every = parse(LIST.read_text())
    return [name for group in (groups or every) for name in every[group]]


def missing(names):
    query = run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
                check=False, capture=True)
    lines = (line.split() for line in query.stdout.splitlines())
    present = {line[0] for line in lines if line[1:] == ["installed"]}
    return [name for name in names if name not in present]


def become_root():
    """The words to put before a command that needs root; None when there is no way."""
    if os.geteuid() == 0:
        return []
    return ["sudo"] if shutil.which("sudo") else None


def install(names):
    prefix = become_root()
    command = "apt-get install -y --no-install-recommends " + " ".join(names)
    if prefix is None:
        raise Failure("packages are missing and this user cannot install them; as root, run:\n"
                      f"  apt-get update && {command}")
    say(f"installing {len(names)} packages: {' '.join(names)}")
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq",
           "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]
    run([*apt, "update"], check=False)  # a dead source must not matter when the others suffice
    run([*apt, "install", "-y", "--no-install-recommends", *names])


def setup(groups=()):
    """Installs what is missing of the named groups (all when none is named)."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-query"):
        raise Failure("this system has no apt-get: install the equivalents of tools/packages.txt")
    names = missing(wanted(groups))
    if names:
        install(names)


def ensure(*groups):
    """As setup(), but goes on with what there is when packages cannot be installed here."""
    try:
        setup(groups)
    except Failure as failure:
        absent = [command for command in COMMANDS if not shutil.which(command)]
        if absent:
            raise
        say(f"note: {failure}\nnote: trying with what is installed")
