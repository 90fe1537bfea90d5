"""What a runtime makes of a form, and the record of what is known about one runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Support(IntEnum):
    """What a runtime makes of a form, the worst first."""

    NO = 0
    WRONG = 1
    UNKNOWN = 2
    RUNS = 3
    FUSED = 4


@dataclass(frozen=True)
class Target:
    """A runtime.

    Parameters
    ----------
    runtime : str
        Its name for people.
    source : str
        How its facts were found, and with which version.
    opset : int, optional
        The newest opset it reads; None if not known.
    has : frozenset of str, optional
        All operators it has, in the default domain; None if no list is known.
    lacks : frozenset of str, optional
        Operators that it is known not to have.
    notes : mapping, optional
        For (activation, form) what is known beyond that.
    """

    runtime: str
    source: str
    opset: int | None = None
    has: frozenset[str] | None = None
    lacks: frozenset[str] = frozenset()
    notes: Mapping[tuple[str, str], tuple[Support, str]] = field(default_factory=dict)

    def missing(self, operators: Iterable[str]) -> list[str]:
        """Tell which operators the runtime does not have.

        Parameters
        ----------
        operators : iterable of str
            Names in ONNX's default domain.

        Returns
        -------
        list of str
            Those, sorted; what is not known to be missing is not among them.

        Examples
        --------
        >>> from fastact.export import TARGETS
        >>> TARGETS["nnapi"].missing(["Conv", "Erf"])
        ['Erf']
        """
        wanted = set(operators)
        return sorted(wanted & self.lacks if self.has is None else wanted - self.has)

    def support(self, activation: str, form: str, operators: Iterable[str]) -> tuple[Support, str]:
        """Tell what the runtime makes of an activation in one of its forms.

        Parameters
        ----------
        activation, form : str
            The activation and its form.
        operators : iterable of str
            Those that the form consists of.

        Returns
        -------
        support : Support
            How well it runs.
        note : str
            That in words.
        """
        missing = self.missing(operators)
        if missing:
            return Support.NO, f"has no {' and no '.join(missing)}"
        if (activation, form) in self.notes:
            return self.notes[activation, form]
        if self.has is not None:
            return Support.RUNS, "has its operators"
        return Support.UNKNOWN, "was not tried with it"
