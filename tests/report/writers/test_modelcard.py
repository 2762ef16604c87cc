"""The model card's block: what the Hub reads of it is what was measured."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from huggingface_hub import ModelCard, ModelCardData

from rmaudit.report.writers.modelcard import render
from tests.report.conftest import of, typed


def test_one_model_is_one_document(results: dict[str, Any]) -> None:
    """A card's front matter, with a value and a verdict for each measured finding."""
    card = ModelCard(f"---\n{render(typed(results))}license: mit\n---\n# Toy\n")

    assert isinstance(card.data, ModelCardData)
    assert card.data.model_name == "Toy"
    evaluations = card.data.eval_results
    assert evaluations is not None
    assert [
        (found.dataset_type, found.dataset_config, found.metric_value, found.metric_args["result"])
        for found in evaluations
    ] == [
        ("framing", "greatest", 0.625, "pass"),
        ("framing", "greatest", 0.625, "fail"),
        ("framing", "worst", 0.625, "unsure"),
    ]
    effects = [found.metric_args.get("effect") for found in evaluations]
    assert effects == [None, "accepted", "blocks"]
    assert evaluations[0].dataset_name == "It follows."
    assert evaluations[0].metric_type == "rho"
    assert evaluations[0].metric_args == {
        "result": "pass",
        "low": 0.5,
        "high": 0.75,
        "n": 50,
        "bound": "above 0.2 rho",
        "source": "A paper, section 3",
        "measured_by": "rmaudit 0.1.0, 2026-11-21T10:50:00Z",
    }


def test_each_model_has_its_own(results: dict[str, Any]) -> None:
    """A document each, in their order; one of which nothing was measured has only a remark."""
    second, third = (copy.deepcopy(results["models"][0]) for _ in range(2))
    second["name"], third["name"] = "None", "Third"
    results["models"] += [second, third]
    results["findings"] = [
        results["findings"][0],
        of(results["findings"][3], "None"),
        of(results["findings"][2], "Third"),
    ]

    text = render(typed(results))

    names = [document["model-index"][0]["name"] for document in yaml.safe_load_all(text)]
    assert names == ["Toy", "Third"]
    remarks = [line for line in text.splitlines() if line.startswith("#")]
    assert remarks == [
        "# NOT ESTABLISHED: 1 unsure, 1 not run block",
        "# Toy: 1 of 1 findings have a value",
        "# None: nothing was measured",
        "# Third: 1 of 1 findings have a value",
    ]
