"""Find the smallest change of a linear head that brings what a gate judges within its bounds.

With w the head, X states whose rewards are to stay (differences of the user's pairs, and tokens),
and C contrasts (`contrasts`), the change d is that of least ‖X d‖², with a ridge, under
C (w + d) ≤ limits: a quadratic program, whose dual is a problem of least squares with non-negative
weights, which is solved exactly (Lawson and Hanson 1974, chapter 23, problem LDP). No step size and
no starting point decides what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError

RIDGE = 0.1  # of the mean over directions: lab/mended_heads.py tried 0.01 to 0.1
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # sd short of the limit
_ROUNDS = 50  # of the unit of measurement, the sd of the repaired head's rewards
_CLOSE = 1e-4  # sd, and relative of two rounds
_GONE = 1e-6  # of a head's length: nothing of it is left
_TOLERANCE = 1e-6  # sd by which a limit may be missed for rounding

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """Limits on the weighted sums of one gate, in sd of the rewards that a head gives.

    Attributes:
        contrasts: shape (k, hidden), the weighted sums of the answers' states.
        tolerated: at most so many sd.
        draws: shape (m, hidden), whose products with a head have the sd as their length
            (`contrasts.Contrasts.draws`).
    """

    contrasts: _Floats
    tolerated: float
    draws: _Floats

    def excess(self, head: _Floats) -> _Floats:
        """Return by how many sd each sum exceeds what is tolerated, shape (k,)."""
        return self.contrasts @ head / np.linalg.norm(self.draws @ head) - self.tolerated

    def tighter(self, by: float) -> Limits:
        """Return the limits so many sd further inside."""
        return replace(self, tolerated=self.tolerated - by)

    def linear(self, head: _Floats) -> _Floats:
        """Return vectors, (k, hidden), whose products with a head near this one may not exceed 0.

        The sd is taken as linear in the head, which it never falls below.
        """
        deviations = self.draws @ head
        slope = self.draws.T @ deviations / np.linalg.norm(deviations)
        return self.contrasts - self.tolerated * slope


def metric(head: _Floats, parts: Sequence[_Floats]) -> _Floats:
    """Return the matrix (hidden, hidden) by which a change of the head is measured.

    `parts` are states whose products with the `head` are to stay, each (n, hidden), and centred:
    differences of pairs, and tokens. Of each part it is the mean square change of the products,
    relative to their own mean square; with a ridge, so that what no part sees changes little too.

    Raises:
        MeasureError: all products of a part are 0.
    """
    total = np.zeros((len(head), len(head)))
    for part in parts:
        size = float(((part @ head) ** 2).mean())
        if not size > 0:
            raise MeasureError("this head gives all answers one reward: there is nothing to keep")
        total += part.T @ part / len(part) / size
    return total + RIDGE * float(np.trace(total)) / len(total) * np.eye(len(total))


def least_change(
    head: _Floats, measured_by: _Floats, contrasts: _Floats, limits: _Floats
) -> _Floats | None:
    """Return the head of least change with `contrasts` @ head ≤ `limits`; None if there is none.

    The change d is the smallest by dᵀ `measured_by` d. A head that is within its limits is returned
    as it is.
    """
    off = contrasts @ head - limits
    if (off <= 0).all():
        return head
    sizes = np.linalg.norm(contrasts, axis=1)
    if (off[sizes == 0] > 0).any():
        return None
    given = sizes > 0
    root = np.linalg.cholesky(measured_by)
    # least ‖x‖ with G x ≥ h, where x = rootᵀ d
    g = -scipy.linalg.solve_triangular(root, contrasts[given].T, lower=True)
    lengths = np.linalg.norm(g, axis=0)
    h = off[given] / lengths
    unit = np.abs(h).max()
    system = np.vstack([g / lengths, h / unit])
    wanted = np.zeros(len(system))
    wanted[-1] = 1.0
    dual, missed = scipy.optimize.nnls(system, wanted)
    if missed < _TOLERANCE:
        return None  # the limits contradict each other
    left = system @ dual - wanted
    x = -unit * left[:-1] / left[-1]
    changed: _Floats = head + scipy.linalg.solve_triangular(root, x, lower=True, trans="T")
    return changed


def repaired(head: _Floats, measured_by: _Floats, gates: Sequence[Limits]) -> _Floats:
    """Return the least changed head whose contrasts are within all limits.

    The sd is of the head that is returned, so it is found by rounds of `least_change`.

    Raises:
        MeasureError: there is no such head, or none whose rewards still differ.
    """
    if _within(head, gates):
        return head
    found = head
    for _ in range(_ROUNDS):
        rows = np.concatenate([each.linear(found) for each in gates])
        changed = least_change(head, measured_by, rows, np.zeros(len(rows)))
        if changed is None or np.linalg.norm(changed) < _GONE * np.linalg.norm(head):
            break
        moved, found = np.linalg.norm(changed - found), changed
        if moved <= _CLOSE * np.linalg.norm(found) and _within(found, gates):
            return found
    message = "no head on this backbone keeps all of these contrasts within what is tolerated"
    raise MeasureError(f"{message}: they contradict each other, or its states do not tell them")


def _within(head: _Floats, gates: Sequence[Limits]) -> bool:
    return all((each.excess(head) <= _CLOSE).all() for each in gates)
