"""The ufuncs of every variant that this CPU can run, made from the tables of kernels.c."""

import operator
import os
import sys
from collections import namedtuple
from types import MappingProxyType, ModuleType

import numpy as np

from ._docs import docstring

from cpython.object cimport PyObject
from libc.stddef cimport ptrdiff_t
cimport numpy as cnp

cnp.import_array()
cnp.import_ufunc()


cdef extern from "loop.h":
    ctypedef struct fastact_bound:
        double max_ulp
        double at
    ctypedef struct fastact_loop:
        const char *activation
        char type
        size_t itemsize
        fastact_bound bound
    # In range() cast to int, or Cython writes a conversion of enums that compilers warn about.
    enum:
        FASTACT_LOOP_COUNT
        FASTACT_ACTIVATION_COUNT
        FASTACT_FUNCTION_COUNT

cdef extern from "fastact.h":
    const fastact_kernels fastact_kernel_table
    int fastact_set_isa(const char *name)

cdef extern from "dispatch.h":
    ctypedef struct fastact_variant:
        const char *name
        const fastact_loop *loops
        const fastact_loop *bfloat16_loops
    enum:
        FASTACT_VARIANT_COUNT
    int fastact_find_variants(fastact_variant *found)

cdef extern from "threads.h":
    int fastact_get_num_threads()
    void fastact_set_num_threads(int threads)

cdef extern from "environment.h":
    ctypedef struct fastact_environment:
        pass
    fastact_environment fastact_enter() noexcept nogil
    void fastact_leave(fastact_environment saved) noexcept nogil

cdef extern from "strided.h":
    void fastact_run(const fastact_loop *loop, const char *x, ptrdiff_t x_stride,
                     char *y, ptrdiff_t y_stride, ptrdiff_t n) noexcept nogil

cdef extern from "numpy/ufuncobject.h":
    ctypedef int PyUFunc_TypeResolutionFunc(
        cnp.ufunc, cnp.NPY_CASTING, cnp.PyArrayObject **, PyObject *, cnp.PyArray_Descr **
    ) except -1
    ctypedef struct PyUFuncObject:
        PyUFunc_TypeResolutionFunc *type_resolver
    int PyUFunc_DefaultTypeResolver(
        cnp.ufunc, cnp.NPY_CASTING, cnp.PyArrayObject **, PyObject *, cnp.PyArray_Descr **
    ) except -1


cdef void inner_loop(char **args, cnp.npy_intp *dimensions, cnp.npy_intp *steps,
                     void *data) noexcept nogil:
    """NumPy's inner loop of every ufunc; `data` is the fastact_loop to run."""
    cdef fastact_environment saved = fastact_enter()
    fastact_run(<const fastact_loop *>data, args[0], steps[0], args[1], steps[1], dimensions[0])
    fastact_leave(saved)


cdef int resolve_types(cnp.ufunc ufunc, cnp.NPY_CASTING casting, cnp.PyArrayObject **operands,
                       PyObject *types, cnp.PyArray_Descr **out) except -1:
    """NumPy's own choice of a loop, with an error that names the dtype it was given."""
    if not bfloat16_is_known and (<object>operands[0]).dtype.name == "bfloat16":
        add_bfloat16((<object>operands[0]).dtype)
    try:
        return PyUFunc_DefaultTypeResolver(ufunc, casting, operands, types, out)
    except TypeError:
        if types != NULL:  # dtype= or signature= was given
            raise
        dtype = (<object>operands[0]).dtype
        accepted = registry[isa][ufunc.__name__]
        raise TypeError(
            f"{ufunc.__name__} does not take dtype {dtype}; accepted: {', '.join(accepted)}, "
            "and what NumPy casts safely to one of them"
        ) from None


# NumPy keeps pointers into these tables: they are filled once, at import, and never change.
cdef fastact_variant found[FASTACT_VARIANT_COUNT]
cdef cnp.PyUFuncGenericFunction functions[FASTACT_LOOP_COUNT]
cdef void *data[FASTACT_VARIANT_COUNT][FASTACT_LOOP_COUNT]
cdef char type_numbers[2 * FASTACT_LOOP_COUNT]
docs = []  # NumPy keeps pointers into these, too

cdef int variant_count = fastact_find_variants(found)
cdef int v, i
for i in range(<int>FASTACT_LOOP_COUNT):
    functions[i] = <cnp.PyUFuncGenericFunction>inner_loop
    type_numbers[2 * i] = type_numbers[2 * i + 1] = np.dtype(chr(found[0].loops[i].type)).num
    for v in range(variant_count):
        data[v][i] = <void *>&found[v].loops[i]


def registry_of(int variant):
    """Function -> dtype name -> Bound, of one variant, in the order of registry.h."""
    table = {}
    for i in range(<int>FASTACT_LOOP_COUNT):
        loop = found[variant].loops[i]
        bounds = table.setdefault(loop.activation.decode(), {})
        # long and long long may be the same dtype, which then keeps its first loop.
        bounds.setdefault(np.dtype(chr(loop.type)).name, Bound(loop.bound.max_ulp, loop.bound.at))
    for i in range(<int>FASTACT_FUNCTION_COUNT):
        loop = found[variant].bfloat16_loops[i]
        table[loop.activation.decode()]["bfloat16"] = Bound(loop.bound.max_ulp, loop.bound.at)
    return MappingProxyType({name: MappingProxyType(bounds) for name, bounds in table.items()})


def make_ufuncs(int variant):
    """The ufuncs of one variant, one for each function of the registry."""
    ufuncs = {}
    cdef int start = 0, stop = 0
    while start < FASTACT_LOOP_COUNT:
        name = found[variant].loops[start].activation
        while stop < FASTACT_LOOP_COUNT and found[variant].loops[stop].activation == name:
            stop += 1
        variant_name = found[variant].name.decode()
        docs.append(docstring(name.decode(), variant_name, registry[variant_name]).encode())
        ufunc = cnp.PyUFunc_FromFuncAndData(
            &functions[start], &data[variant][start], &type_numbers[2 * start], stop - start,
            1, 1, -1, found[variant].loops[start].activation, docs[-1], 0)
        (<PyUFuncObject *>ufunc).type_resolver = resolve_types
        ufuncs[name.decode()] = ufunc
        start = stop
    return ufuncs


Bound = namedtuple("Bound", ["max_ulp", "at"])
registry = MappingProxyType({found[v].name.decode(): registry_of(v) for v in range(variant_count)})
function_names = tuple(registry_of(0))
activations = function_names[:FASTACT_ACTIVATION_COUNT]
derivatives = function_names[FASTACT_ACTIVATION_COUNT:]
Variant = namedtuple("Variant", function_names)
variants = MappingProxyType({
    found[v].name.decode(): Variant(**make_ufuncs(v)) for v in range(variant_count)
})


def choose_variant(wanted):
    """The best variant, or the one that is wanted by name."""
    if not wanted:
        return next(iter(variants))
    if wanted not in variants:
        raise ImportError(
            f"FASTACT_ISA={wanted!r} is not a variant that this CPU can run; "
            f"it can run {', '.join(variants)}",
            name="fastact",  # so that python -m fastact prints one line instead of a traceback
        )
    return wanted


bfloat16_is_known = False


def add_bfloat16(dtype):
    """Give every ufunc a loop for the bfloat16 of ml_dtypes, when it is first met.

    ml_dtypes registers its types with NumPy when it is imported, which may be after fastact.
    """
    global bfloat16_is_known
    cdef int numbers[2]
    cdef int v, i
    numbers[0] = numbers[1] = dtype.num
    for v, ufuncs in enumerate(variants.values()):
        for i, ufunc in enumerate(ufuncs):
            cnp.PyUFunc_RegisterLoopForType(
                ufunc, dtype.num, <cnp.PyUFuncGenericFunction>inner_loop, numbers,
                <void *>&found[v].bfloat16_loops[i])
    bfloat16_is_known = True


def usable_cpus():
    """How many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(threads=None):
    """Let calls on large contiguous arrays use several threads.

    An array is split when each thread gets at least 262,144 elements; smaller ones and strided
    ones are computed by the calling thread alone, as all are at first. The results are the same
    bits. A process forked later may go on using threads.

    Parameters
    ----------
    threads : int, optional
        How many threads a call may use, the calling one included. No more are used than there
        are CPUs that the process may run on; that many if not given.

    Raises
    ------
    TypeError
        If `threads` is not an integer.
    ValueError
        If `threads` is less than 1.

    Examples
    --------
    >>> import fastact
    >>> fastact.get_num_threads()
    1
    >>> fastact.set_num_threads(2)
    >>> fastact.set_num_threads(1)
    """
    cpus = usable_cpus()
    wanted = cpus if threads is None else operator.index(threads)
    if wanted < 1:
        raise ValueError(f"threads is {threads}; accepted: 1 or more, or None for all usable CPUs")
    fastact_set_num_threads(min(wanted, cpus))


def get_num_threads():
    """How many threads a call on a large contiguous array may use; 1 unless set.

    Returns
    -------
    int
        The number that `set_num_threads` was given, or that of the usable CPUs if that is less.
    """
    return fastact_get_num_threads()


isa = choose_variant(os.environ.get("FASTACT_ISA"))

# For Cython modules, through _core.pxd.
fastact_set_isa(isa.encode())
kernels = &fastact_kernel_table


def name_modules():
    """Say where pickle finds each ufunc.

    Those in use are in fastact, so that another machine takes the best of its own; those of
    another variant are in a module of that variant alone, such as fastact.avx2.
    """
    for variant, ufuncs in variants.items():
        module = ModuleType(f"fastact.{variant}", f"The ufuncs of the variant {variant}.")
        vars(module).update(ufuncs._asdict())
        if hasattr(ufuncs[0], "__dict__"):
            for ufunc in ufuncs:
                ufunc.__module__ = "fastact" if variant == isa else module.__name__
        elif variant == isa:
            continue  # NumPy before 2.2 takes the first module that it finds: let it be fastact
        sys.modules[module.__name__] = module


name_modules()


def max_ulp(function, dtype=np.float32, *, variant=None):
    """The largest error promised for a function, in units in the last place (ULP).

    Parameters
    ----------
    function : str
        A name in `fastact.activations` or `fastact.derivatives`.
    dtype : dtype_like, optional
        A dtype that the function takes.
    variant : str, optional
        A name in `fastact.variants`; the one in use, `fastact.isa`, if not given.

    Returns
    -------
    float
        The bound. It holds over every value of float16 and float32, and over the sweep that
        docs/accuracy.md describes for float64. At most 0.5 means correctly rounded, 0 exact.

    Raises
    ------
    ValueError
        If there is no such function or variant, or the function does not take the dtype.

    Examples
    --------
    >>> import fastact
    >>> fastact.max_ulp("relu", "float64")
    0.0
    >>> fastact.max_ulp("gelu", "float32") <= 4
    True
    """
    name = isa if variant is None else variant
    for what, value, accepted in (
        ("variant", name, variants), ("function", function, function_names)
    ):
        if value not in accepted:
            raise ValueError(f"unknown {what} {value!r}; accepted: {', '.join(accepted)}")
    bounds = registry[name][function]
    dtype = "bfloat16" if dtype == "bfloat16" else np.dtype(dtype).name
    if dtype not in bounds:
        raise ValueError(f"{function} does not take {dtype}; accepted: {', '.join(bounds)}")
    return bounds[dtype].max_ulp
