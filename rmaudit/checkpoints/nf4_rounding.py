"""Round a model's linear layers to 4 bits (NF4), as the base is while QLoRA trains an adapter.

Sixteen numbers, scaled by the largest of each block of 64 weights (Dettmers et al. 2023,
arXiv:2305.14314, appendix E). bitsandbytes also rounds the scales ("double quantization"), which is
left out here. Embeddings, and layers that give outputs, it leaves as they are.
"""

from __future__ import annotations

from typing import Any

_BLOCK = 64
_NUMBERS = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
_OUTPUTS = ("score", "lm_head")


def round_layers(model: Any) -> None:  # noqa: ANN401  (transformers' classes)
    """Round the weights of all linear layers of `model` in place, but for `score` and `lm_head`."""
    import torch

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name.rpartition(".")[2] not in _OUTPUTS:
            with torch.no_grad():
                module.weight.copy_(rounded(module.weight))


def rounded(weight: Any) -> Any:  # noqa: ANN401  (a torch.Tensor)
    """Return a tensor's numbers rounded to NF4 in blocks of 64, in float32 and of its shape."""
    import torch

    numbers = torch.tensor(_NUMBERS, device=weight.device)
    flat = weight.float().flatten()
    blocks = torch.nn.functional.pad(flat, (0, -len(flat) % _BLOCK)).view(-1, _BLOCK)
    scales = blocks.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
    middles = (numbers[1:] + numbers[:-1]) / 2
    nearest = numbers[torch.bucketize(blocks / scales, middles)]
    return (nearest * scales).flatten()[: len(flat)].view(weight.shape)
