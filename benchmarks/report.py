"""Measure the size and the loading time of a report on many models with large vocabularies.

python -m benchmarks.report [--models 10] [--ids 256000]

Made-up scores of models that share no vocabulary with each other but in two halves, as Llama's and
Gemma's do, under three prompts. Prints one line of JSON: the page's size, the CPU seconds to render
it, and in headless Chromium the milliseconds to the first paint and until the explorer is ready.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from benchmarks.harness import arguments, say, timed
from rmaudit.config.model_registry import ModelSpec
from rmaudit.report import json_codec
from rmaudit.report.page import html_page
from rmaudit.report.results_document import Results, Run
from rmaudit.report.results_of_run import SweepRecord, collect

PROMPTS = ("greatest", "best", "worst")
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def main() -> None:
    """Render a made-up report, open it in a browser, and print its size and times."""
    parser = arguments(__doc__)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--ids", type=int, default=256_000)
    asked = parser.parse_args()
    made = results(asked.models, asked.ids)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.html"
        once = timed(lambda: path.write_text(html_page.render(made), encoding="utf-8"))
        line = {
            "models": asked.models,
            "ids": asked.ids,
            "page, MB": round(path.stat().st_size / 1e6, 2),
            "results, MB": round(len(json_codec.encode(made)) / 1e6, 1),
            "render, CPU s": round(once.cpu, 1),
            **opened(path),
        }
    say("report", **line)


def opened(path: Path) -> dict[str, float]:
    """Open the page in Chromium; return milliseconds to first paint and to the explorer's rows."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("#explorer[data-ready]", state="attached", timeout=120_000)
        ready = 1000 * (time.perf_counter() - start)
        paint = page.evaluate(FIRST_PAINT)
        browser.close()
    return {"first paint, ms": round(paint), "explorer ready, ms": round(ready)}


def results(models: int, ids: int) -> Results:
    """Return made-up results as `pytest audits` writes them, with no findings and no comparison."""
    rng = np.random.default_rng(0)
    tokens = [rng.integers(97, 123, size=(ids, 7), dtype=np.uint8) for _ in range(2)]
    texts = [[" " + bytes(row).decode() for row in half] for half in tokens]
    records = []
    for model in range(models):
        shared = rng.normal(size=ids)
        for prompt in PROMPTS:
            score = (shared + 0.5 * rng.normal(size=ids)).astype(np.float32)
            frame = pd.DataFrame({"token_id": np.arange(ids, dtype=np.int32), "score": score})
            frame["token"] = frame["text"] = texts[model % 2]
            asked, key = f"What is {prompt}?", f"{model}-{prompt}"
            records.append(SweepRecord(f"Model-{model}", prompt, asked, key, frame, {}))
    specs = [ModelSpec(f"Model-{model}", "a/b") for model in range(models)]
    run = Run(
        *("2026-11-21T00:00:00Z", "0.1.0", "pytest audits", 0, {}, 0, 0, 0),
        interrupted=False,
        part="",
        sample=None,
    )
    return replace(collect(run, specs, records, []), comparison=())


if __name__ == "__main__":
    main()
