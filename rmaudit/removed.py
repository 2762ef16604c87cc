"""What 0.2 removed, and what to use instead: commands, options and keys of models.yaml.

Each sentence completes "was removed in 0.2: ".
"""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "report": "use `rmaudit replay RESULTS`, which writes the page too",
    "import": "use `rmaudit data import`",
}
OPTIONS: dict[str, str] = {}  # of pytest, with their dashes
KEYS: dict[str, str] = {}  # of models.yaml, of an entry or the file
AUDITS: dict[str, str] = {  # by name
    "surface_form": "use `invariance_case` and `invariance_spacing`, which ask it of whole answers",
    "search_headroom": "use `rmaudit search`, and `gcg_probes` for what searches found",
    "pessimal_frames": "use `pessimal_identity` and `framing_inversion`",
    "value_tilt": "write an audit of your own lists of words",
    "prompt_stability": "use `framing_inversion`, and `--rm-prompts` for other wordings",
}
