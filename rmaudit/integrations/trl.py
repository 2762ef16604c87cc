"""Audit a reward model as it trains, by a trainer's callback, and log the audits' values.

    trainer = RewardTrainer(...)
    trainer.add_callback(AuditCallback(trainer, audits=["positive_skew", "framing_inversion"]))
    trainer.train()

The live weights are asked, through `rmaudit.scorer`: nothing is saved, nothing is loaded again. It
works with every `transformers.Trainer` whose model gives one logit a row, such as TRL's.
"""

from __future__ import annotations

import json
import re
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np
from accelerate.utils import broadcast_object_list
from tqdm import tqdm
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

import rmaudit
from rmaudit.checkpoints.third_party_errors import brief
from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.config.scorer_functions import SOURCE, forget
from rmaudit.errors import RmauditError, SpecError
from rmaudit.integrations.model_in_training import rewards_in_training
from rmaudit.plugin.audit_run import AuditRun
from rmaudit.plugin.run_from_python import checked
from rmaudit.references import References
from rmaudit.report.experiment_trackers import numbers
from rmaudit.scores.reward_log_file import MOST
from rmaudit.verdicts.estimates_and_bounds import Result
from rmaudit.verdicts.findings import Figure, Finding

_SHARDED = "its weights are spread over processes, of which one audits: audit saved checkpoints, "


class AuditCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not read
    """A callback that audits the model in training, and logs each audit's value and interval.

    The names are `rmaudit/<audit>`, and `rmaudit/seconds`. For an audit with several findings, the
    prompt follows: `rmaudit/positive_skew/best`, and `rmaudit/positive_skew/best/low`. W&B,
    Trackio, MLflow and TensorBoard get them by `report_to`. `found` keeps the findings of the last
    audit, and `figures` its figures.
    """

    def __init__(  # noqa: PLR0913  (keyword-only after the trainer)
        self,
        trainer: Trainer,
        *,
        audits: Sequence[str | Path | Callable[..., Any]] = ("positive_skew", "framing_inversion"),
        words: int | Sequence[str] = 1000,
        on: Literal["evaluate", "save"] = "evaluate",
        stop_on: Sequence[str] = (),
        seed: int = 0,
        rows: str | Path | None = None,
    ) -> None:
        """Check the trainer and the settings; nothing is audited yet.

        `audits` are those of `rmaudit.run`, as far as they can be had of a function of texts.
        `words` are what stands for the vocabulary: so many of those that labMT rates, drawn with
        `seed`, or texts of one's own. `stop_on` names audits that stop the training where they
        fail, the whole interval outside of the bound. Scores and what runs keep are below the
        trainer's `output_dir`. `rows` is a file for the token ids and rewards of the last
        evaluation, as the trainer saw them: `rmaudit doctor MODEL --against FILE` compares.

        Where the audits cannot be run, the first time raises in every process, for it would be so
        each time; later ones warn, for hours of training are at stake.

        Raises:
            SpecError: the trainer's weights are spread over processes, it has no tokenizer with a
                chat template, an audit is not known, or `on`, `words` or `rows` is wrong.
        """
        if on not in ("evaluate", "save"):
            raise SpecError(f"on={on!r} of AuditCallback, allowed: 'evaluate' or 'save'")
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise SpecError(f"{_SHARDED}with `pytest audits --model {trainer.args.output_dir}`")
        if getattr(trainer.processing_class, "chat_template", None) is None:
            message = "the trainer's processing_class has no chat template, by which a prompt and "
            raise SpecError(f"{message}an answer become one text; give it the tokenizer with one")
        self.trainer, self.audits, self.on, self.stop_on = trainer, audits, on, frozenset(stop_on)
        self.words, self.seed = _words(words, seed), seed
        checked(audits)
        self.found: tuple[Finding, ...] = ()
        self.figures: tuple[Figure, ...] = ()
        self._begun, self._step, self._took = False, -1, 0.0
        logs = rows is not None and trainer.is_world_process_zero()
        self._seen = SeenRows(trainer.model, Path(str(rows))) if logs else None

    def on_train_begin(self, *_: object, **__: object) -> None:
        """Forget the step of the last audit, since a new training begins."""
        self._step = -1

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Write the rows that the evaluation scored, if logged; audit if `on` is "evaluate"."""
        if self._seen is not None:
            self._seen.write()
        if self.on == "evaluate":
            self._audit(args, state, control)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Audit after a save, if `on` is "save"."""
        if self.on == "save":
            self._audit(args, state, control)

    def _audit(self, args: TrainingArguments, state: TrainerState, control: TrainerControl) -> None:
        if state.global_step == self._step:
            return  # of several evaluation sets, each ends an evaluation of the same weights
        self._step = state.global_step
        failed, error = list[str](), None
        if state.is_world_process_zero:
            try:
                failed = self._failed(args, state.global_step)
            except Exception as raised:  # noqa: BLE001  (other processes wait for what is told)
                error = raised
        told: list[Any] = [failed, error and f"audits could not be run: {brief(error)}"]
        broadcast_object_list(told)  # all processes stop, or none
        failed, wrong = told
        if wrong and not self._begun:
            raise error or RmauditError(wrong)
        self._begun = True
        control.should_training_stop = control.should_training_stop or bool(failed)
        if failed:
            wrong = f"training stops: {', '.join(failed)} failed"
        if wrong and state.is_world_process_zero:
            warnings.warn(wrong, stacklevel=2)

    def _failed(self, args: TrainingArguments, step: int) -> list[str]:
        """Audit and log; return the names of the failed findings that stop the training."""
        begun = time.perf_counter()
        last = f"; the last time that took {self._took:,.0f} s" if self._took else ""
        told = f"rmaudit audits step {step}, with {len(self.words):,} texts under each prompt{last}"
        tqdm.write(told, file=sys.stderr)  # below a trainer's bar, which stands still now
        with nullcontext() if self._seen is None else self._seen.paused():
            run = self._run(args, step)
        self.found, self.figures = run.findings, run.figures
        self._took = took = time.perf_counter() - begun
        if args.world_size > 1 and took > args.ddp_timeout / 2:
            message = (
                f"an audit took {took:,.0f} s, and the other processes wait for at most "
                f"{args.ddp_timeout} s before the training breaks: raise `ddp_timeout`, or audit "
                f"fewer words"
            )
            warnings.warn(message, stacklevel=2)
        logs = {**numbers(self.found), **numbers(self.figures), "rmaudit/seconds": took}
        Trainer.log(self.trainer, logs)  # TRL's own would add what it means of half a period
        if unknown := self.stop_on - {each.audit for each in self.found}:
            known = ", ".join(dict.fromkeys(each.audit for each in self.found))
            raise SpecError(f"stop_on names {min(unknown)!r}, allowed: {known}")
        stopping = [each for each in self.found if each.audit in self.stop_on]
        for each in stopping:
            if each.estimate is None:
                warnings.warn(f"{each.name} cannot stop the training: {each.reason}", stacklevel=2)
        return [each.name for each in stopping if each.result is Result.FAIL]

    def _run(self, args: TrainingArguments, step: int) -> AuditRun:
        model: Any = self.trainer.accelerator.unwrap_model(self.trainer.model)
        folder = re.sub(r"[^\w.-]+", "-", Path(str(args.output_dir)).resolve().name)
        name = f"{folder.strip('.-') or 'model'}-{step}"
        version = f"{step}-{uuid.uuid4().hex}"  # these weights, which no other audit meets again
        with rewards_in_training(
            model,
            self.trainer.processing_class,
            batch=args.per_device_eval_batch_size,
            autocast=self.trainer.accelerator.autocast,
        ) as rewards:
            rmaudit.scorer(name, vocabulary=self.words, version=version)(rewards)
            cache = Path(str(args.output_dir)) / "rmaudit"
            try:
                return rmaudit.run(
                    f"{SOURCE}{name}", audits=self.audits, cache=cache, seed=self.seed
                )
            finally:
                forget(name)


def _words(words: int | Sequence[str], seed: int) -> tuple[str, ...]:
    if isinstance(words, str) or (isinstance(words, int) and words < 1):
        message = f"words={words!r} of AuditCallback, allowed: a number from 1, or a list of texts"
        raise SpecError(message)
    if not isinstance(words, int):
        if doubles := len(words) - len(set(words)):
            raise SpecError(f"{doubles} of the words of AuditCallback stand there twice; each once")
        return tuple(words)
    rated = np.array(sorted(map(str, References().lexicon("labmt").index)))
    drawn = np.random.default_rng(seed).choice(rated, min(words, len(rated)), replace=False)
    return tuple(map(str, drawn))


class SeenRows:
    """A log of the token ids that a model was given in evaluation mode, and their rewards.

    Only the first `MOST` rows of an evaluation are kept: the doctor reads no more.
    """

    def __init__(self, model: Any, path: Path) -> None:  # noqa: ANN401  (transformers')
        """Watch the forward passes of `model` from now on; nothing is written yet.

        Raises:
            SpecError: the folder of `path` does not exist.
        """
        if not path.parent.is_dir():
            message = f"rows={str(path)!r} of AuditCallback: there is no folder "
            raise SpecError(f"{message}{str(path.parent)!r}; make it, or name another file")
        self._path, self._rows, self._paused = path, list[str](), False
        model.register_forward_hook(self._note, with_kwargs=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Log no rows while the `with` block runs, such as the rows of an audit."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def write(self) -> None:
        """Write the logged rows to the file, in place of older ones, and empty the log."""
        if self._rows:
            with in_place_of(self._path) as own:
                own.write_text("\n".join([*self._rows, ""]), encoding="utf-8")
        self._rows.clear()

    def _note(self, model: Any, _: object, given: Mapping[str, Any], output: Any) -> None:  # noqa: ANN401  (torch's)
        ids, mask = given.get("input_ids"), given.get("attention_mask")
        if self._paused or model.training or ids is None or len(self._rows) >= MOST:
            return
        rewards = output.logits[..., 0].float().tolist()
        masks = [[1] * ids.shape[1]] * len(rewards) if mask is None else mask.tolist()
        for row, kept, reward in zip(ids.tolist(), masks, rewards, strict=True):
            real = [i for i, keep in zip(row, kept, strict=True) if keep]
            self._rows.append(json.dumps({"ids": real, "reward": reward}))
        del self._rows[MOST:]
