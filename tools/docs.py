"""The parts of the Markdown pages that are generated, and where they come from.

    <!-- layers --> ... <!-- /layers -->    the table of modules, from rules.py
    <!-- include: examples/x.cc#part -->    and a code block: the lines of that file between
                                            // [part] and // [/part]
"""

import re

from rules import EVERYTHING, LAYERS

INCLUDE = re.compile(r"^<!-- include: (?P<path>[^#\s]+)#(?P<anchor>[\w-]+) -->\n+"
                     r"(?P<open>```\w*\n)(?P<body>.*?)(?P<close>^```$)", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"^<!-- include: ", re.MULTILINE)
LAYER_BLOCK = re.compile(r"(<!-- layers -->\n).*?(<!-- /layers -->)", re.DOTALL)


class DocsError(Exception):
    pass


def layer_table(existing):
    """Markdown table of the modules in `existing` (names of folders in src/), lowest first."""
    rows = ["| module | what it does | may include | third-party headers, in which file only |",
            "| --- | --- | --- | --- |"]
    for name, layer in LAYERS.items():
        if name not in existing:
            continue
        known = [module for module in layer.imports if module.split("/")[0] in existing]
        imports = "everything" if layer.imports == EVERYTHING else ", ".join(known) or "nothing"
        fences = " · ".join(f"{library} in " + ", ".join(f"`{file}`" for file in files)
                            for library, files in layer.fences) or "none"
        rows.append(f"| `{name}` | {layer.does} | {imports} | {fences} |")
    return "\n".join(rows) + "\n"


def excerpt(source, anchor):
    """The lines between // [anchor] and // [/anchor], without common indentation."""
    lines = source.splitlines()
    marks = [line.strip() for line in lines]
    if f"// [{anchor}]" not in marks or f"// [/{anchor}]" not in marks:
        raise DocsError(f"no lines between // [{anchor}] and // [/{anchor}]")
    body = lines[marks.index(f"// [{anchor}]") + 1:marks.index(f"// [/{anchor}]")]
    body = [line for line in body if not re.fullmatch(r"\s*// \[/?[\w-]+\]", line)]
    indent = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    return "".join(line[indent:] + "\n" for line in body)


def rendered(page, files):
    """The page with its generated parts as they should be. `files` maps paths to texts."""
    def include(match):
        path, anchor = match["path"], match["anchor"]
        if path not in files:
            raise DocsError(f"include: no file {path}")
        body = excerpt(files[path], anchor)
        return f"<!-- include: {path}#{anchor} -->\n{match['open']}{body}{match['close']}"

    existing = {path.split("/")[1] for path in files if re.match("src/[^/]+/", path)}
    complete = len(MARKER.findall(page)) == len(INCLUDE.findall(page))
    if not complete:
        raise DocsError("an include marker is not followed by a code block")
    page = INCLUDE.sub(include, page)
    return LAYER_BLOCK.sub(lambda m: m.group(1) + layer_table(existing) + m.group(2), page)
