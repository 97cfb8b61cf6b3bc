"""Wrong input: an error that says what and where, exit code 1, and nothing half written."""

import gzip
import os
import random
import subprocess

from support import RATINGS, Case, main, small_disk

try:
    import zstandard
except ImportError:
    zstandard = None

FEW = "1\t1\t5\n1\t2\t3\n2\t1\t4\n"


class BadRatings(Case):
    def refuse(self, content, *says, words=()):
        """In training, and in everything else that reads ratings."""
        name = self.write("bad.tsv", content)
        before = sorted(self.folder.rglob("*"))
        self.refused(
            "train", "mf", "--data", name, "--out", "model", *words, says=["bad.tsv", *says]
        )
        self.assertEqual(sorted(self.folder.rglob("*")), before, "something was left behind")
        self.refused("data", "describe", name, *words, says=["bad.tsv", *says])

    def test_empty_file(self):
        for content in ("", "\n\n", "\ufeff", "user\titem\trating\n"):
            with self.subTest(content=content):
                self.refuse(content, "found none")

    def test_missing_file_and_directory(self):
        self.refused("train", "mf", "--data", "nowhere.tsv", "--out", "model", says="nowhere.tsv")
        (self.folder / "folder").mkdir()
        self.refused(
            "train", "mf", "--data", "folder", "--out", "model", says="'folder' is a folder"
        )
        self.assertFalse((self.folder / "model").exists())

    def test_binary_junk(self):
        for seed in range(10):
            with self.subTest(seed=seed):
                self.refuse(random.Random(seed).randbytes(5000))
        self.refuse(b"\0" * 5000)

    def test_values_that_are_no_finite_number(self):
        for value in ("nan", "NaN", "inf", "-inf", "Infinity", "1e999", "", "x", "0x5", "--5"):
            with self.subTest(value=value):
                self.refuse(FEW + f"2\t2\t{value}\n", "bad.tsv:4:5", "expected")

    def test_decimal_comma(self):
        self.refuse(FEW + "2\t2\t3,5\n", "bad.tsv:4:5", "3,5")
        self.refuse("1;1;5\n1;2;3,5\n", "bad.tsv:2:5", "3,5")

    def test_one_column(self):
        self.refuse("1\n2\n3\n", "bad.tsv:1")
        self.refuse(FEW + "7\n", "bad.tsv:4")
        self.refuse(FEW + "7\t\t2\n", "bad.tsv:4")

    def test_columns_that_are_not_there(self):
        self.refuse(FEW, "bad.tsv", words=("--value-column", "9"))

    def test_the_place_is_right_far_into_a_file(self):
        lines = [f"{n % 1000}\t{n % 777}\t3\n" for n in range(200_000)]
        lines[123_455] = "17\t18\tthree\n"
        lines[180_000] = "17\n"  # the first one is reported
        self.refuse("".join(lines), "bad.tsv:123456:7", "three")

    def test_truncated_gzip(self):
        whole = gzip.compress(RATINGS.encode() * 100)
        for size in (3, 12, len(whole) // 2, len(whole) - 9, len(whole) - 1):
            with self.subTest(size=size):
                self.refuse(whole[:size])

    def test_damaged_gzip(self):
        whole = bytearray(gzip.compress(RATINGS.encode() * 100, mtime=0))
        whole[len(whole) // 2] ^= 0x10
        self.refuse(bytes(whole))

    def test_truncated_zstd(self):
        whole = zstd_of(RATINGS.encode() * 100)
        if whole is None:
            self.skipTest("no zstd to compress with")
        for size in (5, len(whole) // 2, len(whole) - 1):
            with self.subTest(size=size):
                self.refuse(whole[:size])

    def test_wrong_matrix_market(self):
        head = "%%MatrixMarket matrix coordinate real general\n"
        for content in (
            head,
            head + "2 2 3\n1 1 5\n",
            head + "2 2 1\n3 1 5\n",
            head + "2 2 1\n0 1 5\n",
            head + "2 2 1\n1 1 5\n1 2 5\n",
            head + "a b c\n",
            "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
        ):
            with self.subTest(content=content):
                self.refuse(content)

    def test_a_line_without_end(self):
        self.refuse(b"1\t1\t5\n" + b"x" * (3 << 20), "bad.tsv:2")

    def test_bad_test_and_validation_files(self):
        self.write("ratings.tsv", RATINGS)
        self.write("bad.tsv", "1\t1\tx\n")
        for option in ("--test", "--validation"):
            self.refused(
                "train",
                "mf",
                "--data",
                "ratings.tsv",
                option,
                "bad.tsv",
                "--out",
                "model",
                says="bad.tsv:1:5",
            )
            self.assertFalse((self.folder / "model").exists())

    def test_a_bad_rating_on_standard_input(self):
        self.refused("data", "describe", "-", stdin=FEW + "1\t1\tx\n", says="standard input:4:5")


class BadPlaces(Case):
    def test_unwritable_out(self):
        self.write("ratings.tsv", RATINGS)
        for out, said in (
            ("ratings.tsv/model", "'ratings.tsv' is a file"),
            ("ratings.tsv", "is a file"),
            ("/proc/castor-model", "/proc/castor-model"),
            ("/dev/null/x", "/dev/null"),
            ("x" * 300, "x" * 300),
            ("", "--out"),
        ):
            with self.subTest(out=out):
                self.refused(
                    "train",
                    "mf",
                    "--data",
                    "ratings.tsv",
                    "--out",
                    out,
                    says=said,
                    code=1 if out else 2,
                )

    def test_other_outputs_that_cannot_be_written(self):
        self.train("--clocks", 2)
        for words in (
            ("recommend", "model", "--all-users", "--out", "ratings.tsv/x"),
            ("predict", "model", "--data", "ratings.tsv", "--out", "ratings.tsv/x"),
            ("data", "split", "ratings.tsv", "--train-out", "ratings.tsv/x", "--test-out", "y"),
            ("data", "generate", "ratings", "--out", "ratings.tsv/x"),
        ):
            with self.subTest(words=words):
                self.refused(*words, says="ratings.tsv/x")
        self.assertFalse((self.folder / "y").exists(), "half a split")

    def test_full_disk(self):
        self.write("ratings.tsv", "".join(f"u{n}\ti{n % 999}\t3\n" for n in range(30_000)))
        with small_disk(self.folder / "disk", 1 << 20) as disk:
            given = ("train", "mf", "--data", "ratings.tsv", "--rank", "64", "--clocks", "1")
            self.refused(*given, "--out", "disk/model", says=["disk/model", "No space left"])
            left = [path for path in disk.rglob("*") if path.is_file()]
            self.assertEqual(left, [], "a part of a model")
            self.refused(
                "data",
                "generate",
                "ratings",
                "--out",
                "disk/ratings.tsv",
                "--ratings",
                "2e5",
                "--users",
                "2000",
                "--items",
                "1000",
                says="No space left",
            )
            self.assertEqual(list(disk.rglob("*.tsv*")), [])

    def test_full_disk_keeps_the_model_that_was_there(self):
        with small_disk(self.folder / "disk", 1 << 20):
            self.train("--clocks", 2, out="disk/model")
            before = {
                path.name: path.read_bytes() for path in (self.folder / "disk/model").iterdir()
            }
            self.write("big.tsv", "".join(f"u{n}\ti{n % 999}\t3\n" for n in range(30_000)))
            self.refused(
                "train",
                "mf",
                "--data",
                "big.tsv",
                "--rank",
                "64",
                "--clocks",
                "1",
                "--out",
                "disk/model",
                says="No space left",
            )
            after = {
                path.name: path.read_bytes()
                for path in (self.folder / "disk/model").iterdir()
                if path.is_file()
            }
            self.assertEqual(before, after)

    def test_standard_output_that_is_full(self):
        self.train("--clocks", 2)
        with open("/dev/full", "wb") as full:
            for words in (
                ("--help",),
                ("train", "mf", "--help"),
                ("data", "describe", "ratings.tsv"),
                ("recommend", "model", "--all-users"),
                ("inspect", "model"),
            ):
                with self.subTest(words=words):
                    outcome = self.castor(*words, stdout=full)
                    self.assertEqual(outcome.code, 1, outcome)
                    self.assertIn("standard output", outcome.err)

    def test_a_reader_that_goes_away(self):
        self.train("--clocks", 2)
        read_end, write_end = os.pipe()
        os.close(read_end)
        with open(write_end, "wb") as gone:
            outcome = self.castor("recommend", "model", "--all-users", "--top", "500", stdout=gone)
        self.assertEqual((outcome.code, outcome.err), (1, ""), outcome)

    def test_training_is_kept_when_the_reader_of_events_goes_away(self):
        self.write("ratings.tsv", RATINGS)
        process = self.start(
            "train",
            "mf",
            "--data",
            "ratings.tsv",
            "--out",
            "model",
            "--json",
            "--clocks",
            "100000000",
            "--quiet",
        )
        process.stdout.readline()
        process.stdout.close()
        process.wait(timeout=120)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"resume with", process.stderr.read())
        self.assertTrue(list((self.folder / "model" / "checkpoints").iterdir()))


class BadModels(Case):
    def setUp(self):
        super().setUp()
        self.train("--clocks", 2, "--biases")
        self.model = self.folder / "model"

    def refuse(self, *says):
        for words in (
            ("inspect", "model"),
            ("evaluate", "model", "--data", "ratings.tsv"),
            ("recommend", "model", "--all-users"),
            ("predict", "model", "--data", "ratings.tsv"),
        ):
            self.refused(*words, says=["model", *says])

    def test_no_model(self):
        self.refused("inspect", "nothing", says=["nothing", "model.json"])
        self.refused("inspect", "ratings.tsv", says="ratings.tsv")
        (self.model / "model.json").unlink()
        self.refuse("model.json")

    def test_any_file_missing_truncated_or_changed(self):
        for path in sorted(self.model.iterdir()):
            whole = path.read_bytes()
            changed = bytearray(whole)
            changed[len(whole) // 2] ^= 1
            for damage in (
                None,
                b"",
                whole[: len(whole) // 2],
                whole[:-1],
                whole + b"x",
                bytes(changed),
            ):
                if path.name == "model.json" and damage in (whole[:-1], bytes(changed)):
                    continue  # still a document, perhaps one that says something else
                if path.suffix == ".txt" and damage == whole[:-1]:
                    continue  # the last line end means nothing
                with self.subTest(file=path.name, size=None if damage is None else len(damage)):
                    if damage is None:
                        path.unlink()
                    else:
                        path.write_bytes(damage)
                    outcome = self.castor("inspect", "model")
                    self.assertEqual(outcome.code, 1, outcome)
                    self.assertIn("model", outcome.err)
                path.write_bytes(whole)
        self.done("inspect", "model")

    def test_documents_that_claim_too_much(self):
        path = self.model / "model.json"
        whole = path.read_text()
        for old, new in (
            ('"rank": 4', '"rank": 1000000000'),
            ('"rank": 4', '"rank": -1'),
            ('"rank": 4', '"rank": 5'),
            ('"users": 30', '"users": 4000000000'),
            ('"users": 30', '"users": 29'),
            ('"format": 1', '"format": 999'),
            ('"program": "mf"', '"program": "other"'),
            ('"ratings": ', '"ratings": "x'),
            ('"biases": true', '"biases": 3'),
        ):
            with self.subTest(new=new):
                self.assertIn(old, whole)
                path.write_text(whole.replace(old, new))
                outcome = self.castor("inspect", "model")
                self.assertEqual(outcome.code, 1, outcome)

    def test_unknown_users(self):
        self.refused(
            "recommend", "model", "--user", "1", "nobody", says="user 'nobody' is not in the model"
        )
        self.write("users.txt", "1\n\nnobody\n")
        self.refused(
            "recommend", "model", "--users", "users.txt", says="users.txt:3: user 'nobody'"
        )
        self.write("users.txt", "\n")
        self.refused("recommend", "model", "--users", "users.txt", says="users.txt")
        self.refused("recommend", "model", "--users", "none.txt", says="none.txt")

    def test_a_warm_start_that_does_not_fit(self):
        given = ("train", "mf", "--data", "ratings.tsv", "--out", "new", "--warm-start", "model")
        self.refused(*given, "--rank", "9", "--biases", says="rank")
        self.refused(*given, "--rank", "4", says="biases")
        self.refused(
            "train",
            "mf",
            "--data",
            "ratings.tsv",
            "--out",
            "new",
            "--warm-start",
            "nothing",
            says="nothing",
        )
        self.assertFalse((self.folder / "new").exists())


def zstd_of(content):
    if zstandard is not None:
        return zstandard.ZstdCompressor().compress(content)
    try:
        return subprocess.run(["zstd", "-c"], input=content, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    main()
