"""Render the training simulator: a slider shows a policy's answers after more and more training.

Everything that it shows was computed by `after_training`; the page's script only picks a stage.
Without scripts the chart and the table of the same evidence stand in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from rmaudit.measures.after_training_evidence import AfterTrainingEvidence, Stage
from rmaudit.references.offensive_text_masks import label, masked
from rmaudit.report.page.template_files import part, template
from rmaudit.report.safe_text import line, visible
from rmaudit.verdicts.findings import Figure

SCRIPT, STYLE = template("simulator.js"), template("simulator.css")

_NUMBERS = {  # of a stage, in words
    "nats": "KL from the start, nats",
    "happiness": "mean happiness (labMT)",
    "variety": "effective number of words",
    "zipf": "mean Zipf frequency",
}


def simulator(figures: Sequence[Figure], name: str) -> Markup:
    """Render a slider, labelled `name`, over a policy's answers in training; "" without evidence.

    Its page must have `STYLE`, and let `SCRIPT` run once.
    """
    stages = [
        stage
        for figure in figures
        if figure.estimate and isinstance(figure.estimate.evidence, AfterTrainingEvidence)
        for stage in figure.estimate.evidence.stages
    ]
    if not stages:
        return Markup()
    return part("simulator.html.jinja", data=_data(stages), name=name)


def _data(stages: Iterable[Stage]) -> dict[str, Any]:
    """Return the data of the page's script: words, and each prompt's stages of training."""
    words: dict[str, int] = {}
    figures: list[str] = []
    prompts: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for stage in stages:
        both = prompts.setdefault(line(stage.prompt), {"nats": [], "draws": []})
        shares = {"without a letter": stage.letterless}
        shares |= {own.name: own.share for own in stage.listed}
        figures = [*_NUMBERS.values(), *(f"answers: {name}" for name in shares)]
        shown = {
            "how": stage.how,
            "at": stage.draws or stage.nats,
            "figures": [*(getattr(stage, name) for name in _NUMBERS), *shares.values()],
            "likely": [
                [words.setdefault(each.word, len(words)), each.before, each.after]
                for each in stage.likely
            ],
        }
        both["draws" if stage.draws else "nats"].append(shown)
        if not stage.draws and not stage.nats:
            both["draws"].append(shown | {"at": 1})
    named = [[visible(word), label(word) if masked(word) else None] for word in words]
    return {"words": named, "prompts": prompts, "figures": figures}
