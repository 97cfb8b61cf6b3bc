"""The demonstration: makes ratings, trains a recommendation model, and uses it."""

import shutil
import time

import build
from shell import ROOT, run, say

FOLDER = "runs/demo"

STEPS = (
    ("Make a data set with a known structure: 200,000 ratings of 1,000 items by 2,000 users",
     "data generate ratings --out {d}/ratings.tsv --users 2000 --items 1000 --ratings 200000 "
     "--seed 1"),
    ("Put a tenth of it aside, to judge the model by",
     "data split {d}/ratings.tsv --test 0.1 --seed 1 --train-out {d}/train.tsv "
     "--test-out {d}/test.tsv"),
    ("Train a matrix factorization",
     "train mf --data {d}/train.tsv --test {d}/test.tsv --out {d}/model --rank 32 --clocks 20"),
    ("Judge it on ratings it has not seen", "evaluate {d}/model --data {d}/test.tsv"),
    ("Ask it what user 1 would like", "recommend {d}/model --user 1 --top 5"),
)

NEXT = """
The model is in {d}/model. To go on:
  build/castor recommend {d}/model --user 7 --top 10
  build/castor train mf --help
  build/castor train mf --data YOUR_RATINGS.tsv --out runs/mine"""


def run_demo():
    folder = build.build("release", ["castor"])
    program = (folder / "castor").relative_to(ROOT)
    shutil.rmtree(ROOT / FOLDER, ignore_errors=True)
    (ROOT / FOLDER).mkdir(parents=True)
    start = time.monotonic()
    for title, words in STEPS:
        say(f"\n# {title}")
        run([program, *words.format(d=FOLDER).split()], echo=True)
    say(f"\nAll of that took {time.monotonic() - start:.1f} s.")
    say(NEXT.format(d=FOLDER))
