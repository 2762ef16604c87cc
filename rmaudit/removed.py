"""What 0.2 removed, and what to use instead: commands, options and keys of models.yaml.

Each sentence completes "was removed in 0.2: ".
"""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "report": "use `rmaudit replay RESULTS`, which writes the page too",
    "import": "use `rmaudit data import`",
}
OPTIONS: dict[str, str] = {}  # of pytest, with their dashes
KEYS: dict[str, str] = {  # of models.yaml, of an entry or the file
    "trust_remote_code": "a checkpoint's own code never runs; score it with a function that calls "
    "it (`@rmaudit.scorer`, docs/how-to/any-scorer.md)",
    "score_field": "a checkpoint's own code never runs; score it with a function that calls it "
    "(`@rmaudit.scorer`, docs/how-to/any-scorer.md)",
}
AUDITS: dict[str, str] = {}  # by name
