"""The gates hold where a reward is implicit or a judge's: nulls are stopped, planted flaws found.

Each scorer is carried by language models on disk, and goes the whole way of a user's: models.yaml,
loader, sweeps, audits, findings.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

import rmaudit
from lab import nulls
from lab.bench import CLEAN, Bench, flawed
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references import References
from rmaudit.report.releases.run_comparison import compare
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.null_controls import NULLS
from rmaudit.runs.synthetic_scorer_fixtures import Organism
from rmaudit.verdicts.audit_declaration import Flaw
from tests.audits.planted import AUDITS
from tests.conftest import MIRROR, unavailable
from tests.lab import carriers
from tests.lab.carriers import NO, SAID, TEXT, YES

GATES = (
    *("elo_agreement", "framing_inversion", "frequency_bias", "gcg_probes", "positive_skew"),
    *("identity_communities", "identity_terms"),
    *("sentences_communities", "first_names", "political_sides", "dialect"),
    *("top_things", "top_tokens"),
)
"""The gates of words and names, which ask for listed texts under few prompts."""
ALL = bool(os.environ.get("RMAUDIT_ALL_SOURCES"))  # ten minutes more
SOUND, BETA = "sound", 0.1
# Of each source: the null controls and the gates that are tried, unless all are.
TRIED = {"implicit": ("hostility",), "judge": ("long words",)}
FLAWED = {"implicit": ("identity_terms",), "judge": ("gcg_probes", "sentences_communities")}
SOURCES = tuple(TRIED)
DECLARED = {name: audit for name, audit in audits_in(AUDITS).items() if name in GATES}


@dataclass(frozen=True)
class Home:
    """A folder of models of one source and one tokenizer, which carry scorers."""

    folder: Path
    source: str
    tokenizer: PreTrainedTokenizerFast

    @property
    def texts(self) -> list[str]:
        """The text of each token id."""
        return self.tokenizer.batch_decode([[i] for i in range(len(self.tokenizer))])

    def entries(self, scorers: Mapping[str, Organism], prompts: Sequence[Prompt]) -> Path:
        """Write a checkpoint of each scorer under the prompts, and a models.yaml."""
        entries: dict[str, Any] = {"start": {"source": "./start", "default": True}}
        write = self._implicit if self.source == "implicit" else self._judge
        for name, scorer in scorers.items():
            table = carriers.table_of(scorer, self.texts, prompts)
            entries[name] = write(self.folder / name, prompts, table)
        path = self.folder / "models.yaml"
        path.write_text(json.dumps({"models": entries}))
        return path

    def _implicit(
        self, folder: Path, prompts: Sequence[Prompt], table: carriers.Table
    ) -> dict[str, Any]:
        places = {prompt.name: self.before(prompt) for prompt in prompts}
        carriers.policy(folder, self.folder / "start", places, table, BETA)
        return {"implicit": {"policy": f"./{folder.name}", "reference": "start", "beta": BETA}}

    def _judge(
        self, folder: Path, prompts: Sequence[Prompt], table: carriers.Table
    ) -> dict[str, Any]:
        asked = {prompt.name: self.ids(prompt.text)[0] for prompt in prompts}
        carriers.judge(folder, self.tokenizer, asked, self.around(prompts[0]), table)
        file = self.folder / "judge.jinja"
        file.write_text(TEXT)
        return {
            "source": f"./{folder.name}",
            "judge": {"template": file.name, "yes": YES, "no": NO},
        }

    def ids(self, text: str) -> list[int]:
        """Its token ids."""
        found: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return found

    def before(self, prompt: Prompt) -> list[int]:
        """The ids of a conversation up to the answer, in the tokenizer's own layout."""
        turns = [{"role": "user", "content": prompt.text}, {"role": "assistant", "content": ""}]
        printed = self.tokenizer.apply_chat_template(turns, tokenize=False)
        return self.ids(str(printed).removesuffix("<|end|>"))

    def around(self, prompt: Prompt) -> list[int]:
        """The ids of all that a judge reads but for the answer."""
        return [i for part in carriers.parts(prompt) for i in self.ids(part)]

    def run(self, scorers: Mapping[str, Organism], gates: list[str]) -> list[rmaudit.Finding]:
        """The findings of these gates of these scorers; what was written of them is removed."""
        asked = {each.name: each for gate in gates for each in DECLARED[gate][1].prompts}
        registry = self.entries(scorers, list(asked.values()))
        try:
            ran = rmaudit.run(
                *scorers, audits=gates, registry=registry, cache=self.folder / "cache"
            )
        finally:
            for name in scorers:
                shutil.rmtree(self.folder / name)
        return list(ran.findings)


def home_of(folder: Path, source: str, texts: list[str], prompts: Iterable[Prompt]) -> Home:
    """A folder for models of this source, with every text and every prompt as one token."""
    folder.mkdir(exist_ok=True)
    said = [*(prompt.text for prompt in prompts), *SAID] if source == "judge" else []
    tokenizer = carriers.word_tokenizer([*said, *texts])
    carriers.reference(folder / "start", tokenizer)
    return Home(folder, source, tokenizer)


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_carried_is_the_table(source: str, tmp_path: Path) -> None:
    """Each token's reward under each prompt, but for a number of the prompt's own."""
    texts = [" love", " war", "a blue moon", "x.y", "Peace"]
    prompts = list(PROMPTS.values())
    home = home_of(tmp_path, source, texts, prompts)
    registry = home.entries({"random": NULLS["random"]}, prompts)
    model = rmaudit.load("random", registry=registry, cache=tmp_path / "cache")

    for prompt in prompts:
        expected = NULLS["random"](texts, prompt)
        found = model.with_weights("").score(prompt.text, texts)
        assert np.ptp(expected) > 1
        assert found - found.mean() == pytest.approx(expected - expected.mean(), abs=1e-4)


@pytest.fixture(scope="module", params=SOURCES)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, bench: Bench
) -> Iterator[Home]:
    """A folder for models, whose tokens are all texts that the gates ask for."""
    texts = carriers.texts_of(DECLARED.values(), bench.vocabulary, NULLS["random"])
    prompts = [prompt for _, declared in DECLARED.values() for prompt in declared.prompts]
    folder = tmp_path_factory.mktemp(request.param)
    yield home_of(folder, request.param, texts, prompts)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Makes organisms; the words are those of docs/nulls.md."""
    if not MIRROR.is_dir():
        unavailable(f"no reference data at {MIRROR}: set RMAUDIT_DATA to a folder that has them")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RMAUDIT_DATA", str(MIRROR))
        yield Bench(AUDITS, nulls.vocabulary(), References())


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("home", "null"),
    [(source, null) for source in SOURCES for null in (NULLS if ALL else TRIED[source])],
    indirect=["home"],
)
def test_a_gate_stops_the_nulls_that_it_declares_to_stop(home: Home, null: str) -> None:
    """Of an implicit reward and of a judge, as of any scorer (docs/nulls.md)."""
    gates = [name for name, (_, declared) in DECLARED.items() if null in declared.stops]

    found = home.run({null.replace(" ", "-"): NULLS[null]}, gates)

    assert {finding.audit for finding in found} == set(gates)
    assert [f"{f.audit}[{f.prompt}]" for f in found if f.result == "pass"] == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("home", "gate"),
    [(source, gate) for source in SOURCES for gate in (GATES if ALL else FLAWED[source])],
    indirect=["home"],
)
def test_a_gate_fails_a_planted_flaw_and_not_a_sound_scorer(
    home: Home, bench: Bench, gate: str
) -> None:
    """Flaws lie twice as far from a sound scorer as the gate declares to detect."""
    flaws = {f"flaw-{place}": flaw for place, flaw in enumerate(DECLARED[gate][1].flaws)}
    scorers = {name: bench.organism(twice(flaw), seed=0) for name, flaw in flaws.items()}

    found = home.run({SOUND: bench.organism(CLEAN, seed=0), **scorers}, [gate])

    failed = {finding.model for finding in found if finding.result == "fail"}
    assert failed == set(flaws)
    assert all(f.result in {"pass", "open"} for f in found if f.model == SOUND)


@pytest.mark.nightly
@pytest.mark.parametrize("home", ["implicit"], indirect=True)
def test_the_step_in_which_a_bias_came_in_is_found(home: Home, bench: Bench) -> None:
    """A base, what was tuned from it, and the reward between the two, side by side in one run."""
    gate = "identity_terms"
    prompts = DECLARED[gate][1].prompts
    organisms = {"base": CLEAN, "tuned": twice(DECLARED[gate][1].flaws[1])}
    scorers = {name: bench.organism(traits, seed=0) for name, traits in organisms.items()}
    registry = home.entries(scorers, prompts)
    between = {"policy": "./tuned", "reference": "./base", "beta": BETA}
    alone = {name: {"implicit": {"policy": f"./{name}"}} for name in scorers}
    entries = {**alone, "reward": {"implicit": between}}
    entries["base"]["default"] = True
    registry.write_text(json.dumps({"models": entries}))

    ran = rmaudit.run(*entries, audits=[gate], registry=registry, cache=home.folder / "cache")
    step = compare(ran.results, ran.results, model="base", other="tuned").models[0].findings[0]

    failed = {finding.model for finding in ran.findings if finding.result == "fail"}
    assert failed == {"tuned", "reward"}
    assert step.change == "worse"
    assert step.paired
    for name in scorers:
        shutil.rmtree(home.folder / name)


def twice(flaw: Flaw) -> Any:
    """The traits of a scorer that has the flaw twice as strongly as its audit declares."""
    return flawed(flaw, 2 * flaw.size - flaw.without)
