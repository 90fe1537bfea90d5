"""Latency in onnxruntime: the protocol, and the comparison of ReLU with GELU."""

from .environment import Environment
from .latency import Candidate, Latency, interleave, slower_share
from .measure import DisagreementError, compare
from .results import SCHEMA, Comparison, Measurement, Verdict
from .session import Session, optimized_operators
from .verdict import decide

__all__ = [
    "SCHEMA",
    "Candidate",
    "Comparison",
    "DisagreementError",
    "Environment",
    "Latency",
    "Measurement",
    "Session",
    "Verdict",
    "compare",
    "decide",
    "interleave",
    "optimized_operators",
    "slower_share",
]
