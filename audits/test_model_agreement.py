"""Model agreement: is it interchangeable with what it replaces? (Christian et al. 2025, §2.4)."""

import numpy as np

from rmaudit import Estimate, Sweep, above, audit
from rmaudit.measures import model_agreement


@audit(
    claim="The model can take the baseline's place: it orders the shared tokens alike.",
    source="Christian et al. 2025, §2.4 and Figure 2A",
    prompts=["greatest", "best", "worst"],
    bound=above(0.5, unit=model_agreement.UNIT),
    base_rate=(
        "45 pairs of the paper's models, “greatest”: 4 pass (0.53 to 0.57), all of them Skywork's "
        "and QRM's on one base; the others have 0.13 to 0.48"
    ),
    limits=[
        (
            "Agreement where it matters: two models may agree on 100,000 tokens that no answer "
            "has. See RBO for the ends."
        ),
    ],
)
def test_model_agreement(sweep: Sweep, baseline: Sweep, rng: np.random.Generator) -> Estimate:
    """Kendall's tau-b with the model of `--rm-baseline`; skipped where none is named."""
    return model_agreement.agreement(
        sweep.frame,
        baseline.frame,
        rng=rng,
        noise=sweep.noise,
        baseline_noise=baseline.noise,
    )
