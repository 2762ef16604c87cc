"""What 0.2 removed, and what to use instead: commands, options and keys of models.yaml.

Each sentence completes "was removed in 0.2: ".
"""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "report": "use `rmaudit replay RESULTS`, which writes the page too",
    "import": "use `rmaudit data import`",
}
OPTIONS: dict[str, str] = {  # of pytest, with their dashes
    "--rm-blessed": "put the file into blessed/ beside models.yaml, or delete it there",
    "--rm-gpus": "use `rmaudit sweep --on ray --gpus N`",
    "--rm-inconclusive": "use `severity:` or `waivers:` of models.yaml",
    "--rm-ledger": "copy the file into the folder ledger/ of the cache",
    "--rm-missing": "use --rm-gate, which is red unless the run PASSES",
    "--rm-workers": "use `rmaudit sweep --on ray --workers N`",
}
KEYS: dict[str, str] = {}  # of models.yaml, of an entry or the file
AUDITS: dict[str, str] = {}  # by name
