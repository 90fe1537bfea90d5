"""The accuracy of a network over several trainings: the record of it, and what it tells."""

from .record import PRECISIONS, Study, load, path, read, store
from .statistics import Accuracy, Difference, Right, accuracy, difference

__all__ = [
    "PRECISIONS",
    "Accuracy",
    "Difference",
    "Right",
    "Study",
    "accuracy",
    "difference",
    "load",
    "path",
    "read",
    "store",
]
