"""Just enough C++ to check a source file: comments and literals blanked, includes, functions."""

import re
from typing import NamedTuple

TOKEN = re.compile(
    r'//(?:\\\n|[^\n])*'                            # line comment
    r'|/\*.*?\*/'                                   # block comment
    r'|R"(?P<mark>[^()\s\\"]{0,16})\(.*?\)(?P=mark)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'                         # string
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",        # character, not a digit separator
    re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.MULTILINE)


class Include(NamedTuple):
    line: int
    path: str
    quoted: bool


class Function(NamedTuple):
    line: int   # where its head starts
    lines: int  # from there to the closing brace, both included
    head: str


def blanked(text):
    """The same text with spaces for whatever is inside `text` but a line end."""
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    """The source with comments blank and literals reduced to their quotes."""
    def keep_quotes(match):
        found = match.group()
        if found.startswith("/"):
            return blanked(found)
        quote = '"' if found[0] in 'R"' else "'"
        return quote + blanked(found[1:-1]) + quote
    return TOKEN.sub(keep_quotes, text)


def comments_of(text):
    """The source with everything but comments blank."""
    out, place = [], 0
    for match in TOKEN.finditer(text):
        out.append(blanked(text[place:match.start()]))
        found = match.group()
        out.append(found if found.startswith("/") else blanked(found))
        place = match.end()
    return "".join(out) + blanked(text[place:])


def includes_of(text):
    """Include lines. A commented-out include starts with a slash and does not match."""
    return [Include(text.count("\n", 0, m.start()) + 1, m.group(2), m.group(1) == '"')
            for m in INCLUDE.finditer(text)]


ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
CLASS = re.compile(r"^(?:template\s*<.*>\s*)?(?:export\s+)?(?:class|struct|union)\b", re.DOTALL)
NAMESPACE = re.compile(r'^(?:inline\s+)?namespace\b|^extern\s+"\s*"$')
MEMBER_LIST = re.compile(r"\)[\w\s]*:(?!:).*[\w>]$", re.DOTALL)  # ") : a_(x), b_" and then {


def kind_of(head):
    """What a brace after `head` opens: "scope" (look inside), "function" or "value" (skip)."""
    if NAMESPACE.match(head) or (CLASS.match(head) and not head.endswith("=")):
        return "scope"
    if head.startswith("enum") or head.endswith(("=", ",", "(", "return")) or ")" not in head:
        return "value"
    return "value" if MEMBER_LIST.search(head) else "function"


def closing(code, start):
    """Place of the brace that closes the one at `start`; the end when there is none."""
    depth = 0
    for match in re.finditer(r"[{}]", code[start:]):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return start + match.start()
    return len(code) - 1


def functions_of(text):
    """Function definitions at namespace and class level; lambdas count in their function."""
    code = DIRECTIVE.sub(lambda m: blanked(m.group()), code_of(text))
    code = ACCESS.sub(lambda m: blanked(m.group())[:-1] + ";", code)
    found = []
    head_start = place = 0
    while place < len(code):
        char = code[place]
        if char in ";}":
            head_start = place + 1
        elif char == "{":
            head = code[head_start:place].strip()
            kind = kind_of(head)
            if kind == "scope":
                head_start = place + 1
            else:
                end = closing(code, place)
                if kind == "function":
                    first = code.index(head, head_start)
                    line = code.count("\n", 0, first) + 1
                    lines = code.count("\n", first, end) + 1
                    found.append(Function(line, lines, " ".join(head.split())))
                    head_start = end + 1
                place = end
        place += 1
    return found
