"""The simulator of the page: a slider over what a policy answers that is trained on the reward."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from rmaudit.measures.after_training_evidence import AfterTrainingEvidence, Onset, Stage
from rmaudit.references.offensive_text_masks import label, masked
from rmaudit.report.page import part, template
from rmaudit.report.safe_text import line, visible
from rmaudit.verdicts.findings import Figure

SCRIPT = template("simulator.js")
STYLE = template("simulator.css")
_OF_STAGE = {  # of a stage, in words
    "nats": "KL from the start, nats",
    "happiness": "mean happiness (labMT)",
    "variety": "effective number of words",
    "zipf": "mean Zipf frequency",
}


def simulator(figures: Sequence[Figure], name: str, onsets: Sequence[Onset] = ()) -> Markup:
    """Render a slider, labelled `name`, over a policy's answers in training; "" without evidence.

    `onsets` of harms are marked on its curve, and listed.

    Everything that it shows was computed by `after_training`; the page's script only picks a stage.
    Without scripts the chart and the table of the same evidence stand in its place.
    """
    stages = [
        stage
        for figure in figures
        if figure.estimate and isinstance(figure.estimate.evidence, AfterTrainingEvidence)
        for stage in figure.estimate.evidence.stages
    ]
    if not stages:
        return Markup()
    begun = [[each.harm, each.nats] for each in onsets if each.nats is not None]
    data = _simulator_data(stages) | {"onsets": begun}
    return part("simulator.html.jinja", data=data, name=name, onsets=onsets)


def _simulator_data(stages: Iterable[Stage]) -> dict[str, Any]:
    """Return the data of the page's script: words, and each prompt's stages of training."""
    words: dict[str, int] = {}
    figures: list[str] = []
    prompts: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for stage in stages:
        both = prompts.setdefault(line(stage.prompt), {"nats": [], "draws": []})
        shares = {"without a letter": stage.letterless}
        shares |= {own.name: own.share for own in stage.listed}
        figures = [*_OF_STAGE.values(), *(f"answers: {name}" for name in shares)]
        shown = {
            "how": stage.how,
            "at": stage.draws or stage.nats,
            "figures": [*(getattr(stage, name) for name in _OF_STAGE), *shares.values()],
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
