"""Builds the module against the installed fastact.

Usage: python setup.py build_ext --inplace
"""

from Cython.Build import cythonize
from setuptools import Extension, setup

import fastact

module = Extension("bias_gelu", ["bias_gelu.pyx"], include_dirs=[fastact.get_include()])
setup(name="bias_gelu", ext_modules=cythonize([module], language_level=3))
