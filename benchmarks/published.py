"""Compare rmaudit with the formulas of ten published models, on random weights in their layout.

python -m benchmarks.published [NAME ...]

Prints a line of JSON for each model and protocol: the largest difference in float32, and the root
mean squared error of the entry's half precision against rmaudit's float32, of rmaudit and of the
formula, all in standard deviations of the rewards. `tests/models/test_published_formulas.py` holds
them to bounds.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import arguments, say
from rmaudit.config.model_registry import known_models
from tests.published_formulas import LAYOUTS, gap, measured, rms


def main() -> None:
    """Compare each model with its formula in both protocols, and print a line of JSON for each."""
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", default=list(LAYOUTS))
    for name in parser.parse_args().names:
        spec = known_models().models[name]
        with tempfile.TemporaryDirectory() as home:
            for protocol in ("exact", "paper"):
                ours, theirs = measured(Path(home), replace(spec, dtype="float32"), protocol)
                half, half_theirs = measured(Path(home), spec, protocol)
                said = {
                    "model": name,
                    "protocol": protocol,
                    "float32_gap_sd": float(f"{gap(ours, theirs):.1e}"),
                    spec.dtype: {
                        "rms_sd": round(rms(half, ours), 4),
                        "rms_of_the_formula_sd": round(rms(half_theirs, ours), 4),
                    },
                }
                say("published", **said)


if __name__ == "__main__":
    main()
