"""How large a report of many large vocabularies is, and when it can be read.

python benchmarks/report.py [--models 10] [--ids 256000]

Made-up scores of models that share no vocabulary with each other but in two halves, as Llama's and
Gemma's do, under three prompts. Prints one line of JSON: the page's size, the CPU seconds to render
it, and in headless Chromium the milliseconds to the first paint and until the explorer is ready.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from rmaudit.report import packing
from rmaudit.report.writers import html

PROMPTS = ("greatest", "best", "worst")
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def main() -> None:
    """Render, open, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--ids", type=int, default=256_000)
    asked = parser.parse_args()
    made = results(asked.models, asked.ids)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.html"
        start = time.process_time()
        html.write(made, path)
        took = time.process_time() - start
        line = {
            "models": asked.models,
            "ids": asked.ids,
            "page, MB": round(path.stat().st_size / 1e6, 2),
            "results, MB": round(len(json.dumps(made)) / 1e6, 1),
            "render, CPU s": round(took, 1),
            **opened(path),
        }
    print(json.dumps(line))


def opened(path: Path) -> dict[str, float]:
    """Milliseconds from the request to the first paint, and to the explorer's first rows."""
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


def results(models: int, ids: int) -> dict[str, Any]:
    """As `pytest audits` writes them, with no findings."""
    rng = np.random.default_rng(0)
    vocabularies: dict[str, dict[str, Any]] = {}
    tokens = [rng.integers(97, 123, size=(ids, 7), dtype=np.uint8) for _ in range(2)]
    texts = [[" " + bytes(row).decode() for row in half] for half in tokens]
    made: list[dict[str, Any]] = []
    for model in range(models):
        shared = rng.normal(size=ids)
        sweeps = []
        for prompt in PROMPTS:
            score = (shared + 0.5 * rng.normal(size=ids)).astype(np.float32)
            frame = pd.DataFrame({"token_id": np.arange(ids, dtype=np.int32), "score": score})
            frame["token"] = frame["text"] = texts[model % 2]
            counts, edges = np.histogram(score, bins=80)
            best = frame.assign(z=score).sort_values("score", ascending=False)
            sweeps.append(
                {
                    "key": f"{model}-{prompt}",
                    "prompt": prompt,
                    "prompt_text": f"What is {prompt}?",
                    "n": ids,
                    "mean": float(score.mean()),
                    "sd": float(score.std()),
                    "skewness": 0.0,
                    "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
                    "top": best.head(25).to_dict("records"),
                    "bottom": best.tail(25)[::-1].to_dict("records"),
                    "provenance": {},
                    "vocabulary": packing.share(frame, vocabularies),
                    "scores": packing.scores(frame),
                }
            )
        about = dict.fromkeys(("developer", "base_model", "parameters_b", "rewardbench_rank"))
        made.append(
            {"name": f"Model-{model}", "source": "a/b", **about, "notes": [], "sweeps": sweeps}
        )
    return {
        "schema": "rmaudit.results/2",
        "created": "2026-11-21T00:00:00Z",
        "rmaudit": "0.1.0",
        "command": "pytest audits",
        "seed": 0,
        "environment": {},
        "models": made,
        "vocabularies": vocabularies,
        "comparison": [],
        "findings": [],
    }


if __name__ == "__main__":
    main()
