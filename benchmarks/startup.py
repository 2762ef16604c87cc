"""What a user waits for when nothing is to be scored: import, collection, a fully cached run.

python benchmarks/startup.py [MODEL]

Each is the best of three processes; the first cached run is not counted, since it may score.
Prints one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time

ROUNDS = 3


def main() -> None:
    """Measure, and print."""
    model = ["--rm-model", sys.argv[1]] if len(sys.argv) > 1 else []
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    with tempfile.TemporaryDirectory() as reports:
        audits = [*pytest, "audits", "--rm-report", reports, *model]
        _seconds(audits)
        report = {
            "benchmark": "startup",
            "python_s": _best([sys.executable, "-c", ""]),
            "import_rmaudit_s": _best([sys.executable, "-c", "import rmaudit"]),
            "import_plugin_s": _best([sys.executable, "-c", "import rmaudit.plugin"]),
            "import_pytest_s": _best([sys.executable, "-c", "import pytest"]),
            "collect_s": _best([*pytest, "--collect-only", "audits"]),
            "cached_run_s": _best(audits),
        }
    print(json.dumps(report))


def _best(command: list[str]) -> float:
    return round(min(_seconds(command) for _ in range(ROUNDS)), 2)


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  (this project only)
    if done.returncode not in {0, 1}:  # a failed audit was measured too
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
