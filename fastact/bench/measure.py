"""ReLU or GELU: one network with every activation and form, timed and checked side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._extras import require
from .environment import Environment
from .latency import ENOUGH_RUNS, Candidate, Latency, interleave, slower_share
from .results import Comparison, Measurement
from .session import OPTIMIZATION, Session, optimized_operators
from .verdict import decide

if TYPE_CHECKING:
    from onnx import ModelProto

Logits = npt.NDArray[np.float32]
Spelling = tuple[str, str]  # an activation and the form it is written in

#: The activations between which to choose.
COMPARED = ("relu", "gelu", "gelu_tanh")

#: The first opset with a Gelu operator, so that every form can be compared.
OPSET = 20

#: Logits of one network in two forms of the same function differ by less than this
#: (absolute; the logits are of the order of 10), and in different functions by more.
AGREEMENT = 1e-4


class DisagreementError(RuntimeError):
    """Models that must compute the same do not, or the reverse: no figure would mean anything."""


def compare(
    arch: str = "digits",
    *,
    budget_ms: float | None = None,
    runs: int = 2000,
    threads: int = 1,
    progress: Callable[[str, int, int], object] | None = None,
) -> Comparison:
    """Measure what a network costs and gives with each activation, in onnxruntime.

    ReLU and both GELUs are exported in every form; all models classify the same test images,
    and are timed in turns at batch 1, a new image in every round.

    Parameters
    ----------
    arch : str, optional
        The network, one of `fastact.export.ARCHITECTURES`.
    budget_ms : float, optional
        Latency budget in milliseconds; a model meets it if its p90 does.
    runs : int, optional
        Timed runs of each model. From 200 the percentiles mean something.
    threads : int, optional
        Threads inside an operator.
    progress : callable, optional
        Called with (what is going on, steps done, steps in all).

    Returns
    -------
    Comparison
        The measurements and the verdict.

    Raises
    ------
    ValueError
        If an argument is out of range or `arch` is unknown.
    ImportError
        If onnx, onnxruntime or scikit-learn is not installed.
    DisagreementError
        If the forms of an activation compute different results, or two activations the
        same.

    Examples
    --------
    >>> result = compare(budget_ms=1.0)  # doctest: +SKIP
    >>> result.verdict.take  # doctest: +SKIP
    'relu/op'
    """
    if budget_ms is not None and not (math.isfinite(budget_ms) and budget_ms > 0):
        raise ValueError(f"budget_ms must be a positive number of milliseconds, not {budget_ms}")
    if runs < 1 or threads < 1:
        raise ValueError("runs and threads must be at least 1")
    for module in ("onnx", "onnxruntime", "sklearn"):
        require(module, "report")
    from ..export import ARCHITECTURES, FORMS, cnn
    from ..export.cost import parameters

    if arch not in ARCHITECTURES:
        raise ValueError(f"unknown architecture {arch!r}; known: {', '.join(ARCHITECTURES)}")
    data = ARCHITECTURES[arch].data
    if data is None:
        raise ValueError(f"{arch} is not trained, so that there is no accuracy to compare")
    report = progress or (lambda what, done, total: None)
    spellings = [(activation, form) for activation in COMPARED for form in FORMS[activation]]
    images, labels = data.load("test")

    models: dict[Spelling, ModelProto] = {}
    sessions: dict[Spelling, Session] = {}
    for key in spellings:
        report("loading", len(models), len(spellings))
        activation, form = key
        models[key] = cnn(arch, activation, form=form, opset=OPSET)
        serialized = models[key].SerializeToString()
        if not sessions:  # the first session of a process also starts the runtime
            Session(serialized, images[:1], threads=threads)
        sessions[key] = Session(serialized, images[:1], threads=threads)

    logits = {key: _classify(session, images) for key, session in sessions.items()}
    check_agreement(logits)
    right = {key: values.argmax(axis=1) == labels for key, values in logits.items()}

    samples = interleave(
        {key: _candidate(session, images) for key, session in sessions.items()},
        runs=runs,
        progress=lambda done, total: report("timing", done, total),
    )

    baseline = spellings[0]
    measurements = tuple(
        Measurement(
            activation=key[0],
            form=key[1],
            latency=Latency.of(samples[key]),
            slower_share=slower_share(samples[key], samples[baseline]),
            images=len(images),
            correct=int(right[key].sum()),
            gained=int((right[key] & ~right[baseline]).sum()),
            lost=int((right[baseline] & ~right[key]).sum()),
            create_ms=session.create_ms,
            first_run_ms=session.first_run_ms,
            file_bytes=models[key].ByteSize(),
            parameters=parameters(models[key]),
            operators=dict(optimized_operators(models[key].SerializeToString())),
        )
        for key, session in sessions.items()
    )
    return Comparison(
        arch=arch,
        data=f"{len(images)} test images of {data.NAME}",
        threads=threads,
        optimization=OPTIMIZATION,
        budget_ms=budget_ms,
        environment=Environment.here(),
        measurements=measurements,
        verdict=decide(measurements, budget_ms),
        notes=_notes(measurements[0].latency.n),
    )


def check_agreement(logits: Mapping[Spelling, Logits]) -> None:
    """Check that the forms of an activation agree and that activations can be told apart.

    Parameters
    ----------
    logits : mapping
        For each (activation, form) the outputs for the same inputs.

    Raises
    ------
    DisagreementError
        If two forms of one activation differ by `AGREEMENT` or more, or two activations
        differ by less: then a file does not hold what its name says.
    """
    entries = list(logits.items())
    for index, (one, values) in enumerate(entries):
        for other, others in entries[:index]:
            distance = float(np.abs(values - others).max())
            same = one[0] == other[0]
            if same != (distance < AGREEMENT):
                raise DisagreementError(
                    f"{'/'.join(other)} and {'/'.join(one)} differ by {distance:.2e}, "
                    f"but must differ by {'less' if same else 'more'} than {AGREEMENT:g}"
                )


def _classify(session: Session, images: npt.NDArray[np.float32]) -> Logits:
    return np.concatenate([session(images[i, None]) for i in range(len(images))])


def _candidate(session: Session, images: npt.NDArray[np.float32]) -> Candidate:
    """Run a session on one image after another."""
    return Candidate(lambda i: session.load(images[i % len(images), None]), session.run)


def _notes(n: int) -> tuple[str, ...]:
    rough = f"Only {n} runs: percentiles are rough below {ENOUGH_RUNS}."
    seeds = (
        "Each activation was trained once; another training would move its accuracy, "
        "which the standard error over the images does not show."
    )
    return (seeds,) if n >= ENOUGH_RUNS else (rough, seeds)
