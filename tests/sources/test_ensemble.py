"""An ensemble's reward is the formula's, of its members' own, whichever answers are asked."""

from __future__ import annotations

import json
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import rmaudit
from rmaudit.config.model_registry import load_registry
from rmaudit.errors import ModelError, NoGradient, NoWeights, SpecError
from rmaudit.models import model_factory
from rmaudit.references.text_changes import BUNDLED
from tests.models.loaded import rows_of
from tests.servers import Running, Served, by_hash
from tests.toys import TEMPLATE, WORDS, toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city?"
ANSWERS = ["love", "war", "peace and love", "the table of the city", ""]
MEMBERS = "  a: {source: ./a, default: true}\n  b: {source: ./b}\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two toys of one tokenizer; `c` has another one, `d` another template for system prompts."""
    home = tmp_path_factory.mktemp("ensemble")
    for seed, name in enumerate("ab"):
        toy_checkpoint(home / name, seed=seed)
    toy_checkpoint(home / "c", tokenizer=toy_tokenizer(("green", "blue", *WORDS)))
    other = "{%- if messages[0]['role'] == 'system' -%}{{- 'New' -}}{%- endif -%}" + TEMPLATE
    toy_checkpoint(home / "d", seed=3, tokenizer=toy_tokenizer(template=other))
    return home


def opened(
    home: Path, keys: str = "", *, members: str = "a, b", name: str = "ours", more: str = ""
) -> Any:
    """The model of an entry with these keys of `ensemble`, or of another entry (of `more`)."""
    path = home / "models.yaml"
    others = f"  c: {{source: ./c}}\n  d: {{source: ./d}}\n{more}"
    entry = f"  ours: {{ensemble: {{members: [{members}], {keys}}}}}\n" if keys else ""
    path.write_text(f"models:\n{MEMBERS}{others}{entry}")
    return rmaudit.load(name, registry=path, cache=home / "cache")


@cache
def standardised(home: Path, name: str) -> Any:
    """Those of a member."""
    return standard(opened(home, name=name))


def standard(model: Any) -> Any:
    """A model's rewards, less their mean over the bundled pairs, in sd within prompts there."""
    lines = [json.loads(line) for line in BUNDLED.read_text(encoding="utf-8").splitlines()]
    pairs = sorted(
        (line["prompt"], line[side]) for line in lines for side in ("chosen", "rejected")
    )
    own = [
        model.score(prompt, [answer for _, answer in same]).astype(float)
        for prompt, same in groupby(pairs, key=itemgetter(0))
    ]
    within = np.concatenate([each - each.mean() for each in own])
    scores = model.score(PROMPT, ANSWERS).astype(float)
    return (scores - np.concatenate(own).mean()) / np.sqrt((within**2).mean())


@pytest.mark.slow
@pytest.mark.parametrize("members", ["ab", "abc"])
def test_it_is_the_formula_of_its_members(home: Path, members: str) -> None:
    """Of token ids where they share a tokenizer, else of texts; also of one answer alone."""
    each = np.array([standardised(home, name) for name in members])
    expected = {"rule: mean-sd, k: 0.5": each.mean(axis=0) - 0.5 * each.std(axis=0)}
    if members == "ab":
        expected["rule: minimum"] = each.min(axis=0)
    for keys, rewards in expected.items():
        model = opened(home, keys, members=", ".join(members))
        assert model.takes == ("token ids" if members == "ab" else "texts")
        assert model.score(PROMPT, ANSWERS) == pytest.approx(rewards, abs=1e-3)
        assert model.score(PROMPT, ANSWERS[:1]) == pytest.approx(rewards[:1], abs=1e-3)
        assert [label for label, _ in model.look()].count("member") == len(members)
        if members == "ab":
            rows = rows_of(model, PROMPT, ANSWERS)
            assert model.score_rows(rows) == pytest.approx(rewards, abs=1e-3)
            assert model.own_rewards(rows) == pytest.approx(rewards, abs=1e-3)


@pytest.mark.slow
def test_it_is_swept_like_any_other(home: Path) -> None:
    """Every token id; its noise is measured, and the report says what it is made of."""
    model = opened(home, "rule: minimum")
    sweep = rmaudit.sweep(model, "best", cache=home / "store")
    assert len(sweep.frame) == len(model.vocabulary().ids)
    assert sweep.noise < 1e-3 * sweep.frame["score"].std()
    assert sweep.provenance["path"] == "minimum of a, b"


@pytest.mark.slow
def test_scores_are_known_by_members_rule_and_k(home: Path) -> None:
    """Another of these is another reward; another name is not."""
    asked = ("mean", "minimum", "mean-sd", "mean-sd, k: 0.5", "mean-sd, k: 0.50000001")
    found = [opened(home, f"rule: {rule}").identity for rule in asked]
    found += [opened(home, "rule: mean", members=others).identity for others in ("a, c", "a, d")]
    assert all(one != other for i, one in enumerate(found) for other in found[:i])
    assert opened(home, "rule: mean-sd, k: 1").identity == found[2]
    hashes = [
        model_factory.weights_hash(opened(home, "rule: mean", members=f"a, {m}")) for m in "bd"
    ]
    assert hashes[0] != hashes[1]
    assert "" not in hashes


def test_what_it_cannot_give_is_refused(home: Path) -> None:
    """No gradient, no head, and no prompt that two members lay out differently."""
    model = opened(home, "rule: mean", members="a, d")
    with pytest.raises(NoGradient):
        model.gradient(PROMPT, [(5,)])
    with pytest.raises(NoWeights, match="no head"):
        model.with_head()
    assert model.slot(PROMPT) == opened(home, name="a").slot(PROMPT)
    with pytest.raises(ModelError, match="a and d lay out"):
        model.slot((("system", "Be kind."), ("user", PROMPT)))


@pytest.mark.slow
@pytest.mark.slow
def test_a_server_is_a_member_like_any_other(home: Path) -> None:
    """The formula of its rewards and a checkpoint's; it takes texts if one member does."""
    with Running(Served(reward=by_hash)) as server:
        entry = f"  there: {{source: 'openrlhf+{server.url}/get_reward', version: '1'}}\n"
        ours = opened(home, "rule: mean", members="a, there", more=entry)
        found = ours.score(PROMPT, ANSWERS)
        each = [standardised(home, "a"), standard(opened(home, name="there", more=entry))]

    assert ours.takes == "texts"
    assert found == pytest.approx(np.mean(each, axis=0), abs=1e-4)


def test_a_constant_member_has_no_scale(home: Path, tmp_path: Path) -> None:
    """It is refused by its name; nothing is divided by 0."""
    toy_checkpoint(tmp_path / "a")
    weights = toy_checkpoint(tmp_path / "b") / "model.safetensors"
    tensors = load_file(weights)
    save_file({**tensors, "score.weight": 0 * tensors["score.weight"]}, weights, {"format": "pt"})
    for name in "cd":
        (tmp_path / name).symlink_to(home / name)
    with pytest.raises(ModelError, match=r"^b gives"):
        opened(tmp_path, "rule: mean").score(PROMPT, ANSWERS)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{ensemble: {members: [a, a], rule: mean}}", "4: A: ensemble: members: a is named twice"),
        ("{ensemble: {members: [a, d], rule: mean}}", "'d' is no model of this file; known: a, b"),
        ("{ensemble: {members: [a, A], rule: mean}}", "A is an ensemble itself"),
        ("{ensemble: {members: [a, I], rule: mean}}", "I is an implicit reward"),
        ("{ensemble: {members: a, rule: mean}}", "A: ensemble: members: expected a list of two"),
        ("{ensemble: {members: [a, b]}}", "the key 'rule' is missing; expected mean, minimum or"),
        ("{ensemble: {members: [a, b], rule: max}}", "rule: expected mean, minimum or mean-sd"),
        ("{ensemble: {members: [a, b], rule: mean-sd, k: -1}}", "k: expected a number from 0"),
        ("{ensemble: {members: [a, b], rule: mean-sd, k: .inf}}", "k: expected a number from 0"),
        ("{ensemble: {members: [a, b], rule: mean, k: 1}}", "k: it has no effect with the rule"),
        ("{source: a/b, ensemble: {members: [a, b], rule: mean}}", "remove the line `source`"),
        ("{dtype: float16, ensemble: {members: [a, b], rule: mean}}", "dtype: each member's own"),
        ("{source: ensemble+a+b}", "no source is of the kind 'ensemble'"),
    ],
)
def test_the_registry_refuses_what_is_no_ensemble(tmp_path: Path, entry: str, said: str) -> None:
    """With the line, and what is expected."""
    path = tmp_path / "models.yaml"
    path.write_text(f"models:\n{MEMBERS}  A: {entry}\n  I: {{implicit: {{policy: a/b}}}}\n")
    with pytest.raises(SpecError) as caught:
        load_registry(path)
    assert said in str(caught.value)


def test_it_is_judged_by_words_that_no_member_was_trained_on(tmp_path: Path) -> None:
    """The half of the words on which a member was trained is left out for the ensemble as well."""
    path = tmp_path / "models.yaml"
    entry = "  ours: {ensemble: {members: [a, b], rule: mean}}\n"
    path.write_text(f"models:\n{MEMBERS.replace('./b', './b, trained_on: half')}{entry}")
    assert load_registry(path).models["ours"].trained_on == "half"
