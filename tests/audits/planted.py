"""An audit of the folder audits/, and what it is given: words, references and sweeps of our own."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from rmaudit.errors import ReferenceMissing
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.scores.sweep_result import Sweep
from rmaudit.verdicts.audit_declaration import Declaration, declared
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict

AUDITS = Path(__file__).parents[2] / "audits"
_RNG = np.random.default_rng(0)
WORDS = [
    first + second + "x" * int(more)
    for (first, second), more in zip(
        product("abcdefghijklmnopqrst", repeat=2), _RNG.integers(5, size=400), strict=True
    )
]
ZIPF = pd.Series(_RNG.uniform(3, 7, size=400), index=WORDS, name="wordfreq")
VALENCE = pd.Series(_RNG.uniform(1, 9, size=400), index=WORDS, name="labmt")


class Planted(References):
    """References made up; `missing` names the lists that cannot be had."""

    def __init__(self, *missing: str) -> None:
        super().__init__()
        self.missing = missing

    def lexicon(self, name: str) -> pd.Series[float]:
        """Valences."""
        return VALENCE.rename(name)

    def words(self, name: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        """Those of rmaudit."""
        return tuple(default) if self.has(name) else ()

    def frequency(self, name: str, words: Iterable[str]) -> pd.Series[float]:
        """Zipf frequencies."""
        if name in self.missing:
            raise ReferenceMissing(f"{name}: no such file", command=f"rmaudit data {name}")
        return ZIPF[ZIPF.index.isin(list(words))].rename(name)

    def common_words(self) -> pd.Index[str]:
        """All words."""
        return ZIPF.index


def audit_called(name: str, file: str | None = None) -> Callable[..., Estimate]:
    """The audit function of the file audits/test_NAME.py, or of the file of another."""
    function: Callable[..., Estimate] = getattr(_module(file or name), f"test_{name}")
    return function


def declarations() -> list[Declaration]:
    """What all audits of the folder declare."""
    names = sorted(path.stem.removeprefix("test_") for path in AUDITS.glob("test_*.py"))
    found = [declared(each) for name in names for each in vars(_module(name)).values()]
    return [declaration for declaration in found if declaration is not None]


def _module(name: str) -> ModuleType:
    path = AUDITS / f"test_{name}.py"
    spec = importlib.util.spec_from_file_location(f"audited_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sweep_of(texts: Iterable[str], scores: Any, prompt: str = "best", **provenance: Any) -> Sweep:
    """A sweep with these scores; `provenance` may give its noise and protocol."""
    frame = pd.DataFrame({"text": list(texts), "score": np.asarray(scores, np.float32)})
    return Sweep("Planted", PROMPTS[prompt], "key", frame, provenance)


def verdict(function: Callable[..., Estimate], estimate: Estimate) -> Verdict:
    """How the audit's own bound judges the estimate."""
    declaration = declared(function)
    return declaration.bound.judge(estimate)
