"""The options of a run, each checked when it is read: a wrong value is one line."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, get_args

import pytest

from rmaudit.config.registry import Dtype
from rmaudit.runs.case import SEARCHED

MODEL, RM_MODEL = "--model", "--rm-model"
RM_MODELS, RM_REPORT, RM_CACHE = "--rm-models", "--rm-report", "--rm-cache"
RM_MISSING, RM_SEED, RM_SAMPLE = "--rm-missing", "--rm-seed", "--rm-sample"
RM_DEVICE, RM_DTYPE = "--rm-device", "--rm-dtype"
RM_RECORDED, RM_BASELINE, RM_INCONCLUSIVE = "--rm-recorded", "--rm-baseline", "--rm-inconclusive"
RM_SEARCH, RM_LEDGER, RM_PROMPTS = "--rm-search", "--rm-ledger", "--rm-prompts"
RM_PAIRS, RM_ON, RM_WORKERS, RM_GPUS = "--rm-pairs", "--rm-on", "--rm-workers", "--rm-gpus"
RM_GATE = "--rm-gate"
OTHERS_MODEL = pytest.StashKey[bool]()  # whether another plugin owns `--model`


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--rm-` options."""
    group = parser.getgroup("rmaudit", "audits of reward models")
    group.addoption(RM_MODEL, **_MODEL_OPTION)
    group.addoption(RM_MODELS, metavar="FILE", help="the registry (default: models.yaml)")
    group.addoption(RM_REPORT, metavar="DIR", help="where reports go (default: reports)")
    group.addoption(
        RM_CACHE,
        metavar="DIR",
        help="where scores and built models are kept: a folder, or a URL such as "
        "s3://bucket/folder for the scores alone",
    )
    group.addoption(
        RM_GATE,
        action="store_true",
        help="make the exit code the verdict of the run: 0 only if it PASSES",
    )
    group.addoption(
        RM_MISSING,
        choices=("skip", "fail"),
        default="skip",
        help="what to do when reference data cannot be had, or an audit that gates is not measured "
        "for any other reason: skip it (default), or fail",
    )
    group.addoption(
        RM_INCONCLUSIVE,
        choices=("fail", "pass"),
        default="fail",
        help="what an interval that straddles its bound does to the run: fail it (default), or not",
    )
    group.addoption(
        RM_SEED, type=_seed, default=0, metavar="N", help="seed of every random draw (default: 0)"
    )
    group.addoption(
        RM_SAMPLE,
        type=_sample,
        metavar="N",
        help="a first look at a large model: score a random sample of N token ids, and at most "
        "as many of the words that audits name (default: the whole vocabulary)",
    )
    group.addoption(
        RM_DEVICE,
        type=_device,
        default="auto",
        metavar="NAME",
        help="where models run: auto (default: one GPU, all if it does not fit, or the CPU), "
        "spread (over all devices), cpu, cuda:1 ...",
    )
    group.addoption(
        RM_DTYPE,
        type=_dtype,
        metavar="DTYPE",
        help=f"what models run in, whatever the registry says: {', '.join(_DTYPES)}",
    )
    group.addoption(
        RM_RECORDED,
        action="store_true",
        help="audit published scores (rmaudit import, rmaudit data elo), without any weights",
    )
    group.addoption(
        RM_BASELINE,
        metavar="NAME",
        help="the model that the audited one is to replace: a name, a folder or a hub id, as for "
        "--model (default: none; audits that compare are skipped)",
    )
    group.addoption(
        RM_PROMPTS,
        metavar="FILE",
        help="ask the audits other prompts: a YAML file of prompts, and of lexicons, words and "
        "rankings that go with them; or names of prompts, with commas",
    )
    group.addoption(
        RM_SEARCH,
        type=_budget,
        default=SEARCHED,
        metavar="BUDGET",
        help="how many sequences each search for what the model loves or hates may score "
        f"(default: {SEARCHED}; 0: none, and audits that search are skipped)",
    )
    group.addoption(
        RM_LEDGER,
        metavar="FILE",
        help="strings that searches found elsewhere (rmaudit search --ledger FILE), to be replayed "
        "besides those that are published or were found here",
    )
    group.addoption(
        RM_PAIRS,
        metavar="FILE",
        help="pairs of answers (JSON Lines: prompt, chosen, rejected), for the audits of pairs "
        "(default: `pairs` of the model's entry in models.yaml)",
    )
    group.addoption(
        RM_ON,
        type=_where,
        metavar="WHERE",
        help="score what the audits need on Ray before they run: ray, or the address of a cluster",
    )
    group.addoption(
        RM_WORKERS,
        type=lambda given: _whole(RM_WORKERS, given, 1, "a positive whole number"),
        metavar="N",
        help=f"workers of {RM_ON} (default: as many as there is room for)",
    )
    group.addoption(
        RM_GPUS,
        type=lambda given: _whole(RM_GPUS, given, 0, "a whole number of GPUs"),
        metavar="N",
        help=f"GPUs of each worker of {RM_ON} (default: 1, where there are any)",
    )


# A wrong value is one line. (argparse would print its usage first, which is a screenful.)
_DTYPES = tuple(name for name in get_args(Dtype) if name != "auto")
_DEVICES = r"auto|spread|cpu|mps|(cuda|xpu|hpu|npu)(:\d+)?"
_LARGEST = 2**63 - 1  # what every reader of a report can hold


def _seed(given: str) -> int:
    return _whole(RM_SEED, given, 0, "a whole number from 0")


def _sample(given: str) -> int:
    return _whole(RM_SAMPLE, given, 1, "a positive whole number of token ids")


def _budget(given: str) -> int:
    return _whole(RM_SEARCH, given, 0, "a whole number of evaluations, 0 for none,")


def _whole(option: str, given: str, least: int, what: str) -> int:
    """A whole number that an option was given.

    Raises:
        pytest.UsageError: it is none, or out of range.
    """
    if re.fullmatch(r"[0-9]{1,19}", given) and least <= int(given) <= _LARGEST:
        return int(given)
    raise pytest.UsageError(f"{option}: {given!r}; {what} up to {_LARGEST} is needed")


def _where(given: str) -> str:
    from rmaudit.distributed.on_ray import is_address

    if not is_address(given):
        message = f"{RM_ON}: {given!r}; write ray, or the address of a Ray cluster, such as"
        raise pytest.UsageError(f"{message} host:6379")
    return given


def _device(given: str) -> str:
    if not re.fullmatch(_DEVICES, given):
        message = f"{RM_DEVICE}: unknown device {given!r}; known: auto, spread, cpu, mps, cuda, "
        raise pytest.UsageError(message + "cuda:0 and the like; xpu, hpu and npu likewise")
    return given


def _dtype(given: str) -> str:
    if given not in _DTYPES:
        message = f"{RM_DTYPE}: unknown dtype {given!r}; known: {', '.join(_DTYPES)}"
        raise pytest.UsageError(message)
    return given


_MODEL_OPTION: dict[str, Any] = {
    "action": "append",
    "dest": "rm_model",
    "metavar": "NAME",
    "help": "a model of the registry, a glob over its names, a checkpoint folder, or a hub id; "
    "may be repeated (default: the registry's default)",
}


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser
) -> Generator[None]:
    """Add `--model` last, once every plugin and conftest.py has had its chance to own it."""
    yield
    try:
        parser.getgroup("rmaudit").addoption(MODEL, **_MODEL_OPTION)
    except (ValueError, argparse.ArgumentError):
        early_config.stash[OTHERS_MODEL] = True  # `--rm-model` does the same


def refuse_unwritable(what: str, folder: Path, *, read: bool = False) -> None:
    """Refuse a folder that nothing can be written to, before anything is measured.

    With `read` it is enough that it is no file.

    Raises:
        pytest.UsageError: it is a file, or below one, or no file can be made there.
    """
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise pytest.UsageError(f"{what}: {there} is not a folder; name a folder, or a new one")
    if read:
        return
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        message = f"{what}: nothing can be written to {there} ({error.strerror}); name another"
        raise pytest.UsageError(f"{message} folder") from None
