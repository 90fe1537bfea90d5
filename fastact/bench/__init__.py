"""Latency in onnxruntime: the protocol, and the comparison of ReLU with GELU."""

from .compare import DisagreementError, compare
from .environment import Environment, environment
from .latency import Candidate, Latency, interleave, slower_share
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
    "environment",
    "interleave",
    "optimized_operators",
    "slower_share",
]
