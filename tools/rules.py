"""The rules that tidy.py holds the sources to, as data. STYLE.md gives the reasons."""

from typing import NamedTuple

LINE_MAX = 100       # columns
FUNCTION_MAX = 70    # lines
FILE_MAX = 800       # lines


class Layer(NamedTuple):
    imports: tuple     # modules whose headers it may include, besides its own
    does: str          # one line for ARCHITECTURE.md
    fences: tuple = ()  # (library, files that may include it)


EVERYTHING = ("*",)

# Lowest first. A module that has no folder yet is the plan for it, and is not printed.
LAYERS = {
    "core": Layer((), "errors, checks, bytes, random streams, option fields, log",
                  (("fmt", ("text.cc", "log.cc")), ("toml++", ("toml.cc",)),
                   ("nlohmann", ("json.cc",)), ("zstd", ("compress.cc",)))),
    "kernels": Layer(("core",), "numeric loops over spans"),
    "world": Layer(("core",), "the seam: time, timers, files, threads, transports",
                   (("POSIX", ("*_posix.cc", "real_world.cc")), ("epoll", ("tcp_transport.cc",)))),
    "data": Layer(("core", "world"), "reading and writing data sets, sharding",
                  (("zlib", ("inflate.cc",)), ("zstd", ("inflate.cc",)))),
    "ps": Layer(("core", "kernels", "world"), "tables, updates, consistency, placement"),
    "schedule": Layer(("core", "kernels"), "order of tasks inside a job"),
    "goodput": Layer(("core", "kernels"), "throughput and efficiency models"),
    "job": Layer(("core", "kernels", "world", "ps", "schedule", "goodput"),
                 "the runtime that runs a program: workers, checkpoints, recovery"),
    "programs": Layer(("core", "kernels", "data", "job"), "the ML programs, one file each"),
    "cluster": Layer(("core", "goodput"), "nodes, jobs, quotas, policies"),
    "trace": Layer(("core", "goodput", "cluster", "world/sim"), "the cluster simulator",
                   (("qhull", ("delaunay.cc",)),)),
    "control": Layer(("core", "world", "goodput", "cluster", "job"), "the controller daemon",
                     (("httplib", ("http.cc",)), ("sqlite", ("store.cc",)))),
    "cli": Layer(EVERYTHING, "the command line: one cmd_*.cc per subcommand"),
}

# Folders outside src/ that include its headers. None of them may reach third-party code
# but through the test and benchmark libraries below.
OUTSIDE = {
    "tests": EVERYTHING,
    "bench": EVERYTHING,
    "examples": ("core", "kernels", "data", "job", "programs"),
}

# Which header belongs to which library. A pattern is matched from the start of the included path.
LIBRARIES = {
    "fmt": r"fmt/",
    "toml++": r"toml\+\+/",
    "nlohmann": r"nlohmann/",
    "zstd": r"zstd\w*\.h",
    "zlib": r"zlib\.h",
    "httplib": r"httplib",
    "sqlite": r"sqlite3",
    "qhull": r"libqhull",
    "googletest": r"g(test|mock)/",
    "google benchmark": r"benchmark/",
    "epoll": r"sys/e(poll|ventfd)\.h",
    "POSIX": r"(sys/\w+|netinet/\w+|arpa/\w+|unistd|fcntl|dirent|poll|pthread|sched|signal|time|"
             r"netdb|dlfcn|spawn|termios|errno|string|strings|stdlib|stdio)\.h",
    "stack traces": r"(execinfo|cxxabi)\.h",
    "vector instructions": r"\w*intrin\.h|cpuid\.h",
}

# Uses of a library beyond the module fences above: file patterns from the root of the repository.
ALSO_ALLOWED = {
    "googletest": ("src/*_test.cc", "tests/*", "src/core/property.h"),
    "google benchmark": ("src/*_bench.cc", "bench/*.cc"),
    "POSIX": ("src/core/check.cc", "src/core/aligned.cc", "src/cli/*.cc", "src/world/*_test.cc",
              "tests/*"),
    "stack traces": ("src/core/check.cc",),
    "vector instructions": ("src/kernels/*_avx2.cc", "src/kernels/*_avx512.cc",
                            "src/kernels/cpu.cc"),
}

STANDARD = frozenset("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath compare complex concepts condition_variable coroutine csetjmp
csignal
cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar deque exception execution
filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd iostream
istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric
optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
source_location span sstream stack stdexcept stop_token streambuf string string_view syncstream
system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility
valarray variant vector version
""".split())


class Ban(NamedTuple):
    pattern: str        # regular expression on code without comments and literals
    instead: str        # what to use
    allowed: tuple = ()  # file patterns where it is the right thing


FENCES = ("src/core/text.cc", "src/core/log.cc", "src/core/toml.cc", "src/core/json.cc",
          "src/control/http.cc", "src/cli/options.cc")
TESTS = ("src/*_test.cc", "tests/*")
PEOPLE = ("src/cli/*", "examples/*", "src/*_bench.cc", "bench/*", "tests/*")  # print, time, exit

BANS = (
    Ban(r"\b(steady|system|high_resolution)_clock\b|\bclock_gettime\b|\bgettimeofday\b",
        "World::now()", ("src/world/*_posix.cc", "src/world/real_world.cc")),
    Ban(r"\bstd::(recursive_|timed_|shared_)*mutex\b|\bstd::(scoped|shared|unique)_lock\b|"
        r"\bstd::(lock_guard|condition_variable\w*)\b|"
        r"#\s*include\s*<(mutex|shared_mutex|condition_variable)>",
        "Mutex, MutexLock and CondVar of core/mutex.h", ("src/core/mutex.h",)),
    Ban(r"\bstd::(jthread|thread|async)\b|\bpthread_create\b|#\s*include\s*<(thread|future)>",
        "world::Pool",
        ("src/world/pool.cc", "src/world/*_transport.cc", "src/cli/*.cc",
         "src/core/*_test.cc", "src/world/*_test.cc")),
    Ban(r"\.detach\(\)", "a thread that is joined"),
    Ban(r"\bs?rand\s*\(|\brandom_device\b|\bmt19937(_64)?\b|\bdefault_random_engine\b|"
        r"\bstd::\w+_distribution\b|#\s*include\s*<random>|\bstd::(random_)?shuffle\b|"
        r"\bstd::sample\b",
        "Rng of core/rng.h: the standard's distributions differ between libraries"),
    Ban(r"\b(secure_)?getenv\b|\bsetenv\b", "an option: the environment is read in cli/ only",
        ("src/cli/*", "tests/support/*")),
    Ban(r"\bsleep_(for|until)\b|\b(u|nano)?sleep\s*\(",
        "a timer of World, or simulated time in tests",
        ("src/world/*_posix.cc", "src/world/real_world.cc")),
    Ban(r"\b(throw|catch)\b|\btry\s*\{", "Result<T> (core/result.h)",
        (*FENCES, "src/cli/main.cc", "src/job/task_boundary.cc", "src/job/*_test.cc",
         "src/world/pool.cc")),
    Ban(r"(?<!operator )\bnew\b(?!\s*\()(?!>)", "std::make_unique, or a container",
        ("src/core/aligned.*",)),
    Ban(r"(?<!=)(?<!= )(?<!operator )\bdelete\b", "an owner (std::unique_ptr, a container)",
        ("src/core/aligned.*",)),
    Ban(r"\b(malloc|calloc|realloc|free)\s*\(", "a container, or AlignedVector (core/aligned.h)",
        ("src/core/aligned.*",)),
    Ban(r"#\s*include\s*<iostream>|\bstd::(cout|cerr|clog|cin)\b|\b(f|v|vf)?printf\s*\(|"
        r"\bf?puts\s*\(|\bfwrite\s*\(",
        "Log (core/log.h): only cli/ prints", PEOPLE),
    Ban(r"#\s*include\s*<regex>", "a few lines of code: <regex> is slow to build and to run"),
    Ban(r"\bstd::(ranges::)?views\b|\bviews::", "a loop or an algorithm of std::ranges"),
    Ban(r"\busing\s+namespace\b", "qualified names, or a using-declaration of one name"),
    Ban(r"#\s*include\s*<(fstream|filesystem)>|\bstd::[io]?fstream\b|\bfopen\s*\(", "world::Files",
        PEOPLE + TESTS),
    Ban(r"(?<!_)\bassert\s*\(|#\s*include\s*<cassert>", "CHECK or DCHECK (core/check.h)"),
    Ban(r"\bstd::(exit|quick_exit|_Exit|abort|terminate)\b|\b_exit\s*\(",
        "CHECK, or return a Result",
        ("src/core/check.cc", *PEOPLE)),
    Ban(r"\b__(DATE|TIME|TIMESTAMP)__\b", "nothing: a build must not depend on when it was made"),
    Ban(r"\bNULL\b", "nullptr"),
)

# Names that say nothing about what is inside.
EMPTY_NAMES = ("util", "utils", "common", "misc", "helper", "helpers", "stuff")

TODO_TYPES = ("now", "soon", "someday", "perf", "security")
TODO_REFUSED = ("now",)
