"""Measure which preference pairs taught a linear head a contrast, by influences and refits.

A head w gives the state x the reward w · x, so the Bradley-Terry loss of a pair is log(1 +
exp(-w · d)), with d its chosen state less its rejected one. Left out of the file, a pair moves the
minimum of the summed loss by about H⁻¹ times its gradient, H being the Hessian there (Hampel 1974;
Koh & Liang 2017, arXiv:1703.04730, eq. 2), and a contrast c · w by the product of c with that. Here
H is without the pair's own part, which divides the product by 1 less the pair's leverage (Pregibon
1981): one Newton step on the loss of all others.

The head that is audited is seldom a minimum of the file's loss: trainings stop early, or had other
data too. So each loss here has a ridge, λ/2 ‖w - head‖², whose centre is that head, and every
effect is the difference of two refits from there, with the pairs and without them. λ is `RIDGE` of
the mean eigenvalue that the loss's Hessian has at most (where all margins are 0): directions in
which the pairs hardly differ then stay as they are in the head, and nothing depends on the states'
scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rmaudit.errors import MeasureError

FEWEST = 30  # pairs
RIDGE = 0.1
SHARES = (0.01, 0.03, 0.1)  # of the pairs that are left out, the first ones first
_STEPS, _CONVERGED = 100, 1e-12  # the latter of the loss

_Floats = NDArray[np.float64]


class RefitChange(NamedTuple):
    """The change of the contrast where pairs are left out, by one Newton step and by a refit."""

    predicted: float
    refitted: float


@dataclass(frozen=True, slots=True, eq=False)
class Influences:
    """A linear head that was refitted to n pairs, and what each of them adds to a contrast.

    Attributes:
        differences: chosen less rejected states, shape (n, hidden).
        head: the head that is audited, shape (hidden,), the ridge's centre.
        gradient: c, such that the contrast of a head w is c · w; shape (hidden,).
        ridge: λ.
        fitted: the head refitted with all pairs, shape (hidden,).
        added: what each pair adds to the contrast, shape (n,): minus the change without it.
    """

    differences: _Floats
    head: _Floats
    gradient: _Floats
    ridge: float
    fitted: _Floats
    added: _Floats

    @property
    def order(self) -> NDArray[np.intp]:
        """Return the places of the pairs, those that add most to the contrast first."""
        return np.argsort(-self.added, kind="stable")

    @property
    def losses(self) -> _Floats:
        """Return the loss of each pair under the head that is audited, shape (n,)."""
        return np.asarray(np.logaddexp(0.0, -self.differences @ self.head))

    def without(self, left_out: NDArray[np.intp]) -> RefitChange:
        """Return how the contrast changes where the pairs at these places are left out.

        Predicted by one Newton step from the fit with all pairs, on the loss of the others; and as
        the refit has it.
        """
        others = np.delete(self.differences, left_out, axis=0)
        step, _ = _step(others, self.fitted, self.head, self.ridge)
        refitted = fit(others, self.head, self.ridge, start=self.fitted + step)
        return RefitChange(
            float(self.gradient @ step), float(self.gradient @ (refitted - self.fitted))
        )


def influences(differences: _Floats, head: _Floats, gradient: _Floats) -> Influences:
    """Return what each pair adds to the contrast with this `gradient`. See `Influences`.

    Raises:
        MeasureError: there are fewer than `FEWEST` pairs, or all have equal states.
    """
    pairs, hidden = differences.shape
    if pairs < FEWEST:
        raise MeasureError(too_few(pairs))
    ridge = RIDGE * float((differences**2).sum()) / (4 * hidden)
    if not ridge > 0:
        message = "the chosen and the rejected answer have equal states in every pair"
        raise MeasureError(f"{message}, so no pair taught the head anything; give another file")
    fitted = fit(differences, head, ridge, start=head)
    unsure = expit(-differences @ fitted)
    both = np.vstack([gradient, differences]).T
    towards, *spread = np.linalg.solve(_hessian(differences, unsure, ridge), both).T
    leverage = unsure * (1 - unsure) * np.einsum("ij,ij->i", differences, np.array(spread))
    added = unsure * (differences @ towards) / (1 - leverage)
    return Influences(differences, head, gradient, ridge, fitted, added)


def too_few(pairs: int) -> str:
    """Return the sentence that so few pairs say nothing."""
    message = f"which pairs taught a head is measured on {FEWEST} or more, and there are {pairs}"
    return f"{message}; give the whole file that it was trained on"


def fit(differences: _Floats, head: _Floats, ridge: float, *, start: _Floats) -> _Floats:
    """Return the minimum of the pairs' loss with the ridge centred on `head`, by Newton's method.

    It begins at `start`; a step is halved until the loss falls (Boyd & Vandenberghe 2004, 9.5).

    Raises:
        MeasureError: it does not converge.
    """
    found = start

    def loss(at: _Floats) -> float:
        away = at - head
        return float(np.logaddexp(0.0, -differences @ at).sum() + ridge / 2 * (away @ away))

    now = loss(found)
    for _ in range(_STEPS):
        step, falls = _step(differences, found, head, ridge)
        if falls <= _CONVERGED * (1 + now):
            return found + step
        while (after := loss(found + step)) > now:
            step = step / 2
        found, now = found + step, after
    raise MeasureError("the head's refit to the pairs did not converge; report it with the file")


def _step(differences: _Floats, at: _Floats, head: _Floats, ridge: float) -> tuple[_Floats, float]:
    """Return Newton's step from the head `at`, (hidden,), and by how much the loss is to fall."""
    unsure = expit(-differences @ at)
    slope = -unsure @ differences + ridge * (at - head)
    step: _Floats = -np.linalg.solve(_hessian(differences, unsure, ridge), slope).astype(float)
    return step, float(-slope @ step) / 2


def _hessian(differences: _Floats, unsure: _Floats, ridge: float) -> _Floats:
    """Return the Hessian of loss and ridge; `unsure` is 1 less the pairs' probabilities, (n,)."""
    weighted = differences * (unsure * (1 - unsure))[:, None]
    found = differences.T @ weighted
    found[np.diag_indices_from(found)] += ridge
    return np.asarray(found)
