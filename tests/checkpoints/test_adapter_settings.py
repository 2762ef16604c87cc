"""What decides the merged weights is merged, and whatever is not checked is refused."""

from __future__ import annotations

from pathlib import Path

import peft
import pytest

from rmaudit.checkpoints import adapter_settings
from tests.checkpoints.adapters import (
    CLASSIFIER,
    PROMPT,
    Make,
    configure,
    refusal,
)
from tests.models.loaded import checkpoint

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("peft_type", kind) for kind in sorted(adapter_settings._PROMPTS)),
        *(("peft_type", kind) for kind in ("IA3", "LOHA", "BOFT", None, "lora", ["LORA"])),
        *(("init_lora_weights", way) for way in ("pissa", "pissa_niter_4", "olora", "lora_ga")),
        ("megatron_config", {"a": 1}),
        ("layer_replication", [[0, 1], [0, 1]]),
        ("alora_invocation_tokens", [1, 2]),
        ("corda_config", {"cache_file": "pickle.pt"}),  # which PEFT unpickles
        ("arrow_config", {"top_k": 1}),
        ("a_key_of_next_year", True),
    ],
)
def test_what_is_no_lora_or_not_checked_is_refused(make: Make, key: str, value: object) -> None:
    """With the entry and what it says. PEFT can merge some of them; here they were not tried."""
    text = refusal(configure(make("rm", **CLASSIFIER), **{key: value}))

    assert text.startswith(f"toy: FOLDER/adapter_config.json has {key} {value!r}")
    step = "full checkpoints and LoRA" if value in adapter_settings._PROMPTS else "Merge it where"
    assert step in text


def test_modules_that_are_named_are_not_imported(
    make: Make, tmp_path: Path, monkeypatch: Patch
) -> None:
    """PEFT writes `auto_mapping` and `megatron_core` into many adapters; here nobody reads them."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    folder = make("rm", **CLASSIFIER)
    configure(folder, auto_mapping={"parent_library": "evil", "base_model_class": "Evil"})
    configure(folder, megatron_core="evil")

    checkpoint(folder).score(PROMPT, ["love"])


def test_every_entry_of_peft_is_decided() -> None:
    """What PEFT adds in a new release is refused where set; what it drops is seen here."""
    assert {*peft.LoraConfig(task_type="SEQ_CLS").to_dict()} >= adapter_settings.MERGED


BOMB = "(.*.*)*[^a-z.0-9_]"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target_modules", BOMB),
        ("exclude_modules", BOMB),
        ("layers_pattern", [BOMB]),
        ("rank_pattern", {BOMB: 2}),
        ("alpha_pattern", {BOMB: 2}),
        ("modules_to_save", [BOMB]),
    ],
)
def test_an_endless_pattern_is_refused(
    make: Make, monkeypatch: Patch, key: str, value: object
) -> None:
    """PEFT would match it for ages; an honest one is matched by it."""
    folder = make("rm", **CLASSIFIER)
    if key == "target_modules":
        configure(folder, target_modules=r"model\.layers\.[01]\..*\.(q|v)_proj")
        checkpoint(folder).score(PROMPT, ["love"])
    monkeypatch.setattr(adapter_settings, "_SECONDS", 0.3)

    text = refusal(configure(folder, **{key: value}))

    assert text.startswith(f"toy: {key} {BOMB!r} in FOLDER/adapter_config.json is a regular ")
