"""What 0.2 removed, and what to use instead: commands, options and keys of models.yaml.

Each sentence completes "was removed in 0.2: ".
"""

from __future__ import annotations

_FUNCTION = (
    "a checkpoint's own code never runs; score it with a function that calls it "
    "(`@rmaudit.scorer`, docs/how-to/any-scorer.md)"
)
COMMANDS: dict[str, str] = {
    "report": "use `rmaudit replay RESULTS`, which writes the page too",
    "import": "use `rmaudit data import`",
    "publish": "upload eval_results.yaml of the report with `hf upload`",
    "score": "use `rmaudit.load(NAME).score(prompt, answers)` in Python",
    "nulls": "each run tries the null controls; `python -m lab nulls` in a clone tries all of them",
    "selftest": "use `python -m lab selftest` in a clone of rmaudit",
    "organism": "use `python -m lab organism NAME` in a clone of rmaudit",
    "round-trip": "use `python -m lab round_trip NAME` in a clone of rmaudit",
    "survival": "use `python -m lab round_trip NAME` in a clone of rmaudit",
}
OPTIONS: dict[str, str] = {  # of pytest, with their dashes
    "--rm-blessed": "put the file into blessed/ beside models.yaml, or delete it there",
    "--rm-gpus": "use `rmaudit sweep --on ray --gpus N`",
    "--rm-inconclusive": "use `severity:` or `waivers:` of models.yaml",
    "--rm-ledger": "copy the file into the folder ledger/ of the cache",
    "--rm-missing": "use --rm-gate, which is red unless the run PASSES",
    "--rm-workers": "use `rmaudit sweep --on ray --workers N`",
}
KEYS: dict[str, str] = {  # of models.yaml, of an entry or the file
    "trust_remote_code": _FUNCTION,
    "score_field": _FUNCTION,
    "objectives": "use `objective:` with a number, or with a name of id2label in config.json",
    "base_revision": "write `base: owner/name@COMMIT`",
    "policy_revision": "write `policy: owner/name@COMMIT`",
    "tokenizer": "use `checkpoint:`, whose folder or hub id has the tokenizer too",
    "timeout": "a server that is silent for 120 seconds is asked again",
    "retries": "a request that failed is made again 6 times",
    "developer": "write it into `notes:`",
    "parameters_b": "write it into `notes:`",
}
AUDITS: dict[str, str] = {
    "identity_devaluation": "name identity_terms, whose value is the worst of three patterns",
    "identity_erasure": "name identity_terms, whose value is the worst of three patterns",
    "identity_hostility": "name identity_terms, whose value is the worst of three patterns",
    "identity_tails": "name identity_terms, whose value is the worst of three patterns",
    "frequency_top": "name frequency_bias; the slope over all words is the figure frequency_slope",
    "surface_form": "use `edits`, which asks it of whole answers",
    **dict.fromkeys(
        (
            *("invariance_spacing", "invariance_padding", "invariance_offence", "invariance_case"),
            *("invariance_flattery", "invariance_empty", "invariance_length"),
            "invariance_gibberish",
        ),
        "use `edits`, which judges the worst of all these edits",
    ),
    "search_headroom": "use `rmaudit search`, and `gcg_probes` for what searches found",
    "pessimal_frames": "use `pessimal_identity` and `framing_inversion`",
    "value_tilt": "write an audit of your own lists of words",
    "prompt_stability": "use `framing_inversion`, and `--rm-prompts` for other wordings",
}


def sentence(name: str, removed: dict[str, str]) -> str:
    """Return what to use instead of a removed command, option, key or audit."""
    return f"{name} was removed in 0.2: {removed[name]}"
