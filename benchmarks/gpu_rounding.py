"""Measure how far half precision moves the rewards of a model of a published size.

python -m benchmarks.gpu_rounding [llama-3.1-8b] [gemma-2-27b] [--prompts 12] [--answers 256]

The weights are random, made on the device in bfloat16 and then widened to float32, in which the
engine gives the reference: a GPU needs four bytes a weight (109 GB for Gemma-2-27B). The same
prompts and answers, of random ids, are scored in bfloat16 on each of the engine's paths, with
compiled layers, and by transformers' own forward. Prints a line of JSON for each: the root mean
square of the error within a prompt, and of the error that all answers to a prompt share, both in
sd of the rewards of a prompt. `tiny --device cpu` only tries the program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.gpu import SHAPES, random_weights
from benchmarks.harness import arguments, say
from rmaudit.models.loaded_weights import Weights
from rmaudit.scoring import ScoringPath, compiled_layers, engine

PREFIX, SUFFIX, ROWS = 42, (5,), 64
Ids = tuple[int, ...]


def main() -> None:
    """Score each shape in both precisions, and print how far they are apart."""
    parser = arguments(__doc__)
    parser.add_argument("shapes", nargs="*", default=["llama-3.1-8b", "gemma-2-27b"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--answers", type=int, default=256)
    asked = parser.parse_args()
    for shape in asked.shapes:
        weights = random_weights(SHAPES[shape], torch.device(asked.device))
        rng, ids = np.random.default_rng(0), weights.model.config.vocab_size
        prompts = [tuple(map(int, rng.choice(ids, PREFIX))) for _ in range(asked.prompts)]
        answers = [(int(i),) for i in rng.choice(ids, asked.answers, replace=False)]
        for way, (within, shared) in _errors(weights, prompts, answers).items():
            figures = {"within_prompt_sd": round(within, 3), "shared_sd": round(shared, 3)}
            say("gpu_rounding", shape=shape, way=way, **figures)


def _errors(
    weights: Weights, prompts: Sequence[Ids], answers: Sequence[Ids]
) -> dict[str, tuple[float, float]]:
    """Return the errors of each way to score, within a prompt and shared by its answers."""
    scorer, rewards = weights.scorer, dict[str, NDArray[np.float64]]()

    def scored() -> NDArray[np.float64]:
        return np.array([engine.score(scorer, prompt, answers, SUFFIX) for prompt in prompts])

    own = scorer.path
    for path in ScoringPath:
        weights.use_path(path)
        scorer.forget()
        rewards[str(path)] = scored()
    weights.model.set_attn_implementation(weights.attention)  # as transformers would run it
    rewards["transformers' own forward"] = _own_forward(weights, prompts, answers)
    weights.use_path(own)
    scorer.forget()
    compiled_layers.fuse(scorer, name="benchmark")
    rewards["compiled layers"] = scored()
    with compiled_layers.as_written(scorer):
        weights.model.float()
        scorer.forget()
        exact = scored()
    sd = exact.std(axis=1).mean()
    return {
        way: (_rms((found - exact).std(axis=1) / sd), _rms((found - exact).mean(axis=1) / sd))
        for way, found in rewards.items()
    }


@torch.inference_mode()
def _own_forward(
    weights: Weights, prompts: Sequence[Ids], answers: Sequence[Ids]
) -> NDArray[np.float64]:
    """Return the rewards of whole rows, shaped (prompts, answers)."""
    device, found = weights.model.device, list[float]()
    for prompt in prompts:
        for start in range(0, len(answers), ROWS):
            some = answers[start : start + ROWS]
            rows = torch.tensor([[*prompt, *answer, *SUFFIX] for answer in some], device=device)
            found += weights.model(rows, use_cache=False).logits[:, 0].float().tolist()
    return np.array(found).reshape(len(prompts), len(answers))


def _rms(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2)))


if __name__ == "__main__":
    main()
