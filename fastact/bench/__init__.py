"""Latency in onnxruntime: the protocol, the constraints, and the comparison of ReLU with GELU."""

from .agreement import DisagreementError
from .child import RunError
from .environment import Environment
from .latency import Candidate, Latency, interleave, slower_share
from .measure import COMPARED, compare
from .plain import Bench, bench
from .profiles import PROFILES, Profile, ProfileError
from .results import (
    SCHEMA,
    Accuracy,
    Comparison,
    Distance,
    Gain,
    Measurement,
    Seeds,
    Split,
    Verdict,
)
from .session import Session, optimized_operators
from .spread import Noise
from .verdict import decide

__all__ = [
    "COMPARED",
    "PROFILES",
    "SCHEMA",
    "Accuracy",
    "Bench",
    "Candidate",
    "Comparison",
    "DisagreementError",
    "Distance",
    "Environment",
    "Gain",
    "Latency",
    "Measurement",
    "Noise",
    "Profile",
    "ProfileError",
    "RunError",
    "Seeds",
    "Session",
    "Split",
    "Verdict",
    "bench",
    "compare",
    "decide",
    "interleave",
    "optimized_operators",
    "slower_share",
]
