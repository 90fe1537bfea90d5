"""What a comparison finds, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from .environment import Environment
from .latency import Latency

#: Version of the data that `Comparison.to_dict` returns; raised when a field changes.
SCHEMA = 1


@dataclass(frozen=True)
class Measurement:
    """One model of a comparison: what it costs and how often it is right.

    Parameters
    ----------
    activation, form : str
        The activation and the ONNX form it is written in.
    latency : Latency
        The steady state, at batch 1.
    slower_share : float
        Share of the rounds in which it took longer than the ReLU model, 0 to 1.
    images : int
        How many test images were classified.
    correct : int
        How many of them rightly.
    gained, lost : int
        Images that it gets right and the ReLU model wrong, and the reverse.
    create_ms, first_run_ms : float
        Loading and optimising the model, and the first run, in milliseconds.
    file_bytes : int
        Size of the .onnx file.
    parameters : int
        Trained numbers in the model.
    operators : dict
        How often each operator occurs after the runtime's optimisations.
    """

    activation: str
    form: str
    latency: Latency
    slower_share: float
    images: int
    correct: int
    gained: int
    lost: int
    create_ms: float
    first_run_ms: float
    file_bytes: int
    parameters: int
    operators: dict[str, int]

    @property
    def name(self) -> str:
        """Activation and form, as in ``"gelu/erf"``."""
        return f"{self.activation}/{self.form}"

    @property
    def accuracy(self) -> float:
        """Share of the test images classified rightly, 0 to 1."""
        return self.correct / self.images

    @property
    def nodes(self) -> int:
        """Nodes that the runtime runs, after its optimisations."""
        return sum(self.operators.values())

    def meets(self, budget_ms: float | None) -> bool:
        """Tell whether the p90 latency is within a budget.

        Parameters
        ----------
        budget_ms : float or None
            The budget in milliseconds; None is no budget, which every model meets.

        Returns
        -------
        bool
            True if it is.
        """
        return budget_ms is None or self.latency.p90_ms <= budget_ms


@dataclass(frozen=True)
class Verdict:
    """Which model to take.

    Parameters
    ----------
    take : str or None
        The model's name; None if none meets the budget.
    sentence : str
        The choice, by how much, and how sure it is.
    """

    take: str | None
    sentence: str


@dataclass(frozen=True)
class Comparison:
    """The same network with different activations, measured side by side.

    Parameters
    ----------
    arch : str
        The network.
    data : str
        What it classified.
    threads : int
        Threads inside an operator.
    optimization : str
        onnxruntime's optimisation level.
    budget_ms : float or None
        The latency budget at p90, in milliseconds.
    environment : Environment
        The machine and the versions.
    measurements : tuple of Measurement
        One for each model, the ReLU model first.
    verdict : Verdict
        Which one to take.
    notes : tuple of str
        What to keep in mind when reading the figures.
    """

    arch: str
    data: str
    threads: int
    optimization: str
    budget_ms: float | None
    environment: Environment
    measurements: tuple[Measurement, ...]
    verdict: Verdict
    notes: tuple[str, ...]

    def p50_ratio(self, measurement: Measurement) -> float:
        """Return a model's p50 latency relative to the ReLU model's.

        Parameters
        ----------
        measurement : Measurement
            One of `measurements`.

        Returns
        -------
        float
            Above 1 if slower than the ReLU model.
        """
        return measurement.latency.p50_ms / self.measurements[0].latency.p50_ms

    def to_dict(self) -> dict[str, object]:
        """Return everything as data, ready for JSON.

        Returns
        -------
        dict
            Times in milliseconds, accuracies and shares from 0 to 1; ``"schema"`` is the
            version of this layout.
        """
        return {
            "schema": SCHEMA,
            "arch": self.arch,
            "data": self.data,
            "threads": self.threads,
            "optimization": self.optimization,
            "budget_ms": self.budget_ms,
            "environment": self.environment.to_dict(),
            "models": [self._model(measurement) for measurement in self.measurements],
            "verdict": {"take": self.verdict.take, "sentence": self.verdict.sentence},
            "notes": list(self.notes),
        }

    def _model(self, measurement: Measurement) -> dict[str, object]:
        m = measurement
        return {
            "name": m.name,
            "activation": m.activation,
            "form": m.form,
            "latency": m.latency.to_dict(),
            "p50_ratio": self.p50_ratio(m),
            "slower_share": m.slower_share,
            "meets_budget": None if self.budget_ms is None else m.meets(self.budget_ms),
            "accuracy": m.accuracy,
            "images": m.images,
            "correct": m.correct,
            "gained": m.gained,
            "lost": m.lost,
            "create_ms": m.create_ms,
            "first_run_ms": m.first_run_ms,
            "file_bytes": m.file_bytes,
            "parameters": m.parameters,
            "nodes": m.nodes,
            "operators": dict(m.operators),
        }
