"""ReLU and GELU for NumPy on the CPU."""

from ._version import __version__

__all__ = ["__version__"]
