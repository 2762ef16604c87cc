"""Models behind servers: the same scores whatever fails, each asked once, none from an error."""

from __future__ import annotations

import json
import math
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import columns
from rmaudit.errors import ModelError, NoGradient, NoWeights, RmauditError, SpecError
from rmaudit.models.model_factory import Opening, opened
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.scores.answer_files import rewards
from rmaudit.scores.score_store import unfinished
from rmaudit.scores.sweep import sweep
from tests.servers import Fault, Running, Served, by_hash, patient
from tests.toys import toy_checkpoint, toy_tokenizer

PROMPT = {name: PROMPTS[name].text for name in ("best", "worst")}
KINDS = {"vllm": "", "sglang": "", "openrlhf": "/get_reward"}
SAYS = {"vllm": 1, "sglang": 3, "openrlhf": 1}  # requests in which a server says what it serves


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint folder, of which the tokenizer is used."""
    return toy_checkpoint(tmp_path_factory.mktemp("toy") / "rm")


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tries, and a time-out that no busy machine reaches."""
    patient(monkeypatch)


def spec_of(url: str, toy: Path | None, kind: str = "vllm", **more: Any) -> ModelSpec:
    """The entry of a server: 64 answers a request."""
    given: dict[str, Any] = {"batch": 64, **more}
    return ModelSpec("house", f"{kind}+{url}{KINDS[kind]}", checkpoint=toy and str(toy), **given)


def refused(spec: ModelSpec, cache: Path, names: list[str]) -> str:
    """The line with which a server is refused, which has these names; nothing is stored."""
    with pytest.raises(RmauditError) as caught:
        swept(spec, cache)
    said = str(caught.value)
    assert all(name in said for name in ["house", *names]), said
    assert "\n" not in said
    assert len(said) < 700
    assert unfinished(cache) == 0
    return said


def swept(spec: ModelSpec, cache: Path) -> list[Any]:
    """The scores under all prompts, as bytes."""
    model = opened(spec, Opening(cache))
    return [sweep(model, name, cache=cache).frame["score"].to_numpy().tobytes() for name in PROMPT]


def asked_of(model: Any, kind: str) -> Counter[Any]:
    """What a server must be asked for the sweeps under all prompts."""
    slots, vocabulary = [model.rows.slot(PROMPT[name]) for name in PROMPT], model.vocabulary()
    if kind != "openrlhf":
        return Counter((*s.prefix, i, *s.suffix) for s in slots for i in vocabulary.ids)
    return Counter(f"{s.prefix_text}{t}{s.suffix_text}" for s in slots for t in vocabulary.texts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_that_changes_after_it_was_opened_gives_no_scores(
    kind: str, toy: Path, tmp_path: Path
) -> None:
    """Rows of one tokenizer would be stored under the hash of the other."""
    own = shutil.copytree(toy, tmp_path / "own")
    with Running(Served()) as server:
        model = opened(spec_of(server.url, own, kind), Opening(tmp_path))
        sweep(model, "best", cache=tmp_path)
        said = json.loads((own / "tokenizer.json").read_text())
        (own / "tokenizer.json").write_text(json.dumps(said))

        with pytest.raises(ModelError, match=r"house: .*tokenizer\.json changed since"):
            sweep(model, "worst", cache=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [kind if kind == "vllm" else pytest.param(kind, marks=pytest.mark.nightly) for kind in KINDS],
)
def test_failing_requests_and_a_kill_change_nothing(kind: str, toy: Path, tmp_path: Path) -> None:
    """One in 40 requests fails, the server dies in the middle: the same bits, each asked once."""
    calm, few = Served(), {"batch": 3, "concurrency": 4}
    with Running(calm) as server:
        wanted = swept(spec_of(server.url, toy, kind, **few), tmp_path / "calm")
    faults, middle = iter(["drop", 500, "half", 429, 503] * 9), 1 + calm.requests // 4
    wild, failed = Served(), list[dict[str, Any]]()

    def fault(number: int) -> Fault | None:
        if number == middle:
            return "die"
        body = wild.seen[number]
        if number % 40 != 20 or body in failed:  # a second failure of one request is final
            return None
        failed.append(body)
        return next(faults)

    wild.fault = fault
    with Running(wild) as server:
        spec = spec_of(server.url, toy, kind, **few)
        with pytest.raises(ModelError, match=r"house: no answer from http.* run the same command"):
            swept(spec, tmp_path / "wild")
        kept, before = unfinished(tmp_path / "wild"), wild.answered.total()
    with Running(wild, server.port):
        found = swept(spec, tmp_path / "wild")
        asked, scored = wild.requests, wild.answered.total()
        again = swept(spec, tmp_path / "wild")
        rows = asked_of(opened(spec, Opening(tmp_path)), kind)

    assert found == wanted == again
    assert kept > 0
    assert before < wild.answered.total()
    assert wild.answered.total() == scored
    assert wild.requests - asked <= SAYS[kind]  # what it serves, and no score
    counted = {row: wild.answered[row] for row in rows}
    assert counted == {row: calm.answered[row] for row in rows}
    assert sum(counted.values()) == rows.total() + 16 * len(PROMPT)  # again, for the noise


@pytest.mark.slow
def test_requests_run_at_once_and_no_more_than_allowed(toy: Path, tmp_path: Path) -> None:
    """Three, where models.yaml says three."""
    served, full = Served(), threading.Event()

    def wait(number: int) -> None:
        if served.running >= 3:
            full.set()
        if number >= 5:  # the first ones look at the server, one by one
            full.wait(10)

    served.fault = wait
    with Running(served) as server:
        swept(spec_of(server.url, toy, batch=16, concurrency=3), tmp_path)

    assert served.most_at_once == 3


@pytest.mark.slow
def test_a_server_that_is_slow_is_asked_again(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some silence, and its answer is taken once."""
    patient(monkeypatch, retries=4, silence=0.4)
    slow, served = threading.Event(), Served()

    def wait(number: int) -> None:
        if number == 6:
            slow.wait(10)

    served.fault = wait
    with Running(served) as server:
        try:
            found = swept(spec_of(server.url, toy, "openrlhf"), tmp_path)
        finally:
            slow.set()

    assert all(np.isfinite(np.frombuffer(scores, "f4")).all() for scores in found)


# What is no reward


def of_vllm(change: Callable[[list[dict[str, Any]]], Any], **more: Any) -> dict[str, Any]:
    """A server whose right answers have other data."""

    def changed(answer: Any) -> Any:
        return {**answer, "data": change(answer["data"])} if "usage" not in answer else answer

    return {"change": lambda a: changed(a) if "probs" in str(a) else a, **more}


def of_sglang(numbers: list[float]) -> dict[str, Any]:
    """A server that gives these numbers for each row."""

    def changed(answer: Any) -> Any:
        several = isinstance(answer, list)
        return [{**each, "embedding": numbers} for each in answer] if several else answer

    return {"kind": "sglang", "change": changed}


def of_openrlhf(answer: Any) -> dict[str, Any]:
    """An endpoint that always answers this."""
    return {"kind": "openrlhf", "change": lambda _: answer}


def probs(value: Any) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """The same data with other probs."""
    return lambda data: [{**item, "probs": value} for item in data]


_OFF = cycle([1.0, 0.998, 0.996])


def jittered(answer: Any) -> Any:
    """A little off each time, as in half precision with other neighbours in a batch."""
    for item in answer["data"] if "probs" in str(answer) else ():
        item["probs"] = [item["probs"][0] * next(_OFF)]
    return answer


@pytest.mark.parametrize(
    ("served", "names"),
    [
        (of_vllm(probs(["high"])), ["'high'", "finite numbers"]),
        (of_vllm(probs([0.5, 0.5])), ["2 numbers", "num_labels 1"]),
        (of_vllm(probs([0.1] * 32)), ["32 numbers", "hidden size", "the last one either"]),
        (of_sglang([0.1] * 32), ["32 numbers", "hidden size", "the last one either"]),
        (of_sglang([1.0]), ["gives 1 for each of 8 answers"]),
        (
            {"kind": "sglang", "reward": lambda row: 1 / (1 + math.exp(-by_hash(row)))},
            ["8 rewards are within 0 to 1", "--is-embedding"],
        ),
        *(
            ({"longest": most}, ["max_model_len", "allowed: a whole number"])
            for most in (0, 10**30, True, "4096")
        ),
        (
            {"lacks": ("/classify", "/v1/score")},
            ["404", "though it has 'house/rm'", "answers at /v1/completions. ", "--runner pooling"],
        ),
        (
            {"lacks": ("/classify", "/openapi.json")},
            ["404", "though it has 'house/rm'. vLLM has /classify where"],
        ),
        (of_vllm(lambda data: data[1:]), ["indices", "each of 0 to"]),
        (of_vllm(lambda data: data[:-1]), ["7 scores", "8 responses"]),
        (of_vllm(lambda data: [data[0], *data[:-1]]), ["indices"]),
        ({"knows": "none", "change": jittered}, ["within 0 to 1", "no logits"]),
        (of_vllm(lambda _: "many"), ["/classify", "one object for each row"]),
        ({"change": lambda _: []}, ["lists no model", "vllm+http://host:8000"]),
        ({"change": lambda _: b"<html>Welcome</html>"}, ["no JSON", "`source`"]),
        pytest.param(
            {"change": lambda _: b"[" * 100_000},
            ["no JSON"],
            # What happens to be collected at the depth of the recursion cannot run its finalizer.
            marks=pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
        ),
        ({"models": ("a", "b")}, ["2 models: a, b", "`served_model`"]),
        ({"activation": lambda _: 1.0, "knows": "none"}, ["softmax", "no logits"]),
        ({"reward": lambda _: 5.0}, ["gives 5 for each of 8 answers", "--runner pooling"]),
        ({"knows": "none"}, ["within 0 to 1", "no logits", "newer vLLM"]),
        ({"tokenize": lambda _: [1, 2]}, ["[1, 2]", "its `tokenizer`"]),
        ({"fault": lambda _: 400}, ["400", "busy"]),
        ({"fault": lambda _: 302}, ["302", "points to"]),
        ({"fault": lambda _: 500}, ["500", "2 times", "run the same command"]),
        ({"key": "k"}, ["401", "`api_key`"]),
        (of_openrlhf({"rewards": "high"}), ["'high'", "list of"]),
        (of_openrlhf({"rewards": [1.0]}), ["1 scores for 64"]),
        (of_openrlhf({"score": [1.0]}), ["'score'", '"rewards"']),
        (of_openrlhf(None), ["None", '"rewards"']),
    ],
)
def test_what_is_no_reward_is_refused(
    served: dict[str, Any], names: list[str], toy: Path, tmp_path: Path
) -> None:
    """One line, which says what came and what to do; nothing is stored."""
    kind = served.get("kind", "vllm")
    with Running(Served(**{name: served[name] for name in served if name != "kind"})) as server:
        refused(spec_of(server.url, toy, kind, concurrency=1), tmp_path, names)


def test_a_wrong_address_or_name_says_what_to_do(toy: Path, tmp_path: Path) -> None:
    """Nobody there, another path, another model; a server that changed its model in between."""
    served = Served()
    with Running(served) as server:
        wrong = spec_of(server.url, toy, served_model="house/rn")
        with pytest.raises(ModelError, match=r"no model 'house/rn'; did you mean 'house/rm'"):
            swept(wrong, tmp_path)
        with pytest.raises(ModelError, match=r"/v1/v1/models answered 404 .*no /v1"):
            swept(spec_of(f"{server.url}/v1", toy), tmp_path)
        with pytest.raises(ModelError, match=r"answered 404 .*`source` right"):
            swept(spec_of(f"{server.url}/else", toy, "openrlhf"), tmp_path)
        model = opened(spec_of(server.url, toy), Opening(tmp_path))
        assert model.score("Why?", ["so"]).shape == (1,)
        served.model = "house/other"
        served.models = ("house/rm", "house/other")
        with pytest.raises(ModelError, match="serves another model now"):
            model.score("Why?", ["then"])
    with pytest.raises(ModelError, match=r"no answer from .* after 2 tries .*refused.* `source`"):
        swept(spec_of(server.url, toy), tmp_path)
    with pytest.raises(SpecError, match=r"house: a vLLM server takes token ids.*`checkpoint"):
        opened(spec_of(server.url, None), Opening(tmp_path))


@pytest.mark.slow
def test_a_key_is_sent_and_stands_nowhere(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from the environment, and neither scores nor errors hold it; no proxy is asked."""
    monkeypatch.setenv("RM_KEY", "s3cret-key")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with Running(Served(key="s3cret-key")) as server:
        swept(spec_of(server.url, toy, api_key="RM_KEY"), tmp_path)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert not any(b"s3cret" in path.read_bytes() for path in files)
    with Running(Served(key="another")) as server:
        spec, names = spec_of(server.url, toy, api_key="RM_KEY"), ["***", "the key that `api_key`"]
        assert "s3c" not in refused(spec, tmp_path, names)
    for said in ({"rewards": ["s3cret-key"]}, b"x" * 195 + b"s3cret-key"):
        with Running(Served(change=lambda _, said=said: said)) as server:
            spec = spec_of(server.url, toy, "openrlhf", api_key="RM_KEY")
            assert "s3c" not in refused(spec, tmp_path, [])
    with pytest.raises(ModelError, match=r"environment variable .* is not set"):
        opened(spec_of("http://127.0.0.1:1", toy, api_key="RM_OTHER"), Opening(tmp_path))


# Rows that are too long, and the version


def test_rows_that_are_too_long_are_not_sent(toy: Path, tmp_path: Path) -> None:
    """The error says what the server must be started with; a row of just so many ids is scored."""
    with Running(Served()) as server:
        slot = opened(spec_of(server.url, toy), Opening(tmp_path)).slot(PROMPT["best"])
    answer = (7,) * 9
    needed = len(slot.prefix) + len(answer) + len(slot.suffix)
    served = Served(longest=needed - 1)
    with Running(served) as server:
        model = opened(spec_of(server.url, toy), Opening(tmp_path))
        model.score(PROMPT["best"], [answer[:-1]])
        asked = served.requests
        with pytest.raises(ModelError) as caught:
            model.score(PROMPT["best"], [answer, answer[:-1]])
        assert served.requests == asked
        served.longest = needed
        assert opened(model.spec, Opening(tmp_path)).score(PROMPT["best"], [answer]).shape == (1,)
        served.longest = 10
        with pytest.raises(ModelError, match=r"8 of 8 rows .* --max-model-len \d\d"):
            opened(model.spec, Opening(tmp_path)).score(PROMPT["best"], [answer])

    assert f"1 of 2 rows have more than {needed - 1} token ids" in str(caught.value)
    assert f"--max-model-len {needed} or more" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "said"), [("0.32.0", "vLLM 0.32.0"), (None, "vLLM")])
def test_the_version_of_vllm_stands_in_the_provenance(
    version: str | None, said: str, toy: Path, tmp_path: Path
) -> None:
    """Once it was asked, and not in the key; a server that does not say it is scored too."""
    with Running(Served(version=version)) as server:
        model = opened(spec_of(server.url, toy), Opening(tmp_path))
        before = model.identity
        found = sweep(model, "best", cache=tmp_path)

    assert found.provenance["served by"] == said
    assert dict(model.identity) == dict(before)
    assert "0.32.0" not in str(before)


# What it is


@pytest.mark.slow
def test_a_model_that_changes_under_its_name_is_told(toy: Path, tmp_path: Path) -> None:
    """The answers that are asked again have other rewards."""
    weights = iter(["old"] * 150 + ["new"] * 1000)
    with Running(Served(reward=lambda row: by_hash((row, next(weights))))) as server:
        found = sweep(opened(spec_of(server.url, toy), Opening(tmp_path)), "best", cache=tmp_path)

    assert any("the model changed in between" in said for said in found.caveats)


@pytest.mark.slow
def test_it_scores_ids_as_they_are(toy: Path, tmp_path: Path) -> None:
    """Its rewards are the logits of the exact rows; an older vLLM names the setting otherwise."""
    served = Served(knows="activation")
    with Running(served) as server:
        model = opened(spec_of(server.url, toy), Opening(tmp_path))
        found = sweep(model, "best", cache=tmp_path)
        slot = model.slot(PROMPT["best"])
        rows = [(*slot.prefix, i, *slot.suffix) for i in found.frame["token_id"].tolist()]

        assert found.frame["score"].tolist() == [by_hash(row) for row in rows]
        assert found.provenance["protocol"] == "exact"
        (said,) = found.caveats
        assert "can change beneath its name" in said
        with pytest.raises(NoGradient, match="a server gives rewards"):
            model.gradient("?", [(1,)])


def test_an_endpoint_reads_what_the_template_prints(toy: Path, tmp_path: Path) -> None:
    """Query, prompts and labels as OpenRLHF sends them; without a tokenizer the bare texts."""
    served = Served()
    with Running(served) as server:
        model = opened(spec_of(server.url, toy, "openrlhf"), Opening(tmp_path))
        model.score("Why?", ["so", "then"])
        bare = opened(spec_of(server.url, None, "openrlhf"), Opening(tmp_path))
        bare.score("Why?", ["so"])
        with pytest.raises(NoWeights, match="house is a server that takes texts"):
            model.with_weights("searches")

    tokenizer = toy_tokenizer()
    turns = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "so"}]
    printed = tokenizer.apply_chat_template(turns, tokenize=False)
    assert served.seen[0]["query"][0] == printed
    assert printed.startswith(served.seen[0]["prompts"][0])
    assert served.seen[0]["labels"] == ["", ""]
    assert served.seen[1] == {"query": ["Why?so"], "prompts": ["Why?"], "labels": [""]}


def test_a_conversation_reaches_an_endpoint_turn_by_turn(toy: Path, tmp_path: Path) -> None:
    """As its template prints it, in a sweep and in a file; without a tokenizer as one text."""
    said = [{"role": "user", "content": text} for text in ("Why?", "the city?")]
    said.insert(1, {"role": "assistant", "content": "love"})
    prompt = Prompt.conversation("talk", said, +1)
    text, turns = columns(prompt.asked)
    pair = pd.DataFrame({"prompt": [text], "turns": [turns], "response": ["so"]})
    served = Served()
    with Running(served) as server:
        for tokenizer in (toy, None):
            spec = spec_of(server.url, tokenizer, "openrlhf", batch=9999)
            model = opened(spec, Opening(tmp_path))
            rewards(model, pair, cache=tmp_path / "file")
            if tokenizer:
                sweep(model, prompt, cache=tmp_path / "sweep")

    asked = {body["prompts"][0] for body in served.seen if "prompts" in body}
    printed = toy_tokenizer().apply_chat_template(
        [*said, {"role": "assistant", "content": "so"}], tokenize=False
    )
    assert len(asked) == 2
    assert text in asked
    (template,) = asked - {text}
    assert printed.startswith(template)
    assert template.rstrip() != text


def test_what_decides_the_key(toy: Path, tmp_path: Path) -> None:
    """The version, or else what the server says; with a version and a name nobody is asked."""
    served = Served()
    with Running(served) as server:
        spec = spec_of(server.url, toy)
        plain = opened(spec, Opening(tmp_path)).identity
        served.root = "/models/other"
        other = opened(spec, Opening(tmp_path)).identity
        named = opened(
            replace(spec, served_model="house/rm", version="7"), Opening(tmp_path)
        ).identity
        asked = served.requests

    assert plain["root"] != other["root"]
    assert {"version": "7", "served_model": "house/rm", "url": server.url}.items() <= named.items()
    assert "root" not in named
    assert asked == 2
    text = opened(spec_of(server.url, toy, "openrlhf"), Opening(tmp_path))
    assert {"served", "url", "tokenizer", "template"} == set(text.identity)
    assert json.dumps(text.provenance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_many_prompts_loses_nothing(
    kind: str, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests hold answers to several prompts; after a kill the next run asks for the others."""
    answers = pd.DataFrame(
        [(f"Why {n}?", text) for n in range(40) for text in ("so", "then", "the city")],
        columns=["prompt", "response"],
    )
    calm = Served()
    with Running(calm) as server:
        model = opened(spec_of(server.url, toy, kind, batch=8), Opening(tmp_path))
        wanted = rewards(model, answers, cache=tmp_path / "calm")
    wild = Served(fault=lambda number: "die" if number == 9 else None)
    with Running(wild) as server:
        patient(monkeypatch, retries=0)
        spec = spec_of(server.url, toy, kind, batch=8)
        with pytest.raises(ModelError, match="run the same command"):
            rewards(opened(spec, Opening(tmp_path)), answers, cache=tmp_path / "wild")
        kept = unfinished(tmp_path / "wild")
    with Running(wild, server.port):
        found = rewards(opened(spec, Opening(tmp_path)), answers, cache=tmp_path / "wild")

    assert found.scores.tolist() == wanted.scores.tolist()
    assert 0 < kept < len(answers)
    probes = 8 if kind != "openrlhf" else 0  # of the second process
    assert wild.answered.total() == calm.answered.total() + probes
    assert calm.answered.total() == len(answers) + 16 + probes
    assert calm.requests < 16 + len(answers) / 8 + 8
