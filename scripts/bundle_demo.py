"""Write the bundled results that `rmaudit demo` shows, from a whole run of R-Smol-135M.

python -m scripts.bundle_demo REPORT/results.json

The run is `pytest audits`, with the reference data (RMAUDIT_DATA). What names this machine is
replaced: its platform, and each finding's command and folders by those of the default run.
"""

from __future__ import annotations

import gzip
import re
import sys
from dataclasses import replace
from pathlib import Path

from rmaudit.cli.run_demo import BUNDLED
from rmaudit.report import json_codec, results_reader
from rmaudit.report.results_document import Results

MODEL = "R-Smol-135M"
_OPTIONS = re.compile(r" --rm-(?:cache|report)[ =]\S+")


def bundled(results: Results) -> Results:
    """Return the results without what names the machine: its platform, folders and options.

    Raises:
        ValueError: they are of another model, or not of a whole run.
    """
    if [model.name for model in results.models] != [MODEL] or results.run.gaps:
        raise ValueError(f"the results of a whole run of {MODEL} alone are needed")
    run = replace(
        results.run,
        command="pytest audits",
        environment={**results.run.environment, "platform": "Linux"},
    )
    findings = tuple(
        replace(each, claim=replace(each.claim, repeat=_OPTIONS.sub("", each.claim.repeat)))
        for each in results.findings
    )
    figures = tuple(replace(each, repeat=_OPTIONS.sub("", each.repeat)) for each in results.figures)
    return replace(results, run=run, findings=findings, figures=figures)


def main() -> None:
    """Write the bundled file from the results.json that is named on the command line.

    It exits with a message if the results name folders of this machine.
    """
    (given,) = sys.argv[1:]
    text = json_codec.encode(bundled(results_reader.read(Path(given)))) + "\n"
    if "/tmp" in text or str(Path.home()) in text:  # noqa: S108  (looked for, not used)
        raise SystemExit("the results name folders of this machine")
    BUNDLED.parent.mkdir(exist_ok=True)
    BUNDLED.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{BUNDLED.name}: {BUNDLED.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
