"""The shell blocks of README.md and the how-tos that are marked <!-- test --> do what they say."""

import os
import pathlib
import re
import subprocess

from support import CASTOR, ROOT, TIMEOUT, Case, main

BLOCK = re.compile(r"^<!-- test -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ("README.md", "docs/howto/*.md", "docs/formats/*.md", "docs/concepts/*.md")


class Documents(Case):
    def test_marked_blocks_run(self):
        env = {**os.environ, "PATH": f"{pathlib.Path(CASTOR).parent}:{os.environ['PATH']}"}
        count = 0
        for pattern in PAGES:
            for page in sorted(ROOT.glob(pattern)):
                blocks = BLOCK.findall(page.read_text())
                if not blocks:
                    continue
                name = str(page.relative_to(ROOT))
                folder = self.folder / name.replace("/", "-")
                folder.mkdir()
                with self.subTest(
                    page=name
                ):  # the blocks of a page follow each other in one folder
                    script = "set -eu\n" + "\n".join(blocks)
                    done = subprocess.run(
                        ["bash", "-c", script],
                        cwd=folder,
                        env=env,
                        timeout=TIMEOUT,
                        capture_output=True,
                        text=True,
                    )
                    self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
                    count += len(blocks)
        self.assertGreater(count, 0, "no block is marked")

    def test_the_reference_is_that_of_this_program(self):
        page = ROOT / "docs" / "reference" / "options.md"
        self.assertEqual(
            page.read_text(),
            self.done("options", "--markdown").out,
            "out of date: castor options --markdown > docs/reference/options.md",
        )


if __name__ == "__main__":
    main()
