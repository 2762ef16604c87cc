"""Time what a user waits for when nothing is to be scored: import, collection, a cached run.

python -m benchmarks.startup [MODEL]

Each is the median of three processes, which take turns; the first cached run is not counted, since
it may score. Prints one line of JSON.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.harness import arguments, interleaved, say, seconds

ROUNDS = 3


def main() -> None:
    """Run the commands in turn, and print the median seconds of each."""
    parser = arguments(__doc__)
    parser.add_argument("model", nargs="?")
    named = parser.parse_args().model
    model = ["--rm-model", named] if named else []
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    with tempfile.TemporaryDirectory() as reports:
        audits = [*pytest, "audits", "--rm-report", reports, *model]
        _run(audits)
        commands = {
            "python_s": [sys.executable, "-c", ""],
            "import_rmaudit_s": [sys.executable, "-c", "import rmaudit"],
            "import_plugin_s": [sys.executable, "-c", "import rmaudit.plugin"],
            "import_pytest_s": [sys.executable, "-c", "import pytest"],
            "collect_s": [*pytest, "--collect-only", "audits"],
            "cached_run_s": audits,
        }
        ways = {name: partial(_run, command) for name, command in commands.items()}
        times = interleaved(ways, ROUNDS)
    say("startup", **{name: round(seconds(each), 2) for name, each in times.items()})


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  (this project only)
    if done.returncode not in {0, 1}:  # a failed audit was measured too
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
