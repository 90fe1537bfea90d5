"""What a comparison finds, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .environment import Environment
from .latency import Latency
from .profiles import Profile
from .spread import Noise

if TYPE_CHECKING:
    from .functions.kernel_cost import KernelCosts
    from .functions.properties import Properties

#: Version of the data that `Comparison.to_dict` returns; raised when a field changes its
#: meaning or goes away. ``comparison.schema.json`` describes it.
SCHEMA = 2

Interval = tuple[float, float]


@dataclass(frozen=True)
class Accuracy:
    """How often a model is right.

    Parameters
    ----------
    images : int
        How many labelled inputs it classified.
    correct : int
        How many of them rightly.
    gained, lost : int
        Inputs that it gets right and the baseline wrong, and the reverse.
    """

    images: int
    correct: int
    gained: int
    lost: int

    @property
    def share(self) -> float:
        """Share of the inputs classified rightly, 0 to 1."""
        return self.correct / self.images


@dataclass(frozen=True)
class Seeds:
    """The accuracy of a network over several trainings.

    Parameters
    ----------
    counts : tuple of int
        Test images classified rightly, for each seed.
    images : int
        How many there are.
    mean : float
        Mean accuracy, 0 to 1.
    interval : tuple of float
        Its 95 % confidence interval over the seeds.
    """

    counts: tuple[int, ...]
    images: int
    mean: float
    interval: Interval


@dataclass(frozen=True)
class Gain:
    """The accuracy that an activation brings over the baseline.

    Parameters
    ----------
    difference : float
        Difference of the accuracies, -1 to 1.
    error : float
        Its standard error.
    interval : tuple of float
        Its 95 % confidence interval.
    source : str
        What it was computed from.
    """

    difference: float
    error: float
    interval: Interval
    source: str

    @property
    def sign(self) -> int:
        """1 if more accurate by more than chance, -1 if less, 0 if that cannot be told."""
        low, high = self.interval
        return 1 if low > 0 else -1 if high < 0 else 0


@dataclass(frozen=True)
class Split:
    """Where the time goes that a model takes beyond that with ReLU, in microseconds at p50.

    Parameters
    ----------
    fusion_us : float
        What the runtime no longer does inside of the convolution: the time of a ReLU that it
        cannot fold, less that of one that it can.
    arithmetic_us : float
        The rest: computing this activation takes so much longer than computing that ReLU.
    """

    fusion_us: float
    arithmetic_us: float

    @property
    def total_us(self) -> float:
        """Both together."""
        return self.fusion_us + self.arithmetic_us


@dataclass(frozen=True)
class Distance:
    """How far two activations are apart.

    Parameters
    ----------
    one, other : str
        The activations.
    value : float or None
        The largest difference; None if they move apart without end.
    at : float or None
        The input where it is.
    """

    one: str
    other: str
    value: float | None
    at: float | None


@dataclass(frozen=True)
class Measurement:
    """One model of a comparison: what it costs and how often it is right.

    Parameters
    ----------
    name : str
        Activation and form, as in ``"gelu/erf"``; a user's own model is ``"original"``.
    activation, form : str
        The activation and the ONNX form it is written in; "" where that was not the question.
    latency : Latency
        The steady state, at batch 1.
    quantiles_ms : tuple of float
        The quantiles of the latency at 0, 1, ... 100 percent.
    ratio : float
        The p50 latency relative to the baseline's.
    ratio_interval, p90_interval : tuple of float
        95 % bootstrap intervals, of `ratio` and of the p90 latency in milliseconds.
    slower_share : float
        Share of the rounds in which it took longer than the baseline, 0 to 1.
    create_ms, first_run_ms : float
        Loading and optimising the model, and the first run, in milliseconds.
    peak_mb, model_mb : float or None
        The most memory that a process held which ran this model alone, in MB, and how much of
        it loading and running the model added. None if the system does not tell.
    file_bytes : int
        Size of the .onnx file.
    parameters : int
        Trained numbers in the model.
    macs, activation_elements : int or None
        Multiply-accumulates, and elements that go through activations; None if the model does
        not tell its shapes.
    operators : dict
        How often each operator occurs after the runtime's optimisations.
    accuracy : Accuracy or None
        On the labelled inputs; None if there are none.
    seeds : Seeds or None
        Over several trainings; None if there were none.
    gain : Gain or None
        The accuracy relative to the baseline's; None if it is not known, and for the baseline.
    split : Split or None
        Where the time goes that it takes beyond the model with ReLU; None for that model, and
        where it was not measured.
    output_change : float or None
        For a user's own model: how far its outputs are from the original's, relative to the
        largest. None if that was not looked at.
    retrain : bool
        True if the model computes another function than it was trained with.
    """

    name: str
    activation: str
    form: str
    latency: Latency
    quantiles_ms: tuple[float, ...]
    ratio: float
    ratio_interval: Interval
    p90_interval: Interval
    slower_share: float
    create_ms: float
    first_run_ms: float
    peak_mb: float | None
    model_mb: float | None
    file_bytes: int
    parameters: int
    macs: int | None
    activation_elements: int | None
    operators: dict[str, int]
    accuracy: Accuracy | None = None
    seeds: Seeds | None = None
    gain: Gain | None = None
    split: Split | None = None
    output_change: float | None = None
    retrain: bool = False

    @property
    def nodes(self) -> int:
        """Nodes that the runtime runs, after its optimisations."""
        return sum(self.operators.values())

    @property
    def best_accuracy(self) -> float | None:
        """Mean accuracy over the seeds, else that of this one model; None if not known."""
        if self.seeds is not None:
            return self.seeds.mean
        return None if self.accuracy is None else self.accuracy.share

    def meets(self, budget_ms: float | None) -> bool | None:
        """Tell whether the p90 latency is within a budget.

        Parameters
        ----------
        budget_ms : float or None
            The budget in milliseconds; None is no budget, which every model meets.

        Returns
        -------
        bool or None
            None if the budget is within the interval of the p90, so that this run cannot tell.
        """
        low, high = self.p90_interval
        if budget_ms is None or high <= budget_ms:
            return True
        return None if low <= budget_ms else False


@dataclass(frozen=True)
class Verdict:
    """Which model to take.

    Parameters
    ----------
    take : str or None
        The model's name; None if none meets the budget, or if the machine was too noisy to tell.
    sentence : str
        The choice, by how much, and how sure it is.
    too_noisy : bool
        True if there is no choice because of noise.
    """

    take: str | None
    sentence: str
    too_noisy: bool = False


@dataclass(frozen=True)
class Comparison:
    """The same network with different activations, measured side by side.

    Parameters
    ----------
    network : str
        The architecture, or the file of a user's own model.
    weights : str
        ``"trained"``, ``"random"`` or ``"given"``.
    data : str
        What it was run on.
    profile : Profile
        The constraints under which it was measured.
    budget_ms : float or None
        The latency budget at p90, in milliseconds.
    environment : Environment
        The machine and the versions.
    measurements : tuple of Measurement
        One for each model; the first is the baseline.
    noise : Noise
        How steady the machine was.
    verdict : Verdict
        Which one to take.
    properties : tuple of Properties
        What the activations are like, computed from the kernels.
    distances : tuple of Distance
        How far they are apart, two by two.
    kernel_costs : KernelCosts or None
        What they cost on arrays, without a network; None if that was not measured.
    notes : tuple of str
        What to keep in mind when reading the figures.
    command : str
        What made this, as typed in a shell; "" if it was no command.
    date : str
        When, as in ``"2026-11-30"``.
    """

    network: str
    weights: str
    data: str
    profile: Profile
    budget_ms: float | None
    environment: Environment
    measurements: tuple[Measurement, ...]
    noise: Noise
    verdict: Verdict
    properties: tuple[Properties, ...]
    distances: tuple[Distance, ...]
    kernel_costs: KernelCosts | None
    notes: tuple[str, ...]
    command: str = ""
    date: str = ""

    @property
    def baseline(self) -> Measurement:
        """The model that the others are held against: ReLU, or the user's own."""
        return self.measurements[0]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data, ready for JSON.

        Returns
        -------
        dict
            Times in milliseconds, accuracies and shares from 0 to 1; ``"schema"`` is the
            version of this layout.
        """
        costs = self.kernel_costs
        return {
            "schema": SCHEMA,
            "command": self.command,
            "date": self.date,
            "network": self.network,
            "weights": self.weights,
            "data": self.data,
            "profile": self.profile.to_dict(),
            "budget_ms": self.budget_ms,
            "environment": self.environment.to_dict(),
            "models": [model_dict(m, self.budget_ms) for m in self.measurements],
            "noise": self.noise.to_dict(),
            "verdict": asdict(self.verdict),
            "properties": [_lists(entry.to_dict()) for entry in self.properties],
            "distances": [asdict(entry) for entry in self.distances],
            "kernel_costs": None if costs is None else _lists(costs.to_dict()),
            "notes": list(self.notes),
        }


def model_dict(m: Measurement, budget_ms: float | None) -> dict[str, Any]:
    """Return a measurement as data, ready for JSON.

    Parameters
    ----------
    m : Measurement
        The measurement.
    budget_ms : float or None
        The latency budget at p90, in milliseconds.

    Returns
    -------
    dict
        Its fields by name, ``nodes``, and ``meets_budget``: None without a budget, and where the
        noise hides whether it does.
    """
    data = _lists(asdict(m))
    meets = None if budget_ms is None else m.meets(budget_ms)
    return {**data, "nodes": m.nodes, "meets_budget": meets}


def _lists(data: Any) -> Any:
    """Turn tuples into lists, as they come back from JSON."""
    if isinstance(data, dict):
        return {key: _lists(value) for key, value in data.items()}
    return [_lists(value) for value in data] if isinstance(data, tuple | list) else data
