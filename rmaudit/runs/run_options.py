"""Define the options of a run, each once for pytest, the commands of rmaudit and Python.

A new option is a new field of `RunOptions`. From it come pytest's option, that of `rmaudit plan`
and `sweep`, the argument of `rmaudit.run`, the command that repeats a finding, the options that
other processes are given, and the table of docs/options.md. After a change,
`python -m scripts.run_options` writes what is text: the table, and the signature of `rmaudit.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Literal, get_type_hints

from rmaudit.config.model_spec import Dtype
from rmaudit.runs.option_parsing import (
    DEVICES,
    DTYPES,
    LARGEST,
    Decides,
    Option,
    folder_or_url,
    path_or_none,
    policy_source,
    ray_address,
    read_dtype,
    text_matching,
    whole_number_from,
)

_PROMPTS = "str | Path | Sequence[str | Prompt] | None"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run of audits. `RunOptions.of` checks values, the constructor does not."""

    models: Annotated[
        tuple[str, ...],
        Option(
            "a model to audit: a name in models.yaml, a glob over the names, a checkpoint folder, "
            "or a hub id; may be repeated",
            "NAME",
            unset="the default of models.yaml",
            more="Another plugin may own pytest's `--model`; `--rm-model` is always rmaudit's.",
            repeated=True,
            pytest="--rm-model",
            command="--model",
            python="*models",
        ),
    ] = ()
    registry: Annotated[
        Path | None,
        Option(
            "the registry: a file in place of models.yaml",
            "FILE",
            "a file",
            path_or_none,
            unset="models.yaml",
            pytest="--rm-models",
            command="--file",
        ),
    ] = None
    report: Annotated[
        Path | None,
        Option(
            "the folder that reports are written to",
            "DIR",
            "a folder",
            path_or_none,
            unset="reports",
            decides="nothing",
            more="`rmaudit.run` writes pages only where it is given.",
        ),
    ] = None
    cache: Annotated[
        str | None,
        Option(
            "where scores and built models are cached: a folder, or a URL such as "
            "s3://bucket/folder for the scores alone",
            "DIR",
            "a folder or a URL",
            folder_or_url,
            unset="the user's cache folder",
            more="A URL needs `pip install 'rmaudit[s3]'`; the rest is in the user's cache folder.",
            takes="Path | str | None",
        ),
    ] = None
    gate: Annotated[
        bool,
        Option(
            "make the exit code the verdict of the run: 0 only if it PASSES or is ACCEPTED",
            decides="nothing",
            more="[Gate in CI](how-to/gate-in-ci.md). Refused with `--collect-only`.",
            python="",
        ),
    ] = False
    everything: Annotated[
        bool,
        Option(
            "also measure the figures that cost much, and conduct on all its contexts",
            more="The figures are marked in [the list](audits.md#figures).",
            pytest="--rm-all",
            command="--all",
        ),
    ] = False
    seed: Annotated[
        int,
        Option(
            "seed of all random draws",
            "N",
            f"a whole number from 0 up to {LARGEST}",
            whole_number_from(0),
        ),
    ] = 0
    sample: Annotated[
        int | None,
        Option(
            "a first look at a large model: score a random sample of N token ids, and at most as "
            "many of the words that audits name",
            "N",
            f"a positive whole number of token ids up to {LARGEST}",
            whole_number_from(1),
            unset="the whole vocabulary",
            more="The run never PASSES: [what a sample can say]"
            "(how-to/large-model.md#what-a-sample-can-say).",
        ),
    ] = None
    device: Annotated[
        str,
        Option(
            "where models run: auto (one GPU, all of them if the weights do not fit, or the CPU), "
            "spread (over all devices), cpu, cuda:1 ...",
            "NAME",
            "auto, spread, cpu, mps, or cuda, xpu, hpu or npu, with or without a number (cuda:0)",
            text_matching(DEVICES),
        ),
    ] = "auto"
    dtype: Annotated[
        Dtype | None,
        Option(
            f"the dtype that models run in: {', '.join(DTYPES)}; auto: the checkpoint's own",
            "DTYPE",
            ", ".join(DTYPES),
            read_dtype,
            unset="the dtype that models.yaml names",
        ),
    ] = None
    recorded: Annotated[
        bool,
        Option(
            "audit published scores (rmaudit data import), without any weights", decides="findings"
        ),
    ] = False
    baseline: Annotated[
        str | None,
        Option(
            "the model that the audited one is to replace, named as for --model",
            "NAME",
            "the name of a model",
            unset="none; audits that compare are skipped",
        ),
    ] = None
    policy: Annotated[
        str | None,
        Option(
            "the language model that is to be trained on the reward, a folder, a hub id or a file "
            "of its log-probabilities, for the audits of what training would make of it",
            "SOURCE",
            "a folder or a .jsonl file that is there, or a hub id such as owner/name",
            policy_source,
            unset="`policy` or else `base` in models.yaml",
            more="[Its file for a served model]"
            "(how-to/samples.md#first-token-probabilities-of-a-served-model).",
        ),
    ] = None
    prompts: Annotated[
        str | None,
        Option(
            "ask the audits other prompts: a YAML file of prompts, and of lexicons, words and "
            "rankings that go with them; or names of prompts, with commas",
            "FILE",
            "a YAML file, or names of prompts",
            unset="the prompts that each audit declares",
            more="[Own words](how-to/own-words.md). `rmaudit.run` takes a sequence of names and "
            "`Prompt`s too.",
            takes=_PROMPTS,
        ),
    ] = None
    search: Annotated[
        int,
        Option(
            "how many sequences each search for very high and very low rewards may score; 0: none, "
            "and figures that search are skipped",
            "N",
            f"a whole number of evaluations, 0 for none, up to {LARGEST}",
            whole_number_from(0),
            more="Only figures search, and only with `--rm-all`; give 1000000 for a release.",
        ),
    ] = 2000
    pairs: Annotated[
        Path | None,
        Option(
            "pairs of answers (JSON Lines: prompt, chosen, rejected), or the file of RewardBench "
            "2, for the audits of pairs",
            "FILE",
            "a file",
            path_or_none,
            unset="`pairs` of the model's entry in models.yaml",
            more="[Pairs of your own](how-to/pairs.md).",
        ),
    ] = None
    samples: Annotated[
        Path | None,
        Option(
            "answers that your own policy gave (JSON Lines: prompt, responses), for the audits of "
            "a policy's whole answers",
            "FILE",
            "a file",
            path_or_none,
            unset="the answers of a small open policy, which are bundled; for fresh_answers, those "
            "that the policy gives, where its weights are named",
            more="[Samples of your policy](how-to/samples.md).",
        ),
    ] = None
    log: Annotated[
        Literal["mlflow", "wandb", "trackio"] | None,
        Option(
            "where the run is logged besides its report: mlflow, wandb (Weights & Biases) or "
            "trackio; findings as metrics, the report's files as artifacts",
            "WHERE",
            "mlflow, wandb or trackio",
            text_matching("mlflow|wandb|trackio"),
            unset="nowhere",
            decides="nothing",
            more="[Log runs](how-to/log-runs.md).",
        ),
    ] = None
    on: Annotated[
        str | None,
        Option(
            "score what the audits need on Ray before they run: ray, or the address of a cluster",
            "WHERE",
            "ray, or the address of a Ray cluster, such as host:6379",
            ray_address,
            unset="this process scores it",
            decides="nothing",
            more="[Ray](how-to/many-hosts.md#ray).",
        ),
    ] = None

    @classmethod
    def of(
        cls, given: Mapping[str, object], name_in_errors: Callable[[str], str] = lambda name: name
    ) -> RunOptions:
        """Check `given`, values by field name, and return them as options; None means the default.

        Raises:
            SpecError: a value is not allowed; `name_in_errors` says how the error calls a field.
        """
        return cls(
            **{
                name: OPTIONS[name].value(value, name_in_errors(name))
                for name, value in given.items()
                if value is not None
            }
        )

    def deciding(self, *what: Decides) -> RunOptions:
        """Return a copy with only the options that decide `what` ("scores", ...); reset others."""
        return replace(
            RunOptions(),
            **{name: getattr(self, name) for name in OPTIONS if OPTIONS[name].decides in what},
        )

    def words(self, flag_of: Callable[[Option], str]) -> list[str]:
        """Return these options as command-line arguments; those at their default are left out.

        `flag_of` returns an option's name on that command line. A folder or file called `--` is
        written `./--`: argparse drops the value `--`, also behind a `=`.
        """
        words = list[str]()
        for name, option in OPTIONS.items():
            value, flag = getattr(self, name), flag_of(option)
            if value == option.default:
                continue
            if not option.metavar:
                words.append(flag)
            else:
                values = map(str, value if option.repeated else [value])
                words += [f"{flag}={'./--' if each == '--' else each}" for each in values]
        return words


def _options_by_field() -> dict[str, Option]:
    """Return the `Option` of each field of `RunOptions`, by field name, with defaults filled in."""
    hints, found = get_type_hints(RunOptions, include_extras=True), {}
    for field in fields(RunOptions):
        (option,) = hints[field.name].__metadata__
        found[field.name] = replace(
            option,
            pytest=option.pytest or f"--rm-{field.name}",
            command=option.command or f"--{field.name}",
            python=field.name if option.python is None else option.python,
            default=field.default,
            allowed=option.allowed or "True or False",
        )
    return found


OPTIONS: Mapping[str, Option] = _options_by_field()
