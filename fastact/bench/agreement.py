"""Checking that models compute what their names say, before they are timed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

#: Logits of one network in two forms of the same function differ by less than this
#: (absolute; the logits are of the order of 10), and in different functions by more.
AGREEMENT = 1e-4


class DisagreementError(RuntimeError):
    """Models that must compute the same do not, or the reverse: no figure would mean anything."""


def check_agreement(
    outputs: Mapping[tuple[str, str], npt.NDArray[Any]], *, apart: bool = True
) -> None:
    """Check that the forms of an activation agree and that activations can be told apart.

    Parameters
    ----------
    outputs : mapping
        For each (activation, form) the outputs for the same inputs.
    apart : bool, optional
        Whether different activations must differ.

    Raises
    ------
    DisagreementError
        If two forms of one activation differ by `AGREEMENT` or more, or two activations
        differ by less: then a file does not hold what its name says.
    """
    entries = list(outputs.items())
    for index, (one, values) in enumerate(entries):
        for other, others in entries[:index]:
            distance = float(np.abs(values - others).max())
            same = one[0] == other[0]
            near = distance < AGREEMENT  # not so for NaN
            if (same and not near) or (not same and near and apart):
                raise DisagreementError(
                    f"{'/'.join(other)} and {'/'.join(one)} differ by {distance:.2e}, "
                    f"but must differ by {'less' if same else 'more'} than {AGREEMENT:g}"
                )
