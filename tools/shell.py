"""Running commands and talking to the person: shared by the tools in this folder."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Failure(Exception):
    """Something a person has to act on; dev.py prints it and exits with 1."""


def say(text=""):
    print(text, flush=True)


def run(command, *, cwd=ROOT, env=None, echo=False, check=True, capture=False):
    """Runs a command (a list) without a terminal to read from; returns the CompletedProcess.

    With `check`, an exit code other than 0 is a Failure naming the command.
    """
    command = [str(word) for word in command]
    if echo:
        say("$ " + shlex.join(command))
    try:
        done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE if capture else None,
                              stderr=subprocess.PIPE if capture else None)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is not installed: run ./dev setup") from None
    if check and done.returncode != 0:
        details = f":\n{(done.stderr or done.stdout).strip()}" if capture else ""
        raise Failure(f"exit code {done.returncode} from: {shlex.join(command)}{details}")
    return done


def processors():
    return len(os.sched_getaffinity(0))


def at_terminal():
    return sys.stdout.isatty()
