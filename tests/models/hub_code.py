"""A checkpoint that brings its own class, as a download would have left it in the hub's cache.

The class gives 3 w · h + 1, so that a plain head on its weights would give other numbers, and
writes a mark when it is imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmaudit.config.model_registry import ModelSpec
from tests.hub import COMMIT
from tests.models.loaded import change
from tests.toys import toy_checkpoint

CLASS = """
from pathlib import Path
Path({mark!r}).write_text("run")
import torch
from transformers import LlamaModel, LlamaPreTrainedModel
from transformers.modeling_outputs import ModelOutput
class DeadLinear(torch.nn.Linear):
    def forward(self, states):
        return super().forward(states).detach()
class OwnReward(LlamaPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        self.score = torch.nn.Linear(config.hidden_size, 1, bias=False)
        self.post_init()
    def forward(self, input_ids=None, attention_mask=None):
        states = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        reward = 3 * self.score(states[:, -1]) + 1
        {body}
"""
BODY = "return ModelOutput(logits=reward, score=2 * reward[:, 0], rewards=states)"


def snapshot(home: Path, mark: Path, *, body: str = BODY, name: str = "own", **said: Any) -> Path:
    """A snapshot in the hub's cache; `said` goes into config.json."""
    repository = home / "hub" / f"models--owner--{name}"
    folder = toy_checkpoint(repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    code = "modeling_own.OwnReward"
    change(folder / "config.json", auto_map={"AutoModelForSequenceClassification": code}, **said)
    (folder / "modeling_own.py").write_text(CLASS.format(mark=str(mark), body=body))
    return folder


def trusted(**settings: Any) -> ModelSpec:
    """The registry's entry that lets the code run."""
    return ModelSpec(
        "own", "owner/own", revision=COMMIT, trust_remote_code=True, dtype="float32", **settings
    )
