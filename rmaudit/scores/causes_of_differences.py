"""Name what may make a trainer's or server's rewards others than the model's, and what to do."""

from __future__ import annotations

from typing import NamedTuple

UNEXPLAINED = ("other weights", "head")


class Cause(NamedTuple):
    """A cause of a difference between logged rewards and the model's, and its remedy, in words."""

    name: str
    said: str
    mend: str


_SERVE_HEAD = "serve the model as a sequence classifier, with its head: an embedding is no reward"
_MERGE = (
    "merge the adapter (PEFT's merge_and_unload), save the merged model and use that; servers may "
    "accept an adapter whose tensors they have no place for, and go on without them"
)
CAUSES = {  # by name
    cause.name: cause
    for cause in (
        Cause("second BOS", "the rows that were scored begin with two BOS",
              "tokenize rendered text with add_special_tokens=False"),
        Cause("BOS", "the rows that were scored begin with a BOS that the model's layout has not",
              "tokenize rendered text with add_special_tokens=False"),
        Cause("no BOS", "the rows that were scored lack the BOS that the model's layout has",
              "tokenize with the tokenizer's special tokens, or add its BOS"),
        Cause("no template", "the rows that were scored are not in the chat template",
              "render them by tokenizer.apply_chat_template; or, if the model was trained so, give "
              "rmaudit that layout as `template:` in models.yaml"),
        Cause("template", "the rows that were scored are laid out by another template than the "
              "model's own",
              "compare the chat template that the trainer or server applies with the one that the "
              "model's folder has; give the one that it was trained with as `template:` in "
              "models.yaml"),
        Cause("eos", "the rows that were scored end with an eos after the template's own end",
              "leave the eos out where a template is applied"),
        Cause("end", "the rows that were scored do not end as the chat template ends",
              "look for max_length, which cuts rows, and for a template that prints no end"),
        Cause("last id", "the reward was read at the last id, not where the model's rule reads it",
              "write `pool: last` in models.yaml if the model was trained so"),
        Cause("pad is eos", "the reward was read before the token that ends the turn, because it "
              "is taken for padding",
              "give the tokenizer a pad token of its own before training, and set "
              "model.config.pad_token_id; or write `pool: hf` in models.yaml for a model that was "
              "trained so"),
        Cause("one early", "the reward was read one id before the end of the row",
              "read it at attention_mask.sum() - 1 of rows padded on the right"),
        Cause("prompt's end", "the reward was read at the last id before the answer",
              "read it where the answer ends; see by which mask its place is counted"),
        Cause("left padding", "rows were padded on the left and read as if padded on the right, so "
              "that all but the longest were read in their middle",
              'set tokenizer.padding_side = "right", or read the last column'),
        Cause("unit state", "the head read the state scaled to length 1, as embeddings are scaled",
              "serve the model as a sequence classifier, whose states are pooled as they are"),
        Cause("last number", "no head was applied: the reward is the last number of the state",
              _SERVE_HEAD),
        Cause("unit last number", "no head was applied: the reward is the last number of the "
              "state scaled to length 1, which is an embedding",
              _SERVE_HEAD),
        Cause("softmax", "the rewards were put through a softmax over the head's outputs",
              "log logits: with vLLM, use_activation=false"),
        Cause("no adapter", "the adapter is missing: its LoRA was not applied to the base", _MERGE),
        Cause("base", "the adapter is missing: these are the rewards of its base", _MERGE),
        Cause("base head", "the adapter's head is missing: its base's head reads the states",
              _MERGE),
        Cause("bfloat16", "the trainer ran in bfloat16",
              "nothing, if that is meant; audit what it saw with --rm-dtype bfloat16"),
        Cause("float16", "the trainer ran in float16",
              "nothing, if that is meant; audit what it saw with --rm-dtype float16"),
        Cause("float32", "the trainer ran in float32", "audit what it saw with --rm-dtype float32"),
        Cause("sign", "the rewards have the opposite sign",
              "look for a loss or a cost that was logged as a reward, or swap chosen and rejected"),
        Cause("scale", "the rewards are scaled or shifted",
              "look for normalize_reward, reward scaling or whitening; ranks are the same"),
        Cause("offset", "the rewards are shifted by a constant",
              "look for a mean that is subtracted, or a head's bias that is left out"),
        Cause("sigmoid", "the rewards were put through a sigmoid",
              "log logits: with vLLM, use_activation=false"),
        Cause("swapped pairs", "each reward stands beside the other row of its pair",
              "see in which order chosen and rejected are stacked and split again"),
        Cause("swapped rows", "the rewards stand beside other rows",
              "see in which order rows are sorted, gathered or shuffled before they are logged"),
        Cause("other weights", "nothing that was tried explains the rewards, but they rank alike: "
              "weights near these",
              "see which checkpoint the trainer loaded, whether an adapter was merged and whether "
              "weights were quantized"),
        Cause("head", "nothing that was tried explains the rewards: another head, or other weights",
              "look for \"newly initialized\" in the trainer's log, and whether the head was saved "
              "with the adapter (modules_to_save)"),
    )
}  # fmt: skip
