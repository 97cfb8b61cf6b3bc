"""Every check of tidy.py is shown a tree it accepts and one it refuses."""

import re
import unittest

import cpp
import docs
import rules
import tidy

HEADER = "#pragma once\n// What it is for.\n//\n// Thread: any.\n"
CMAKE = ("castor_module(core FOLDERS core LINK fmt::fmt\n              x)\n"
         "castor_module(world THREADS FOLDERS world world/sim LINK castor_core)\n")


def findings(check, files, others=()):
    return list(check(tidy.Tree(files, others)))


class CheckCase(unittest.TestCase):
    def accepts(self, check, files, others=()):
        self.assertEqual(findings(check, files, others), [])

    def refuses(self, check, files, line, words):
        found = findings(check, files)
        self.assertEqual([(finding.line, bool(re.search(words, finding.message)))
                          for finding in found], [(line, True)], found)


class Includes(CheckCase):
    def test_known_modules(self):
        self.accepts(tidy.check_modules, {"src/core/x.h": ""})
        self.refuses(tidy.check_modules, {"src/engine/x.h": ""}, 1, "engine")

    def test_layers(self):
        files = {"src/core/a.h": "", "src/ps/b.h": '\n#include "core/a.h"\n', "src/ps/c.h": ""}
        self.accepts(tidy.check_layers, files)
        files["src/core/d.cc"] = '// x\n#include "ps/b.h"\n'
        self.refuses(tidy.check_layers, files, 2, "core may not include ps/b.h")

    def test_a_folder_of_a_module_can_be_allowed_alone(self):
        files = {"src/world/files.h": "", "src/world/sim/queue.h": "",
                 "src/trace/a.h": '#include "world/sim/queue.h"\n'}
        self.accepts(tidy.check_layers, files)
        files["src/trace/b.h"] = '#include "world/files.h"\n'
        self.refuses(tidy.check_layers, files, 1, "trace may not")

    def test_cli_and_tests_may_include_everything_but_examples_not(self):
        files = {"src/ps/b.h": "", "src/cli/main.cc": '#include "ps/b.h"\n',
                 "tests/x_test.cc": '#include "ps/b.h"\n'}
        self.accepts(tidy.check_layers, files)
        files["examples/x.cc"] = '#include "ps/b.h"\n'
        self.refuses(tidy.check_layers, files, 1, "examples may not")

    def test_quoted_includes_are_ours(self):
        self.refuses(tidy.check_layers, {"src/core/a.h": '#include "b.h"\n'}, 1, "no file src/b.h")

    def test_own_header_first(self):
        files = {"src/core/a.h": "", "src/core/a.cc": '#include "core/a.h"\n\n#include <map>\n'}
        self.accepts(tidy.check_own_header_first, files)
        files["src/core/a.cc"] = '#include <map>\n#include "core/a.h"\n'
        self.refuses(tidy.check_own_header_first, files, 1, "core/a.h")

    def test_fences(self):
        self.accepts(tidy.check_fences, {
            "src/core/text.cc": "#include <fmt/format.h>\n#include <vector>\n",
            "src/world/files_posix.cc": "#include <fcntl.h>\n",
            "src/ps/x_test.cc": "#include <gtest/gtest.h>\n"})
        self.refuses(tidy.check_fences, {"src/core/text.h": "#include <fmt/format.h>\n"}, 1, "fmt")
        self.refuses(tidy.check_fences, {"src/ps/text.cc": "#include <fmt/format.h>\n"}, 1, "fmt")
        self.refuses(tidy.check_fences, {"src/ps/x.cc": "#include <gtest/gtest.h>\n"}, 1, "google")
        self.refuses(tidy.check_fences, {"src/ps/x.cc": "\n#include <boost/a>\n"}, 2, "no library")

    def test_dead_headers(self):
        files = {"src/core/a.h": "", "src/core/a.cc": '#include "core/a.h"\n'}
        self.refuses(tidy.check_dead_headers, files, 1, "no other file")
        files["src/core/a_test.cc"] = '#include "core/a.h"\n'
        self.accepts(tidy.check_dead_headers, files)


class Bans(CheckCase):
    # One line that each ban of rules.BANS must refuse, in the same order.
    REFUSED = (
        "auto t = std::chrono::steady_clock::now();", "std::mutex m;", "std::jthread t;",
        "t.detach();", "std::random_device d;", 'getenv("A");', "std::this_thread::sleep_for(d);",
        "throw 1;", "auto p = new int;", "delete p;", "void* p = malloc(3);", "std::cout << 1;",
        "#include <regex>", "for (int i : v | std::views::reverse) {}", "using namespace std;",
        "std::ifstream in;", "assert(x);", "std::exit(1);", "auto t = __DATE__;", "p = NULL;",
    )
    ACCEPTED = (
        "// std::mutex and throw in a comment", 'say("new: delete, catch, rand()");',
        "X(const X&) = delete;", "auto p = new (place) X;", "operand(1); strand(2);",
        "static_assert(true);", "using std::swap;", "#include <new>", "snprintf(b, 3, f);",
        "int renew = 1'000'000; int newest = 'n';", "std::ranges::sort(v);", "retry();",
    )

    def test_each_ban_can_fail(self):
        self.assertEqual(len(self.REFUSED), len(rules.BANS))
        for ban, line in zip(rules.BANS, self.REFUSED):
            self.refuses(tidy.check_bans, {"src/ps/x.cc": "\n" + line + "\n"}, 2,
                         re.escape("use " + ban.instead))

    def test_harmless_lines_pass(self):
        for line in self.ACCEPTED:
            self.accepts(tidy.check_bans, {"src/ps/x.cc": line + "\n"})

    def test_exempt_files(self):
        self.accepts(tidy.check_bans, {"src/core/mutex.h": "std::mutex m;",
                                       "src/world/real_world.cc": "clock_gettime(id, &t);",
                                       "src/cli/main.cc": 'getenv("X"); std::cout << 1;',
                                       "src/core/json.cc": "try { f(); } catch (...) {}"})


class Shapes(CheckCase):
    def test_line_length(self):
        self.accepts(tidy.check_line_length, {"src/a.cc": "x" * 100 + "\n"})
        self.accepts(tidy.check_line_length, {"src/a.cc": "// https://" + "x" * 100 + "\n"})
        self.refuses(tidy.check_line_length, {"src/a.cc": "\n" + "x" * 101 + "\n"}, 2, "101")

    def test_file_length(self):
        self.accepts(tidy.check_file_length, {"src/a.cc": "\n" * 800})
        self.refuses(tidy.check_file_length, {"src/a.cc": "\n" * 801}, 801, "800")

    def test_function_length(self):
        body = "  f();\n" * 68
        self.accepts(tidy.check_function_length, {"src/a.cc": f"void g() {{\n{body}}}\n"})
        text = f"\nvoid g() {{\n{body}\n}}\n"
        self.refuses(tidy.check_function_length, {"src/a.cc": text}, 2, "71")
        text = "def f():\n" + "    x = 1\n" * 70
        self.refuses(tidy.check_function_length, {"tools/a.py": text}, 1, "71")

    def test_header_shape(self):
        self.accepts(tidy.check_header_shape, {"src/core/a.h": HEADER})
        self.refuses(tidy.check_header_shape, {"src/core/a.h": "\n" + HEADER[13:]}, 1, "pragma")
        bare = "#pragma once\n// Thread: any.\n"
        self.refuses(tidy.check_header_shape, {"src/core/a.h": bare}, 2, "paragraph")
        self.refuses(tidy.check_header_shape, {"src/core/a.h": HEADER.replace("Thread", "Use")}, 2,
                     "Thread")

    def test_names(self):
        self.accepts(tidy.check_names, {"src/world/sim/fault_plan.h": ""})
        self.refuses(tidy.check_names, {"src/core/FaultPlan.h": ""}, 1, "snake_case")
        self.refuses(tidy.check_names, {"src/core/util.h": ""}, 1, "util")
        self.refuses(tidy.check_names, {"src/core/deep/x.h": ""}, 1, "one level")

    def test_todos(self):
        self.accepts(tidy.check_todos, {"src/a.h": "// TODO(perf): faster\nint todo;\n"})
        self.refuses(tidy.check_todos, {"src/a.h": "\n// TODO: x\n"}, 2, "TODO.type")
        self.refuses(tidy.check_todos, {"src/a.h": "// TODO(bob): x\n"}, 1, "perf")
        self.refuses(tidy.check_todos, {"src/a.h": "// TODO(now): x\n"}, 1, "before the commit")
        self.refuses(tidy.check_todos, {"src/a.h": "// FIXME x\n"}, 1, "FIXME")

    def test_ascii(self):
        self.accepts(tidy.check_ascii, {"src/a.h": "x", "README.md": "\u00e9"})
        self.refuses(tidy.check_ascii, {"src/a.h": "x\n// \u00e9\n"}, 2, "not ASCII")

    def test_machine_paths(self):
        self.accepts(tidy.check_machine_paths, {"a.md": "./runs/home/x and ~/data and /tmp/x"})
        self.refuses(tidy.check_machine_paths, {"a.md": "\nsee /" + "root/x"}, 2, "one machine")
        self.refuses(tidy.check_machine_paths, {"a.md": "see `/" + "home/ann/x`"}, 1, "one machine")


class Registration(CheckCase):
    def test_unbuilt_sources(self):
        built = {"CMakeLists.txt": CMAKE, "src/core/a.cc": "", "src/world/sim/b_test.cc": "",
                 "tests/c_test.cc": "", "tests/support/main.cc": "", "examples/d.cc": ""}
        self.accepts(tidy.check_unbuilt_sources, built)
        for path in ("src/ps/a_test.cc", "src/core/b/a.cc", "tests/b/a_test.cc", "tests/a.cc"):
            files = {"CMakeLists.txt": CMAKE, path: ""}
            self.refuses(tidy.check_unbuilt_sources, files, 1, "CMake")

    def test_tests_in_other_files(self):
        placed = {"src/core/a_test.cc": "TEST(A, B) {}\n"}
        self.accepts(tidy.check_unregistered_tests, placed)
        misplaced = {"src/core/a.cc": "\nTEST(A, B) {}\n"}
        self.refuses(tidy.check_unregistered_tests, misplaced, 2, "_test")

    def test_scripts(self):
        files = {"tests/cli/a_test.py": "import runner\n", "tests/cli/runner.py": "",
                 "tools/b_test.py": ""}
        self.accepts(tidy.check_unregistered_tests, files)
        self.refuses(tidy.check_unregistered_tests, {"tests/cli/train.py": ""}, 1, "x_test.py")
        self.refuses(tidy.check_unregistered_tests, {"tests/a_test.py": ""}, 1, "nothing runs")


class Documents(CheckCase):
    def test_titles(self):
        self.accepts(tidy.check_titles, {"a.md": "# A\n\n```sh\n# a comment\n```\n## B\n"})
        self.refuses(tidy.check_titles, {"a.md": "A\n"}, 1, "first line")
        self.refuses(tidy.check_titles, {"a.md": "# A\n# B\n"}, 1, "2 titles")

    def test_links(self):
        good = ("# A\n[x](docs/b.md) [y](docs/b.md#two-words) [z](#a) [w](https://x.org/) "
                "[v](docs) `[n](nowhere)`\n")
        self.accepts(tidy.check_links, {"a.md": good, "docs/b.md": "# B\n## Two `words`\n"})
        self.refuses(tidy.check_links, {"a.md": "# A\n[x](b.md)\n"}, 2, "broken link")
        self.refuses(tidy.check_links, {"a.md": "# A\n[x](#b)\n"}, 2, "no heading #b")

    def test_named_paths(self):
        files = {"a.md": "`src/core/` `docs/b.md` `src/m/x.h`", "src/core/a.h": "", "docs/b.md": ""}
        self.accepts(tidy.check_named_paths, files)
        self.refuses(tidy.check_named_paths, {"a.md": "\n`src/gone.h`\n"}, 2, "no file")
        self.accepts(tidy.check_named_paths, {"docs/decisions/0001-a.md": "`src/gone.h`\n"})

    def test_code_map(self):
        text = "`core` <!-- layers -->\n<!-- /layers -->"
        self.accepts(tidy.check_code_map, {"ARCHITECTURE.md": text, "src/core/a.h": ""})
        self.refuses(tidy.check_code_map, {"ARCHITECTURE.md": text, "src/ps/a.h": ""}, 1, "`ps`")
        self.refuses(tidy.check_code_map, {"ARCHITECTURE.md": "# A"}, 1, "<!-- layers -->")

    def test_layer_table(self):
        page = "# A\n<!-- layers -->\nold\n<!-- /layers -->\n"
        files = {"ARCHITECTURE.md": page, "src/core/a.h": ""}
        self.refuses(tidy.check_generated_parts, files, 3, "./dev docs")
        files["ARCHITECTURE.md"] = docs.rendered(page, files)
        self.accepts(tidy.check_generated_parts, files)
        self.assertIn("| `core` |", files["ARCHITECTURE.md"])
        self.assertNotIn("| `ps` |", files["ARCHITECTURE.md"])

    def test_included_code(self):
        source = "int a;\n  // [part]\n  int b;\n  if (c) {\n    d();\n  }\n  // [/part]\n"
        page = "# A\n<!-- include: examples/x.cc#part -->\n```cpp\n{}```\nmore\n"
        good = page.format("int b;\nif (c) {\n  d();\n}\n")
        self.accepts(tidy.check_generated_parts, {"a.md": good, "examples/x.cc": source})
        for bad, line in ((page.format("int c;\nif (c) {\n  d();\n}\n"), 4), (page.format(""), 4)):
            files = {"a.md": bad, "examples/x.cc": source}
            self.refuses(tidy.check_generated_parts, files, line, "./dev docs")
            self.assertEqual(docs.rendered(bad, files), good)
        gone = {"a.md": good, "examples/x.cc": "int a;\n"}
        self.refuses(tidy.check_generated_parts, gone, 1, "no lines between")
        self.refuses(tidy.check_generated_parts, {"a.md": good}, 1, "no file examples/x.cc")
        bare = {"a.md": "# A\n<!-- include: examples/x.cc#part -->\n", "examples/x.cc": source}
        self.refuses(tidy.check_generated_parts, bare, 1, "code block")


class Lexer(unittest.TestCase):
    def test_code_without_comments_and_literals(self):
        text = 'a /* x\ny */ b // c\n"d\\"e" \'f\' 1\'000 R"(g\n")" h'
        self.assertEqual(cpp.code_of(text).split(), ["a", "b", '"', '"', "'", "'", "1'000",
                                                     '"', '"', "h"])
        self.assertEqual(cpp.code_of(text).count("\n"), text.count("\n"))

    def test_functions(self):
        text = """#define M(x) do { \\
  x; } while (0)
namespace a {
constexpr int t[] = {1, 2};
enum class E { x, y };
struct S : B<int> {
  S() : a_{1}, b_(2) {
    f();
  }
  int g() const { return 1; }
  int a_{3};
};
template <class T>
auto h(T x = {}) -> std::vector<T> {
  auto l = [&](int y) { return y; };
  return l(x);
}
TEST(A, B) {
}
}  // namespace a
"""
        found = [(f.line, f.lines, f.head) for f in cpp.functions_of(text)]
        self.assertEqual(found, [
            (7, 3, "S() : a_{1}, b_(2)"), (10, 1, "int g() const"),
            (13, 5, "template <class T> auto h(T x = {}) -> std::vector<T>"),
            (18, 2, "TEST(A, B)")])


class EveryCheck(unittest.TestCase):
    def test_is_named_in_a_test_here(self):
        with open(__file__, encoding="utf-8") as file:
            text = file.read()
        for check in tidy.CHECKS:
            self.assertTrue(f"self.refuses(tidy.{check.__name__}, " in text, check.__name__)

    def test_runs_on_this_checkout(self):
        tree = tidy.read_tree(tidy.ROOT)
        self.assertIn("tools/tidy.py", tree.texts)
        for check in tidy.CHECKS:
            list(check(tree))


if __name__ == "__main__":
    unittest.main()
