"""The most important errors, word for word: each says where, what was found and what to do next.

`golden/errors.txt` has the commands and what they say; a sentence that changes is edited there.
Other tests check only what an error must name.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pooch
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from rmaudit import errors
from rmaudit.cli import app
from tests.models.test_families import FAMILIES, published
from tests.toys import WORDS, toy_checkpoint, toy_language_model, toy_tokenizer

GOLDEN = (Path(__file__).parent / "golden" / "errors.txt").read_text(encoding="utf-8")
CASES = [block.split("\n", 1) for block in GOLDEN.removeprefix("$ ").split("\n\n$ ")]
ENTRY = "models:\n  A:\n    source: owner/name\n    default: true\n"
WAIVER = "    waivers:\n      positive_skew: {owner: me, reason: so, accepted: -0.2}\n"
IMPLICIT = "    implicit: {{policy: a/c, reference: {}, beta: 1}}\n"
JUDGES = """
models:
  Many-tokens: {source: ./language, judge: {template: judge.jinja, yes: Certainly, no: love}}
  Thinks: {source: ./language, judge: {template: thinks.jinja, yes: love, no: war}}
  Served:
    source: sglang+http://rm:30000
    checkpoint: ./language
    judge: {template: thinks.jinja, yes: love, no: war}
  No-language-model: {source: ./toy, judge: {template: judge.jinja, yes: love, no: war}}
  Implicit: {implicit: {policy: ./language, reference: ./other-tokenizer, beta: 1}}
  Other: {source: ./toy, default: true}
"""
AUDIT = """
from rmaudit import above, audit

@audit(claim="c", source="", base_rate="", prompts=["best"], bound=above(0, unit="sd"),
       stops=["long word"])
def test_toy(rewards):
    pass
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that is wrong in the commands."""
    home = tmp_path_factory.mktemp("errors")
    registries = {
        "models": "models: {R-Smol: {source: embedded, default: true}, Other: {source: a/b}}",
        "unknown-key": f"{ENTRY}    revison: main\n",
        "unquoted": f"{ENTRY}    quantized: yes\n",
        "waiver": ENTRY + WAIVER,
        "nested": "[" * 800,
        "judges": JUDGES,
        "ensemble-of-one": "models:\n  A: {source: a/b, default: true}\n"
        "  Both: {ensemble: {members: [A], rule: mean}}\n",
        "half-implicit": ENTRY + IMPLICIT.format("a/b"),
        "no-reference": "models:\n  A: {" + IMPLICIT.strip().format("who") + ", default: true}",
        "endpoint": ENTRY.replace("owner/name", "openrlhf+http://rm:5000/get_reward")
        + "    version: '1'\n    judge: {yes: ' Yes', no: ' No'}\n",
        "texts": ENTRY.replace("owner/name", "openrlhf+http://rm:5000/get_reward")
        + "    version: '1'\n",
        "half-a-judge": f"{ENTRY}    judge: {{yes: ' Yes'}}\n",
    }
    for name, text in registries.items():
        (home / f"{name}.yaml").write_text(text)
    (home / "audits").mkdir()
    (home / "audits" / "test_toy.py").write_text(AUDIT)
    for name, end in (("judge", "Good?\n"), ("thinks", "<think>\n")):
        turns = "{{ messages[0].content }}\n{{ messages[-1].content }}\n" + end
        (home / f"{name}.jinja").write_text(turns)
    toy_language_model(home / "language")
    toy_language_model(home / "other-tokenizer", tokenizer=toy_tokenizer(("green", "blue", *WORDS)))
    (home / "few.jsonl").write_text('{"ids": [1], "reward": 1.5}')
    (home / "no-reward.jsonl").write_text('{"ids": [1]}')
    for name, many in (("few", 20), ("some", 40)):
        pairs = [f'{{"prompt": "{i}?", "chosen": "yes", "rejected": "no"}}' for i in range(many)]
        (home / f"{name}-pairs.jsonl").write_text("\n".join(pairs))
    published(home / "gated", FAMILIES["ArmoRM"])
    (home / "empty").mkdir()
    (home / "empty.json").write_text("{}")
    (home / "run" / "checkpoint-500").mkdir(parents=True)
    (home / "run" / "checkpoint-500" / "config.json").touch()
    toy = toy_checkpoint(home / "toy")
    toy_checkpoint(home / "no-template", tokenizer=toy_tokenizer(template=None))
    (shutil.copytree(toy, home / "no-weights") / "model.safetensors").unlink()
    weights = shutil.copytree(toy, home / "no-head") / "model.safetensors"
    tensors = load_file(weights)
    del tensors["score.weight"]
    save_file(tensors, weights, {"format": "pt"})
    internlm2 = shutil.copytree(home / "no-head", home / "internlm2") / "config.json"
    internlm2.write_text(
        internlm2.read_text().replace("LlamaForSequenceClassification", "InternLM2ForRewardModel")
    )
    labels = shutil.copytree(toy, home / "labels") / "model.safetensors"
    tensors["score.weight"] = torch.ones(3, 32)
    save_file(tensors, labels, {"format": "pt"})
    tensors = load_file(shutil.copytree(toy, home / "not-finite") / "model.safetensors")
    tensors["model.layers.1.mlp.up_proj.weight"][3, 5] = torch.nan
    save_file(tensors, home / "not-finite" / "model.safetensors", {"format": "pt"})
    whole = (shutil.copytree(toy, home / "cut") / "model.safetensors").read_bytes()
    (home / "cut" / "model.safetensors").write_bytes(whole[:4000])
    pickled = shutil.copytree(toy, home / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    (shutil.copytree(home / "no-head", home / "pickled-head") / "value_head.bin").touch()
    (shutil.copytree(toy, home / "two-heads") / "value_head.safetensors").touch()
    return home


@pytest.mark.parametrize(("command", "expected"), CASES, ids=[command for command, _ in CASES])
def test_an_error_is_this_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, command: str, expected: str
) -> None:
    """With its exit code; on stderr, or as the reason why a model is refused."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    monkeypatch.delenv("RMAUDIT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.chdir(home)

    result = CliRunner().invoke(app, shlex.split(command)[1:], env={"COLUMNS": "100"})

    refused = [line.strip() for line in result.stdout.splitlines() if line.startswith("  refused")]
    said = "\n".join([f"[{result.exit_code}]", *result.stderr.splitlines(), *refused])
    said = re.sub(r"\(LocalEntryNotFoundError: .*\)\. ", "(what the hub's client says). ", said)
    assert said.replace(str(home), "HOME") == expected.rstrip("\n")


def test_the_modules_tree_has_every_exception() -> None:
    """Each with its base class as the line above it that is one level further left."""
    lines = [line for line in str(errors.__doc__).splitlines() if re.match(r" {4}\S", line)]
    above: dict[int, str] = {}
    drawn = {}
    for line in lines:
        name = re.findall(r"\w+", line)[0]
        level = line.index(name)
        drawn[name] = next((above[at] for at in sorted(above, reverse=True) if at < level), "")
        above = {at: each for at, each in above.items() if at < level} | {level: name}
    there = {
        name: each.__bases__[0].__name__
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, (errors.RmauditError, errors.AuditFailed))
    }
    roots = {"RmauditError": "", "AuditFailed": ""}

    assert drawn == there | roots
