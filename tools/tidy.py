#!/usr/bin/env python3
"""Holds the sources to the rules of rules.py: prints file:line: message, exits with 1 if any.

Each check is a function from a Tree to findings, listed in CHECKS; each has a test in tidy_test.py
that shows it can fail.
"""

import argparse
import ast
import fnmatch
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import cpp
import docs
import rules

ROOT = Path(__file__).resolve().parent.parent
TEXT = (".cc", ".h", ".py", ".sh", ".md", ".txt", ".toml", ".json", ".cmake", ".js", ".html")
TEXT_NAMES = ("dev", "run", ".clang-format", ".clang-tidy", ".gitignore")
NOT_OURS = (".git", ".cache", "__pycache__", "runs", "node_modules")


class Finding(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class Tree:
    """The files of a checkout: texts by path, and the paths of everything else."""

    def __init__(self, texts, others=()):
        self.texts = texts
        self.paths = set(texts) | set(others)
        self.folders = {str(parent) for path in self.paths for parent in Path(path).parents}
        self.code = {path: cpp.code_of(texts[path]) for path in self.sources()}
        self.includes = {path: cpp.includes_of(texts[path]) for path in self.sources()}

    def sources(self, folder=""):
        return [path for path in sorted(self.texts)
                if path.endswith((".cc", ".h")) and path.startswith(folder)]

    def markdown(self):
        return [path for path in sorted(self.texts) if path.endswith(".md")]

    def exists(self, path):
        return path in self.paths or path in self.folders


def read_tree(root):
    texts, others = {}, []
    for folder, names, files in os.walk(root):
        here = Path(folder).relative_to(root)
        names[:] = [name for name in names if name not in NOT_OURS
                    and not (str(here) == "." and name.startswith("build"))]
        for name in files:
            path = (here / name).as_posix()
            if name.endswith(TEXT) or name in TEXT_NAMES:
                texts[path] = (root / path).read_text(errors="replace")
            else:
                others.append(path)
    return Tree(texts, others)


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def lines_of(text):
    return enumerate(text.splitlines(), 1)


def line_at(text, place):
    return text.count("\n", 0, place) + 1


# ---- who may include whom

def module_of(path):
    """src/world/sim/x.h -> world; tests/x.cc -> tests."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else parts[0]


def may_import(path, included):
    module = module_of(path)
    layer = rules.LAYERS.get(module) if path.startswith("src/") else None
    allowed = layer.imports if layer else rules.OUTSIDE.get(module, ())
    folder = included.rsplit("/", 1)[0]
    target = included.split("/")[0]
    return allowed == rules.EVERYTHING or target == module or target in allowed or folder in allowed


def check_modules(tree):
    for path in tree.sources("src/"):
        if module_of(path) not in rules.LAYERS:
            yield Finding(path, 1, f"no module '{module_of(path)}' in LAYERS of tools/rules.py")


def check_layers(tree):
    for path in tree.sources():
        for include in tree.includes[path]:
            if not include.quoted:
                continue
            if f"src/{include.path}" not in tree.paths:
                yield Finding(path, include.line, f"no file src/{include.path}: quotes are for our "
                              "headers, named by their path from src/")
            elif not may_import(path, include.path):
                yield Finding(path, include.line, f"{module_of(path)} may not include "
                              f"{include.path} (LAYERS in tools/rules.py)")


def check_own_header_first(tree):
    for path in tree.sources("src/"):
        own = path[len("src/"):-len(".cc")] + ".h"
        if not path.endswith(".cc") or f"src/{own}" not in tree.paths:
            continue
        includes = tree.includes[path]
        if not includes or includes[0].path != own:
            yield Finding(path, 1, f'include "{own}" first: it shows that the header stands alone')


def library_of(included):
    for library, pattern in rules.LIBRARIES.items():
        if re.match(pattern, included):
            return library
    return None


def is_fenced(path, library):
    if matches(path, rules.ALSO_ALLOWED.get(library, ())):
        return True
    layer = rules.LAYERS.get(module_of(path)) if path.startswith("src/") else None
    files = dict(layer.fences).get(library, ()) if layer else ()
    return matches(path.rsplit("/", 1)[-1], files)


def check_fences(tree):
    for path in tree.sources():
        for include in tree.includes[path]:
            if include.quoted or include.path in rules.STANDARD:
                continue
            library = library_of(include.path)
            if library is None:
                yield Finding(path, include.line, f"<{include.path}> is of no library in rules.py: "
                              "a new dependency needs a decision record and a fence")
            elif not is_fenced(path, library):
                yield Finding(path, include.line, f"<{include.path}>: {library} is fenced into "
                              "other files (LAYERS in tools/rules.py)")


def check_dead_headers(tree):
    used = {}
    for path in tree.sources():
        for include in tree.includes[path]:
            if include.quoted:
                used.setdefault(include.path, set()).add(path)
    for path in tree.sources("src/"):
        if path.endswith(".h"):
            own = path[:-len(".h")] + ".cc"
            if not used.get(path[len("src/"):], set()) - {own}:
                yield Finding(path, 1, "no other file includes this header: remove it, or test it")


# ---- words and shapes

def check_bans(tree):
    for ban in rules.BANS:
        pattern = re.compile(ban.pattern)
        for path, code in tree.code.items():
            if matches(path, ban.allowed):
                continue
            for match in pattern.finditer(code):
                word = " ".join(match.group().split())
                yield Finding(path, line_at(code, match.start()), f"'{word}': use {ban.instead}")


def check_line_length(tree):
    for path, text in tree.texts.items():
        if not path.endswith((".cc", ".h", ".py", ".sh")) and path != "dev":
            continue
        for number, line in lines_of(text):
            if len(line) > rules.LINE_MAX and "://" not in line:
                yield Finding(path, number, f"{len(line)} columns; at most {rules.LINE_MAX}")


def check_file_length(tree):
    for path, text in tree.texts.items():
        if path.endswith((".cc", ".h", ".py")) and text.count("\n") > rules.FILE_MAX:
            yield Finding(path, rules.FILE_MAX + 1, f"a file has at most {rules.FILE_MAX} lines")


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield cpp.Function(node.lineno, node.end_lineno - node.lineno + 1, f"def {node.name}()")


def check_function_length(tree):
    for path, text in tree.texts.items():
        if path.endswith((".cc", ".h")):
            functions = cpp.functions_of(text)
        elif path.endswith(".py"):
            functions = python_functions(text)
        else:
            continue
        for function in functions:
            if function.lines > rules.FUNCTION_MAX:
                yield Finding(path, function.line, f"function of {function.lines} lines; at most "
                              f"{rules.FUNCTION_MAX}: {function.head[:60]}")


def check_header_shape(tree):
    for path in tree.sources("src/"):
        if not path.endswith(".h"):
            continue
        lines = tree.texts[path].splitlines()
        if not lines or lines[0] != "#pragma once":
            yield Finding(path, 1, "the first line must be #pragma once")
        paragraph = []
        for line in lines[1:]:
            if not line.startswith("//"):
                break
            paragraph.append(line)
        if not paragraph or paragraph[0].startswith("// Thread:"):
            yield Finding(path, 2, "start with a paragraph that says what this is for")
        if not any(re.match(r"// Thread: \S", line) for line in paragraph):
            yield Finding(path, 2, "the opening comment needs a line '// Thread: who may call'")


def check_names(tree):
    for path in tree.sources():
        stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        if not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
            yield Finding(path, 1, "file names are snake_case")
        for word in [*path.split("/")[:-1], stem]:
            if word in rules.EMPTY_NAMES:
                yield Finding(path, 1, f"'{word}' does not say what is inside")
        if path.startswith("src/") and path.count("/") > 2:
            if path.split("/")[2] not in ("sim", "policies"):
                yield Finding(path, 1, "one level of folders under src/")


def check_todos(tree):
    for path, text in tree.texts.items():
        if path.endswith((".cc", ".h")):
            text = cpp.comments_of(text)
        elif not path.endswith(".py") or path.startswith("tools/"):
            continue  # the tools name these words to look for them
        for match in re.finditer(r"\b(FIXME|XXX|HACK)\b|\bTODO\b(\((\w+)\):)?", text):
            line = line_at(text, match.start())
            if match.group(1):
                yield Finding(path, line, f"{match.group(1)}: fix it, or write TODO(type): what")
            elif match.group(3) in rules.TODO_REFUSED:
                yield Finding(path, line, f"TODO({match.group(3)}) must be done before the commit")
            elif match.group(3) not in rules.TODO_TYPES:
                yield Finding(path, line, f"write TODO(type): what, with one of {rules.TODO_TYPES}")


def check_ascii(tree):
    for path, text in tree.texts.items():
        if path.endswith((".cc", ".h", ".sh", ".cmake", "CMakeLists.txt")) or path == "dev":
            for number, line in lines_of(text):
                if not line.isascii():
                    char = next(char for char in line if not char.isascii())
                    yield Finding(path, number, f"not ASCII: {char!r}; use \\u escapes in literals")


def check_machine_paths(tree):
    # A path of one person's machine helps nobody else. The pattern must not match itself.
    pattern = re.compile(r"(?<![\w.*/$}-])/(?:home|root|Users|work|workspace)(?=/|\b)(?!\))(?!\|)")
    for path, text in tree.texts.items():
        for match in pattern.finditer(text):
            yield Finding(path, line_at(text, match.start()),
                          f"'{match.group()}': a path that exists on one machine only")


# ---- files that nothing builds or runs

def module_folders(cmake):
    """The folders of src/ that CMakeLists.txt gives to castor_module()."""
    calls = re.findall(r"^castor_module\(\w+\s+(?:THREADS\s+)?FOLDERS\s+([\w/\s]+?)\s*(?:LINK|\))",
                       cmake, re.MULTILINE)
    return {folder for call in calls for folder in call.split()}


def is_built(path, folders):
    folder = path.rsplit("/", 1)[0]
    if path.startswith("src/"):
        return folder[len("src/"):] in folders
    if path.startswith("tests/"):
        return folder == "tests" and path.endswith("_test.cc") or folder == "tests/support"
    return folder == "examples"


def check_unbuilt_sources(tree):
    folders = module_folders(tree.texts.get("CMakeLists.txt", ""))
    for path in tree.sources():
        if path.endswith(".cc") and not is_built(path, folders):
            yield Finding(path, 1, "no line of CMakeLists.txt builds this file")


def check_unregistered_tests(tree):
    for path, code in tree.code.items():
        tests = re.search(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\(", code, re.MULTILINE)
        if tests and not path.endswith("_test.cc"):
            yield Finding(path, line_at(code, tests.start()), "tests belong in a file x_test.cc")
    scripts = [path for path in tree.texts if path.endswith(".py")]
    for path in scripts:
        folder, name = os.path.split(path)
        if name.endswith("_test.py"):
            if folder not in ("tests/cli", "tools") and not folder.startswith("python/"):
                yield Finding(path, 1, "nothing runs this test: move it to tests/cli/ or tools/")
        elif folder == "tests/cli":
            stem = re.escape(name[:-len(".py")])
            users = re.compile(rf"^\s*(import|from) {stem}\b", re.MULTILINE)
            if not any(users.search(tree.texts[other]) for other in scripts if other != path):
                yield Finding(path, 1, "nothing runs this file: name it x_test.py, or import it")


# ---- documents

def prose_of(text):
    """Markdown with fenced code blank; lines stay in place."""
    return re.sub(r"^(```|~~~).*?^\1[ \t]*$", lambda m: cpp.blanked(m.group()), text,
                  flags=re.MULTILINE | re.DOTALL)


def anchors_of(text):
    """Anchors of the headings, as GitHub makes them."""
    anchors = set()
    for heading in re.findall(r"^#{1,6} +(.+)$", prose_of(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchors.add(re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-"))
    return anchors


def check_titles(tree):
    for path in tree.markdown():
        titles = re.findall(r"^# .+$", prose_of(tree.texts[path]), re.MULTILINE)
        if not tree.texts[path].startswith("# "):
            yield Finding(path, 1, "the first line must be the title: # Title")
        if len(titles) > 1:
            yield Finding(path, 1, f"{len(titles)} titles; a page has one")


def check_links(tree):
    for path in tree.markdown():
        text = prose_of(tree.texts[path])
        text = re.sub(r"`[^`\n]*`", lambda m: cpp.blanked(m.group()), text)
        for match in re.finditer(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", text):
            target, _, anchor = match.group(1).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            line = line_at(text, match.start())
            full = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not tree.exists(full):
                yield Finding(path, line, f"broken link: {match.group(1)}")
            elif anchor and full in tree.texts and anchor not in anchors_of(tree.texts[full]):
                yield Finding(path, line, f"no heading #{anchor} in {full}")


def check_named_paths(tree):
    """Paths in backticks exist. Decision records keep the names of their time."""
    pattern = re.compile(r"`((?:src|docs|tools|tests|examples|bench)/[\w./-]*)`")
    for path in tree.markdown():
        if path.startswith("docs/decisions/") or path == "CHANGELOG.md":
            continue
        text = prose_of(tree.texts[path])
        for match in pattern.finditer(text):
            named = match.group(1).rstrip("/")
            if not tree.exists(named) and not re.search(r"[/_]x\b|/x_", named):
                yield Finding(path, line_at(text, match.start()), f"no file or folder {named}")


def check_code_map(tree):
    text = tree.texts.get("ARCHITECTURE.md")
    if text is None:
        return
    for module in sorted({module_of(path) for path in tree.sources("src/")}):
        if f"`{module}`" not in text and f"`src/{module}" not in text:
            yield Finding("ARCHITECTURE.md", 1, f"the code map does not name the module `{module}`")
    if "<!-- layers -->" not in text:
        yield Finding("ARCHITECTURE.md", 1, "the table of modules belongs between <!-- layers --> "
                      "and <!-- /layers -->")


def check_generated_parts(tree):
    for path in tree.markdown():
        text = tree.texts[path]
        try:
            expected = docs.rendered(text, tree.texts)
        except docs.DocsError as error:
            yield Finding(path, 1, str(error))
            continue
        for number, (line, wanted) in enumerate(zip(text.splitlines(), expected.splitlines()), 1):
            if line != wanted:
                yield Finding(path, number, "differs from its sources: run ./dev docs")
                break
        else:
            if text != expected:
                yield Finding(path, text.count("\n"), "differs from its sources: run ./dev docs")


CHECKS = (
    check_modules, check_layers, check_own_header_first, check_fences, check_dead_headers,
    check_bans, check_line_length, check_file_length, check_function_length, check_header_shape,
    check_names, check_todos, check_ascii, check_machine_paths,
    check_unbuilt_sources, check_unregistered_tests,
    check_titles, check_links, check_named_paths, check_code_map, check_generated_parts,
)


def findings_of(tree, checks=CHECKS):
    return sorted({finding for check in checks for finding in check(tree)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", action="store_true",
                        help="print the table of modules for ARCHITECTURE.md")
    options = parser.parse_args()
    tree = read_tree(ROOT)
    if options.layers:
        print(docs.layer_table({module_of(path) for path in tree.sources("src/")}), end="")
        return 0
    findings = findings_of(tree)
    for finding in findings:
        print(finding)
    count = len(findings)
    print(f"tidy: {count} finding{'' if count == 1 else 's'} in {len(tree.texts)} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
