"""Define the keys of a model in models.yaml: each once, with its type, spelling and meaning.

A new key is a new field of `ModelSpec`: its checks are made of it, and its explanation, which
`rmaudit models --keys` prints for the head of models.yaml (a test keeps both equal).
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

from rmaudit.config import servers

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Pool = Literal["auto", "last", "hf"]

_LONGEST_ID = 96  # characters that the hub allows in `owner/name`
_HUB_ID = r"(?a:\w[\w.-]*/\w[\w.-]*)"


def is_hub_id(source: str) -> bool:
    """Return whether `source` is spelled like a Hugging Face hub id, `owner/name`."""
    return len(source) <= _LONGEST_ID and re.fullmatch(_HUB_ID, source) is not None


def pinned(source: str) -> tuple[str, str | None]:
    """Return the hub id and the commit of `owner/name@COMMIT`; any other source, and None."""
    found = re.fullmatch(PINNED, source)
    commit = found and found["commit"]
    return (source.removesuffix(f"@{commit}"), commit) if commit else (source, None)


@dataclass(frozen=True, slots=True)
class Key:
    """Description of a models.yaml key: its meaning and the values allowed.

    Attributes:
        meaning: what it says, for the head of models.yaml.
        allowed: what errors say is allowed; "" where the type says it.
        spelling: a regular expression of the whole value; "" for any value of the type.
    """

    meaning: str = ""
    allowed: str = ""
    spelling: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:  # noqa: ANN401  (pydantic's)
        """Return a schema by which pydantic checks a value's type, then its spelling."""
        from pydantic_core import PydanticCustomError, ValidationError, core_schema

        def check(value: Any, of_type: Any) -> Any:  # noqa: ANN401  (pydantic's)
            try:
                value = of_type(value)
            except ValidationError:
                value = None
            if value is None or (self.spelling and not re.fullmatch(self.spelling, str(value))):
                raise PydanticCustomError("allowed", "{allowed}", {"allowed": self.allowed})
            return value

        schema = handler(source)
        if not self.allowed:
            return schema
        return core_schema.no_info_wrap_validator_function(check, schema)


NAMED = "a model of this file by its name, a hub id, or a folder that begins with './', '../', '/'"
_WORD = "a word in quotes, with the space before it if there is one, such as ' Yes'"


@dataclass(frozen=True, slots=True)
class Judge:
    """Settings that make a language model a judge: the two verdicts whose logits are compared.

    Attributes:
        yes: the verdict that is good for the answer, with its space.
        no: the one that is bad for it.
        template: the file of the text that the judge reads; None: its own chat template.
        paraphrases: files of the same in other words, for the audit `judge_wording`.
    """

    yes: Annotated[str, Key("", _WORD)]
    no: Annotated[str, Key("", _WORD)]
    template: Annotated[str | None, Key("", "a file with a jinja template")] = None
    paraphrases: Annotated[tuple[str, ...], Key("", "a list of files with jinja templates")] = ()


@dataclass(frozen=True, slots=True)
class Implicit:
    """The implicit reward of a policy trained by DPO: reference, beta, and if closing tokens count.

    The policy is the source of the entry itself. Without a reference the reward is the policy's own
    log-probability, and beta is 1.
    """

    reference: ModelSpec | None
    beta: float
    closing: bool


Rule = Literal["mean", "minimum", "mean-sd"]


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A reward made of those of other entries: the members, how they are combined, and k.

    `mean-sd` is the mean less k times the members' sd; k has no effect on other rules.
    """

    members: tuple[ModelSpec, ...]
    rule: Rule
    k: float


SOURCE = rf"embedded|(?=.{{1,{_LONGEST_ID}}}$){_HUB_ID}|(\.|\.\.|~)?/.+"
_SOURCES = (
    "'embedded', a hub id 'owner/name', or a folder that begins with './', '../', '/' or '~/'"
)
PINNED = rf"{SOURCE}|(?=.{{1,{_LONGEST_ID}}}@){_HUB_ID}@(?P<commit>[0-9a-f]{{40}})"
_PINNED = (
    "'embedded', a folder that begins with './', '../', '/' or '~/', or a hub id 'owner/name' or "
    "'owner/name@COMMIT', with a full commit hash of 40 hex digits (branches and tags move)"
)
OR_SERVED = f"{_SOURCES}, or a server such as 'vllm+http://host:8000'"
OBJECTIVE = r"(?a:\w[\w .+/-]{0,79})"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's entry in models.yaml: what to load and how. Each field but `name` is a key.

    Relative folders and files are absolute here, and `embedded` stands for the bundled model.

    Attributes:
        name: what `--model` and the reports call it.
    """

    name: str
    source: Annotated[
        str,
        Key(
            "required; what to load: a hub id (owner/name), a checkpoint folder that begins with "
            "./, ../, / or ~/ (the first two are relative to this file), `embedded`, the small "
            "bundled model, or a server: vllm+http://host:8000, sglang+http://host:30000 or "
            "openrlhf+http://host:5000/get_reward (https too), or KIND+..., which an installed "
            "package opens",
            OR_SERVED,
            rf"{servers.SPELLING}|{servers.OTHERS}|{SOURCE}",
        ),
    ]
    _: KW_ONLY
    revision: Annotated[
        str | None,
        Key(
            "the full commit hash of a hub id; branches and tags move and are refused; without it "
            "the newest commit is loaded",
            "a full commit hash of 40 hex digits (branches and tags move)",
            "[0-9a-f]{40}",
        ),
    ] = None
    dtype: Annotated[
        Dtype,
        Key(
            "what the weights are loaded as: auto (what the checkpoint says), float32, bfloat16 or "
            "float16"
        ),
    ] = "auto"
    pool: Annotated[
        Pool,
        Key(
            "where the reward is read: last (the last id of the row), hf (transformers' rule: the "
            "rightmost id that is not the pad id) or auto (the rule of the head's family, with a "
            "warning where that is transformers' rule and gives another id than the last)"
        ),
    ] = "auto"
    logit: Annotated[
        int | None,
        Key(
            "the vocabulary id whose logit at the last id is the reward, for language models that "
            "were trained so (Nemotron's is 0); models with a head have none",
            "a token id, such as 0",
            "0|[1-9][0-9]{0,6}",
        ),
    ] = None
    judge: Annotated[
        Judge | None,
        Key(
            "for language models that judge: {template: FILE, yes: ' Yes', no: ' No'}. The jinja "
            "template (relative to this file; without it the model's own, as guard models have) "
            "prints prompt and answer and ends where the verdict is to stand; the reward is the "
            "logit of yes less that of no there, each word one token. `paraphrases: [FILE]` are "
            "templates that ask the same in other words, for the audit of the judge's wording"
        ),
    ] = None
    implicit: Annotated[
        Implicit | None,
        Key(
            "for the reward that DPO leaves in a language model: {policy: NAME, reference: NAME, "
            "beta: 0.1}, beta times the log of the answer's probability under the policy over that "
            "under the reference; both are models of this file, hub ids or folders, with one "
            "tokenizer. {policy: NAME} alone is the log of that probability itself. "
            "`closing: true` counts the tokens that close the turn too. In place of source"
        ),
    ] = None
    ensemble: Annotated[
        Ensemble | None,
        Key(
            "for a reward made of those of two or more models of this file, each standardised on "
            "rmaudit's bundled pairs: {members: [NAME, NAME], rule: minimum}. The rule is mean, "
            "minimum, or mean-sd, the mean less k times the members' sd (k: 1). In place of source"
        ),
    ] = None
    objective: Annotated[
        str | None,
        Key(
            "of a head with several outputs: the one that is audited, by its name or its number "
            "from 0, in place of their combination; `--model 'NAME#honesty'` asks for it without "
            "an entry",
            "the name of an output of the head, or its number in quotes, such as honesty or '0'",
            OBJECTIVE,
        ),
    ] = None
    quantized: Annotated[
        bool,
        Key(
            "true if the checkpoint's weights are quantized (bitsandbytes, GPTQ, AWQ, fp8) and "
            "these are to be audited; without it they are refused"
        ),
    ] = False
    compiled: Annotated[
        bool,
        Key(
            "true fuses the small kernels of each layer by torch.compile, which is faster on a GPU "
            "and slow to begin; rewards differ by rounding, so they have keys of their own"
        ),
    ] = False
    template: Annotated[
        str | None,
        Key(
            "a file with a jinja chat template to use in place of the checkpoint's own, relative "
            "to this file"
        ),
    ] = None
    base: Annotated[
        str | None,
        Key(
            "the language model that it was trained from, for the audit of what leaks from "
            "pretraining: a folder as in source, `embedded`, or a hub id, at a commit if you write "
            "owner/name@COMMIT, with the same tokenizer; it is loaded as well as the model, so it "
            "costs its own download",
            _PINNED,
            PINNED,
        ),
    ] = None
    policy: Annotated[
        str | None,
        Key(
            "the language model that is to be trained on this reward, such as one's own SFT model, "
            "for what training would make of it: as base, which stands in where this is not given",
            _PINNED,
            PINNED,
        ),
    ] = None
    checkpoint: Annotated[
        str | None,
        Key(
            "of a server: the checkpoint that it serves, as a hub id or a folder: vLLM and SGLang "
            "are sent ids of its tokenizer, OpenRLHF what its chat template prints, and `rmaudit "
            "doctor` compares the server with it",
            _SOURCES,
            SOURCE,
        ),
    ] = None
    served_model: Annotated[
        str | None,
        Key(
            "of a vLLM or SGLang server: the name under which it serves the model, where it serves "
            "several"
        ),
    ] = None
    version: Annotated[
        str | None,
        Key(
            "of a server: which weights it serves, in your words; a part of the key of its scores, "
            "since a server can change beneath its name: write another one when it does; "
            "openrlhf+http needs one"
        ),
    ] = None
    api_key: Annotated[
        str | None,
        Key(
            "of a server: the name of the environment variable that holds its key",
            "the name of an environment variable, such as RM_API_KEY, and never the key itself",
            servers.KEY_NAME,
        ),
    ] = None
    batch: Annotated[
        int,
        Key(
            "of a server: answers in one request (256)",
            "a whole number from 1 to 9999, such as 64",
            "[1-9][0-9]{0,3}",
        ),
    ] = 256
    concurrency: Annotated[
        int,
        Key(
            "of a server: requests at once (4)",
            "a whole number from 1 to 64, such as 4",
            "[1-9]|[1-5][0-9]|6[0-4]",
        ),
    ] = 4
    of: Annotated[
        str | None,
        Key(
            "the family that it is a release of: `rmaudit history` joins its releases by it, and a "
            "run is compared with the family's blessed release (blessed/FAMILY.json)",
            "a name of at most 80 letters, digits, '_', '.' and '-'",
            r"(?a:\w[\w.-]{0,79})",
        ),
    ] = None
    base_model: Annotated[str | None, Key("what it was trained from, in words")] = None
    rewardbench_rank: Annotated[
        int | None,
        Key(
            "its rank on RewardBench, as printed in Christian et al. 2025, Table 1",
            "a whole number above 0, such as 8",
            "[1-9][0-9]{0,5}",
        ),
    ] = None
    pairs: Annotated[
        str | None,
        Key(
            "a file of pairs of answers (JSON Lines: prompt, chosen, rejected), relative to this "
            "file, for the audits of pairs; --rm-pairs goes before it"
        ),
    ] = None
    default: Annotated[
        bool, Key("true for exactly one model: the one that is audited when none is named")
    ] = False
    trained_on: Annotated[
        str | None,
        Key(
            "the model was trained on half of the reference words and items, split by this salt: "
            "audits use the other half"
        ),
    ] = None
    wanted: Annotated[
        tuple[tuple[str, str], ...],  # pairs, since a spec can be hashed; a mapping in the file
        Key(
            "by kind as the report names it, or by a word of it, why its makers want that: then "
            "token_kinds and answer_kinds do not fail by it (docs/how-to/accept-and-bless.md)"
        ),
    ] = ()
    notes: Annotated[
        tuple[str, ...], Key("a list of sentences to know before reading its numbers")
    ] = ()
