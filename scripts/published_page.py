"""Write docs/published-models.md: what published models are and need, and how they were checked.

python -m scripts.published_page

Memory and time are computed from the sizes of the backbones, as docs/cost.md does; nothing is
measured. What was compared with which code is written here, and all else is from models.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rmaudit.checkpoints.heads import FAMILIES
from rmaudit.config.model_registry import ModelSpec, load_registry
from rmaudit.distributed.cost import Size

ROOT = Path(__file__).parents[1]
PAGE, MODELS = ROOT / "docs" / "published-models.md", ROOT / "models.yaml"
GB = 10**9
_UNNAMED = {"reward-model-deberta-v3-large-v2": 0.4}  # billions of parameters
ROOM = 1.2  # times the weights; rmaudit.models.device_placement has it, and needs torch
_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
_PREFIX = 45  # ids before the answer, as in docs/cost.md


class Shape(NamedTuple):
    """A backbone's sizes, and how many token ids the chat template has after the answer."""

    vocabulary: int
    hidden: int
    inner: int
    layers: int
    queries: int
    keys: int
    norms: int
    after: int

    @property
    def embedding(self) -> int:
        """Return the number of the embedding's parameters, which are only looked up."""
        return self.vocabulary * self.hidden

    @property
    def passed(self) -> int:
        """Return how many parameters each token id runs through, those of a plain head included."""
        attention = 2 * self.hidden * (self.queries + self.keys)
        layer = attention + 3 * self.hidden * self.inner + self.norms * self.hidden
        return self.layers * layer + 2 * self.hidden


SHAPES = {  # by base model's family and nominal size
    ("Llama", 3): Shape(128256, 3072, 8192, 28, 3072, 1024, 2, 1),
    ("Llama", 8): Shape(128256, 4096, 14336, 32, 4096, 1024, 2, 1),
    ("Llama", 70): Shape(128256, 8192, 28672, 80, 8192, 1024, 2, 1),
    ("Gemma", 2): Shape(256000, 2304, 9216, 26, 2048, 1024, 4, 2),
    ("Gemma", 27): Shape(256000, 4608, 36864, 46, 4096, 2048, 4, 2),
}
POOLS = {
    "last": "the last id of the row",
    "hf": "the rightmost id that is not the pad id",
    "first": "the first id of the row",
    "token": "the last place of its reward token, which ends each row",
}


class Checked(NamedTuple):
    """How a model was checked: its head's family, the code compared with, the largest gaps."""

    family: str
    code: str = ""
    float32: str = ""
    half: str = ""


_SKYWORK = Checked("linear", "transformers' own classes", "9e-6", "0.19 in bfloat16")
_GRM = "transformers' own class; the published configurations were read"
_NEMOTRON = Checked("logit", "the formula of the model card, with BOS", "5e-6", "0.17 in bfloat16")
CHECKED = {
    "N-Gem-27B": Checked("gated", "a third party's copy of its code", "6e-6", "0.15 in bfloat16"),
    "S-Gem-27B-v0.2": _SKYWORK,
    "S-Gem-27B": _SKYWORK,
    "S-Lla-8B-v0.2": _SKYWORK._replace(float32="7e-6", half="0.13 in bfloat16"),
    "N-Lla-8B": Checked(
        "gated",
        "RewardBench's copy of its code (qrm.py), with the configuration of commit 8df27cd",
        "7e-6",
        "0.21 in bfloat16",
    ),
    "L-Lla-8B": Checked("uncertainty", "SGLang's port of its code", "6e-6", "0.013 in float16"),
    "R-Lla-8B": Checked("linear", _GRM, "4e-6", "0.010 to 0.029 in float16"),
    "R-Lla-3B": Checked("linear", _GRM, "7e-6", "0.010 to 0.029 in float16"),
    "F-Lla-8B-v0.1": Checked(
        "gated",
        "its own code, equal byte for byte to the Hub's file at 39aadad; names, shapes and types "
        "of the tensors are the published ones",
        "4e-6",
        "0.08 in bfloat16",
    ),
    "R-Gem-2B": Checked("linear", _GRM, "4e-6", "0.010 to 0.029 in float16"),
    "INF-ORM-Llama3.1-70B": Checked(
        "mlp", "RewardBench's copy of its code (inform.py)", "3e-6", "0.20 in bfloat16"
    ),
    "QRM-Llama3.1-8B-v2": Checked("gated"),
    "Llama-3.1-Nemotron-70B-Reward-HF": _NEMOTRON,
    "Llama-3.3-Nemotron-70B-Reward": _NEMOTRON,
    "reward-model-deberta-v3-large-v2": Checked("pair", "transformers' own class", "1e-6"),
    **{
        name: Checked("linear at a token")
        for name in (
            "InternLM2-1.8B-Reward",
            "InternLM2-7B-Reward",
            "InternLM2-20B-Reward",
            "Athene-RM-8B",
            "Athene-RM-70B",
        )
    },
}

HEAD = f"""# The published models

rmaudit's `models.yaml` has these published models by name. For each, this page says what it is, how it is scored, what was checked, and how much memory and time it needs.
`python -m scripts.published_page` writes this page. We did not have the weights: **nothing here was run on them**.

- *Scored* names the family of the head ([which heads are known](how-to/load-a-checkpoint.md#which-heads-are-known)).
- *Checked* compares rmaudit with code that computes the published formula, on tiny random weights with the published names of tensors (November 2026), on about 20 rows, in the paper's protocol and the exact one. Each number is the largest difference, in standard deviations (sd) of the rewards. In half precision these are rounding errors: rmaudit's error against float32 is about as large as that of the other code.
  For the ten models of Christian et al. 2025 (those with a rank), `tests/models/test_published_formulas.py` repeats this check: it is a second implementation, written from the descriptions of the formulas, for both protocols and the data types in models.yaml.
- *Needs* is computed from the sizes of the backbone ([cost](cost.md)), or, if the text says “about”, from the nominal number of parameters. A model fits on one GPU if {ROOM:g} times the size of its weights is free; otherwise its layers are spread over several GPUs. A sweep scores every id of the vocabulary under one prompt; its seconds are those of one H100 at 44 % of its peak, without loading, also where several are needed to hold the weights.
  `rmaudit plan audits --model NAME` computes memory and time for the checkpoint itself, from its headers.
- Licences, and which models are gated on the Hub, are not recorded: see the model's page there.
"""  # noqa: E501  (a page's lines are as long as its table's)


def page() -> str:
    """Return the text of docs/published-models.md, from models.yaml as it is."""
    specs = [spec for spec in load_registry(MODELS).models.values() if not spec.default]
    sections = ["\n".join(section(spec)) for spec in specs]
    return "\n\n".join([HEAD.rstrip("\n"), *sections]) + "\n"


def section(spec: ModelSpec) -> Iterator[str]:
    """Yield the lines of the section on one model."""
    checked = CHECKED.get(spec.name, Checked("linear"))
    pool = {family.NAME: family.POOL for family in FAMILIES}[checked.family]
    commit = f" at `{spec.revision}`" if spec.revision else ", no commit pinned"
    rank = f"; rank {spec.rewardbench_rank} on RewardBench" if spec.rewardbench_rank else ""
    dtype = "the type of its config.json" if spec.dtype == "auto" else spec.dtype
    yield f"## {spec.name}\n"
    yield (
        f"`{spec.source}`{commit}. From {spec.base_model}, {_billions(spec):g} billion "
        f"parameters{rank}.\n"
    )
    read = POOLS[pool if spec.pool == "auto" else spec.pool]
    yield f"- Scored: a head `{checked.family}`, read at {read}; weights in {dtype}."
    yield f"- Checked: {_said(checked)}"
    yield f"- Needs: {_needs(spec)}"
    yield from (f"- {note}" for note in spec.notes)


def _billions(spec: ModelSpec) -> float:
    """Return a model's size in billions of parameters, which nearly every name says."""
    found = re.search(r"-([0-9.]+)b\b", f"{spec.name} {spec.source}", re.IGNORECASE)
    return float(found[1]) if found else _UNNAMED[spec.name]


def _said(checked: Checked) -> str:
    if not checked.code:
        return "not compared with its authors' code."
    half = f", {checked.half}" if checked.half else ""
    return f"against {checked.code}: at most {checked.float32} sd apart in float32{half}."


def _needs(spec: ModelSpec) -> str:
    """Return the memory that a model needs, and a sweep's time if its backbone's shape is known."""
    family = "Llama" if (spec.base_model or "").startswith(("Llama", "Tulu")) else "Gemma"
    nominal = _billions(spec)
    dtype = "bfloat16" if spec.dtype == "auto" else spec.dtype
    known = (spec.base_model or "").startswith(("Llama", "Tulu", "Gemma"))
    shape = SHAPES.get((family, int(nominal))) if known else None
    if shape is None:
        size = nominal * _BYTES[dtype]
        return (
            f"about {size:.1f} GB for the weights in {dtype}, {ROOM * size:.1f} GB free; "
            f"no time computed."
        )
    parameters = shape.passed + shape.embedding
    if spec.logit is not None:  # a language model's own head, of which one row is used
        parameters += shape.embedding
    size_of = Size(parameters, shape.passed, dtype)
    ids = shape.vocabulary * (1 + shape.after) + _PREFIX
    seconds = size_of.seconds(2.0 * shape.passed * ids)["H100"]
    return (
        f"{size_of.bytes / GB:.1f} GB for the weights in {dtype}, "
        f"{ROOM * size_of.bytes / GB:.1f} GB free; a sweep takes about {seconds:.0f} s on an H100."
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
