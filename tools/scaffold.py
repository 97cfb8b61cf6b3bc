"""New files from templates: decision records, and what a contributor adds to a catalogue."""

import re
import shutil

from shell import ROOT, Failure, run, say

TEMPLATES = ROOT / "tools" / "templates"
DECISIONS = ROOT / "docs" / "decisions"

# What ./dev new can make: the files (template, destination), and the edit that is left to do.
KINDS = {
    "program": (
        (("program.h.txt", "src/programs/{name}.h"),
         ("program.cc.txt", "src/programs/{name}.cc"),
         ("program_test.cc.txt", "src/programs/{name}_test.cc")),
        "add one line for '{name}' to src/programs/catalog.cc, then: ./dev test programs"),
}


def slug_of(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def next_number(names):
    """The number after the largest of names like 0007-no-coroutines.md."""
    numbers = [int(name[:4]) for name in names if re.match(r"\d{4}-", name)]
    return max(numbers, default=0) + 1


def decide(title):
    if not slug_of(title):
        raise Failure("a decision needs a title of words")
    DECISIONS.mkdir(parents=True, exist_ok=True)
    number = next_number(path.name for path in DECISIONS.iterdir())
    path = DECISIONS / f"{number:04}-{slug_of(title)}.md"
    template = (TEMPLATES / "decision.md.txt").read_text()
    path.write_text(template.replace("{number}", str(number)).replace("{title}", title))
    say(f"wrote {path.relative_to(ROOT)}")


def type_name(name):
    return "".join(word.capitalize() for word in name.split("_"))


def new(kind, name):
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise Failure(f"'{name}' is not a name in snake_case")
    paths = write(kind, name, ROOT)
    if shutil.which("clang-format-19"):  # a long name moves line ends
        run(["clang-format-19", "-i", *paths])
    for path in paths:
        say(f"wrote {path.relative_to(ROOT)}")
    say("now " + KINDS[kind][1].format(name=name))


def write(kind, name, root):
    """Writes the files of one kind below `root`; returns their paths."""
    targets = [(TEMPLATES / template, root / pattern.format(name=name))
               for template, pattern in KINDS[kind][0]]
    for _, path in targets:
        if path.exists():
            raise Failure(f"{path.relative_to(root)} exists already")
    for template, path in targets:
        text = template.read_text().replace("{name}", name).replace("{Name}", type_name(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [path for _, path in targets]
