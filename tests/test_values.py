"""The values that each name promises, as tables of digits and of exact results."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import fastact
from fastact import accuracy

FUNCTIONS = fastact.activations + fastact.derivatives
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = "bBhHiIlLqQ"

# x to y, from the definitions at 60 digits, of which 25 are kept.
VALUES = {
    "relu": {-14: "0", -1: "0", -0.25: "0", 0.25: "0.25", 1: "1", 2.5: "2.5", 14: "14"},
    "relu6": {
        -14: "0",
        -1: "0",
        -0.25: "0",
        0.25: "0.25",
        1: "1",
        2.5: "2.5",
        5.5: "5.5",
        6: "6",
        6.5: "6",
        14: "6",
    },
    "gelu": {
        -100: "-1.34417907674419830507308e-2172",
        -38: "-1.096462776826138037173369e-314",
        -30: "-1.472014178144456117860143e-196",
        -20: "-5.507248237212467390151246e-88",
        -14: "-1.091095154686992035610355e-43",
        -13: "-7.952313719414843586957773e-38",
        -10: "-7.619853024160526065973343e-23",
        -8: "-4.976768459417427298812796e-15",
        -6: "-5.919525870226188844205185e-9",
        -5.5: "-1.04442593562382456611182e-7",
        -5: "-1.433257859395969558368762e-6",
        -4: "-1.26684967332479685015083e-4",
        -3.5: "-8.142017766243376272247406e-4",
        -2.75: "-8.194348896400031074309179e-3",
        -2: "-4.550026389635841440056527e-2",
        -1: "-1.586552539314570514147675e-1",
        -0.25: "-1.003234185792690689397866e-1",
        0.25: "1.496765814207309310602134e-1",
        1: "8.413447460685429485852325e-1",
        2: "1.954499736103641585599435",
        2.5: "2.484475836685559662082555",
        2.75: "2.741805651103599968925691",
        5: "4.999998566742140604030442",
    },
    "gelu_tanh": {
        -100: "-4.939274910832718775955801e-31057",
        -30: "-9.616775959691454631340931e-857",
        -20: "-3.375450956310967319739801e-261",
        -14: "-2.569400277353558979996395e-94",
        -13: "-1.05115177676325325542561e-76",
        -10: "-1.20409234820980599365925e-37",
        -8: "-3.107782937501111218031581e-21",
        -6: "-8.439646700762297083699443e-11",
        -5.5: "-5.92764026388026202595239e-9",
        -5: "-2.291796196629506045592755e-7",
        -4: "-7.02459481923726898181258e-5",
        -3.5: "-6.161976553736633089266467e-4",
        -2.75: "-7.72314407361796852066223e-3",
        -2: "-4.540230591222498121895861e-2",
        -1: "-1.588080093917232952180042e-1",
        -0.25: "-1.003246492983149997745713e-1",
        0.25: "1.496753507016850002254287e-1",
        1: "8.411919906082767047819958e-1",
        2: "1.954597694087775018781041",
        2.5: "2.484915733910001417920508",
        2.75: "2.742276855926382031479338",
        5: "4.999999770820380337049395",
    },
    "gelu_quick": {
        -440: "-2.564490347604007924752816e-323",
        -100: "-1.210818868520417019803118e-72",
        -60: "-2.679160665528766898959372e-43",
        -50: "-5.501860750056332123188939e-36",
        -20: "-3.29341024139937172832873e-14",
        -14: "-6.277101061615067903722417e-10",
        -10: "-4.057961294855309990271858e-7",
        -8: "-9.766428865730378210005032e-6",
        -6: "-2.203535497873924039494172e-4",
        -4: "-4.414724139581061358710442e-3",
        -2.75: "-2.527016770917407647757952e-2",
        -2: "-6.434137685579185019275089e-2",
        -1: "-1.542042340671787042928932e-1",
        -0.25: "-9.880035009980581945783697e-2",
        0.25: "1.51199649900194180542163e-1",
        1: "8.457957659328212957071068e-1",
        2: "1.935658623144208149807249",
        2.5: "2.465013834951429925565324",
        2.75: "2.72472983229082592352242",
        5: "4.998992983732647631060295",
        14: "1.399999999937228989383849e1",
    },
    "silu": {
        -740: "-3.09966751123555621519858e-319",
        -100: "-3.720075976020835962959696e-42",
        -88: "-5.328049667953043578388037e-37",
        -50: "-9.643749239819588915084854e-21",
        -20: "-4.122307236380407162861724e-8",
        -14: "-1.164139238729784998508835e-5",
        -10: "-4.539786870243439450477623e-4",
        -8: "-2.682801043731824831026623e-3",
        -6: "-1.483573893980864600435944e-2",
        -4: "-7.194483984836623210717255e-2",
        -2.75: "-1.652382879785209605542395e-1",
        -2: "-2.384058440442351118805417e-1",
        -1: "-2.689414213699951207488408e-1",
        -0.25: "-1.094558747785504739931691e-1",
        0.25: "1.405441252214495260068309e-1",
        1: "7.310585786300048792511592e-1",
        2: "1.761594155955764888119458",
        2.5: "2.310354549946891122016735",
        2.75: "2.584761712021479039445761",
        5: "4.96653574537857572220319",
        14: "1.399998835860761270215001e1",
    },
    "hard_swish": {
        -14: "0",
        -3: "0",
        -2.75: "-1.145833333333333333333333e-1",
        -2.5: "-2.083333333333333333333333e-1",
        -2: "-3.333333333333333333333333e-1",
        -1.5: "-3.75e-1",
        -1: "-3.333333333333333333333333e-1",
        -0.25: "-1.145833333333333333333333e-1",
        0.25: "1.354166666666666666666667e-1",
        1: "6.666666666666666666666667e-1",
        2: "1.666666666666666666666667",
        2.5: "2.291666666666666666666667",
        2.75: "2.635416666666666666666667",
        3: "3",
        5: "5",
        14: "14",
    },
    "relu_grad": {-14: "0", -1: "0", -0.25: "0", 0.25: "1", 1: "1", 2.5: "1", 14: "1"},
    "gelu_grad": {
        -100: "-1.344179049874048623510336e-2170",
        -38: "-4.166554569268784456111035e-313",
        -30: "-4.416031690708494370088946e-195",
        -20: "-1.101436048313346404221472e-86",
        -14: "-1.527455646325367028500388e-42",
        -13: "-1.033730444011335615024141e-36",
        -10: "-7.6184000964648140856793e-22",
        -8: "-3.979607261086795989124988e-14",
        -6: "-3.546870945390201478127698e-8",
        -5: "-7.146946001792294627867446e-6",
        -4: "-5.036496612264214858425272e-4",
        -2.75: "-2.202753364432083836335665e-2",
        -2: "-8.523180107819689670084576e-2",
        -1: "-8.331547058768629838306274e-2",
        -0.75: "7.742782607648956283087645e-4",
        -0.25: "3.046266451163639740238398e-1",
        0.25: "6.953733548836360259761602e-1",
        0.75: "9.992257217392351043716912e-1",
        1: "1.083315470587686298383063",
        2: "1.085231801078196896700846",
        2.75: "1.022027533644320838363357",
        5: "1.000007146946001792294628",
    },
    "gelu_tanh_grad": {
        -100: "-1.058106416310669915951267e-31053",
        -30: "-1.867774455621284797494808e-854",
        -20: "-2.942432872494502864324667e-259",
        -14: "-1.117200228485492875432993e-92",
        -13: "-3.962394186461654953143338e-75",
        -10: "-2.757638063854031607330147e-36",
        -8: "-4.714784504106841584483441e-20",
        -6: "-7.709973930953695511677775e-10",
        -5: "-1.546361987532594595584972e-6",
        -4: "-3.351231971226707583992758e-4",
        -2.75: "-2.194892159349821392437282e-2",
        -2: "-8.609925662361838156451392e-2",
        -1: "-8.296408384578255513964242e-2",
        -0.25: "3.04645904848939570514125e-1",
        0.25: "6.95354095151060429485875e-1",
        0.75: "9.989382561374142976577183e-1",
        1: "1.082964083845782555139642",
        2: "1.086099256623618381564514",
        2.75: "1.021948921593498213924373",
        5: "1.000001546361987532594596",
    },
}


Pairs = list[tuple[float, float]]


def landmarks(info: np.finfo) -> tuple[float, float, float]:
    return float(info.smallest_subnormal), float(info.tiny), float(info.max)


def exact_gate(x_from: float, zero_from: float, info: np.finfo) -> Pairs:
    """Return the limits of x times a gate, halves near zero, x or -0.0 where the gate is shut."""
    least, tiny, most = landmarks(info)
    halves = [2 * least, 4 * least, 6 * least, tiny, 3 * tiny]
    large = [3.0, 10.0, 41.0, 75.0, 256.0, 60000.0, 5e30, most / 2, most]
    return [
        (0.0, 0.0),
        (-0.0, -0.0),
        *((x, x / 2) for x in halves),
        *((-x, -x / 2) for x in halves),
        *((x, x) for x in large if x_from <= x <= most),
        *((-x, -0.0) for x in large if zero_from <= x <= most),
        (np.inf, np.inf),
        (-np.inf, -0.0),
    ]


def exact_gelu(info: np.finfo) -> Pairs:
    return exact_gate(10, 41, info)


def exact_logistic(info: np.finfo) -> Pairs:
    return exact_gate(41, 60000, info)


def exact_hard_swish(info: np.finfo) -> Pairs:
    return [*exact_gate(3, 3, info), (-1.5, -0.375), (-0.0, -0.0)]


def exact_relu(info: np.finfo) -> Pairs:
    """Every positive number stays, every negative one gives +0.0, and -0.0 stays."""
    least, tiny, most = landmarks(info)
    numbers = [least, 3 * least, tiny, 0.5, 1.0, 1 + float(info.eps), most, np.inf]
    return [(0.0, 0.0), (-0.0, -0.0), *((x, x) for x in numbers), *((-x, 0.0) for x in numbers)]


def exact_relu6(info: np.finfo) -> Pairs:
    """As relu, with 6 for everything above."""
    around = [6.0, 6 * (1 - float(info.eps)), 6 * (1 + float(info.eps)), 7.0, 256.0]
    return [
        *((x, min(y, 6.0)) for x, y in exact_relu(info)),
        *((x, min(x, 6.0)) for x in around),
        *((-x, 0.0) for x in around),
    ]


def exact_relu_grad(info: np.finfo) -> Pairs:
    """1 for every positive number, +0.0 for all others, both zeros among them."""
    return [(x, 1.0 if x > 0 else 0.0) for x, _ in exact_relu(info)]


def exact_gelu_grad(info: np.finfo) -> Pairs:
    """Both forms: 0.5 at and around zero, 1 and -0.0 at the far ends."""
    least, tiny, most = landmarks(info)
    small = [0.0, least, 3 * least, tiny]
    large = [41.0, 75.0, 256.0, 60000.0, 5e30, most, np.inf]
    return [
        *((x, 0.5) for x in small),
        *((-x, 0.5) for x in small),
        (10.0, 1.0),
        *((x, 1.0) for x in large if x <= most or x == np.inf),
        *((-x, -0.0) for x in large if x <= most or x == np.inf),
    ]


# What must come out bit for bit, in every dtype.
EXACT = {
    "relu": exact_relu,
    "relu6": exact_relu6,
    "gelu": exact_gelu,
    "gelu_tanh": exact_gelu,
    "gelu_quick": exact_logistic,
    "silu": exact_logistic,
    "hard_swish": exact_hard_swish,
    "relu_grad": exact_relu_grad,
    "gelu_grad": exact_gelu_grad,
    "gelu_tanh_grad": exact_gelu_grad,
}

# Where the function has a smallest value inside the line: (x, y, c), some y + c (x - where)^2
# around it.
MINIMUM = {
    "relu": None,
    "relu6": None,
    "gelu": (-0.751791524693564, -0.16997120747990369, 0.2157),
    "gelu_tanh": (-0.752461422071016, -0.17004075057125407, 0.2152),
    "gelu_quick": (-0.751154255441289, -0.16361018963635358, 0.1854),
    "silu": (-1.27846454276107, -0.2784645427610738, 0.1089),
    "hard_swish": (-1.5, -0.375, 0.1667),
    "relu_grad": None,
    "gelu_grad": (-1.41421356237310, -0.12890414518515479, 0.2076),
    "gelu_tanh_grad": (-1.41850400879083, -0.12899306865877177, 0.2048),
}

# What the slope from float32(1) to float32(1 + 2^-13) is: an input cut to half precision gives 0.
SLOPE_AT_ONE = {
    "relu": 1.0,
    "relu6": 1.0,
    "gelu": 1.0833,
    "gelu_tanh": 1.0830,
    "gelu_quick": 1.0678,
    "silu": 0.9277,
    "hard_swish": 0.8333,
    "relu_grad": 0.0,
    "gelu_grad": 0.2420,
    "gelu_tanh_grad": 0.2421,
}

# The slope at +0, where a function passes through zero.
SLOPE_AT_ZERO = {
    "relu": 1.0,
    "relu6": 1.0,
    "gelu": 0.5,
    "gelu_tanh": 0.5,
    "gelu_quick": 0.5,
    "silu": 0.5,
    "hard_swish": 0.5,
}


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.itemsize}")


def table(name: str, dtype: str) -> tuple[np.ndarray, accuracy.Reference]:
    """Return the inputs of VALUES, and the outputs as sums of two float64 numbers."""
    values = {x: Fraction(y) for x, y in VALUES[name].items()}
    high = np.array([float(y) for y in values.values()])
    low = np.array([float(y - Fraction(h)) for y, h in zip(values.values(), high, strict=True)])
    return np.array(list(values), dtype), accuracy.Reference(high, low, np.abs(high))


@pytest.mark.parametrize("entries", [VALUES, EXACT, MINIMUM, SLOPE_AT_ONE])
def test_every_function_has_an_entry(entries: dict[str, object]) -> None:
    assert list(entries) == list(FUNCTIONS)


def test_every_activation_has_a_slope() -> None:
    assert list(SLOPE_AT_ZERO) == list(fastact.activations)
    assert fastact.activations[:2] == ("relu", "relu6")


@pytest.mark.parametrize("dtype", FLOATS)
def test_table(name: str, variant: str, dtype: str) -> None:
    x, expected = table(name, dtype)
    y = getattr(fastact.variants[variant], name)(x)
    assert y.dtype == dtype
    error = accuracy.ulp_error(y, expected)
    assert error.max() <= fastact.max_ulp(name, dtype, variant=variant), x[error.argmax()]


@pytest.mark.parametrize("dtype", FLOATS)
def test_table_tells_the_functions_apart(name: str, variant: str, dtype: str) -> None:
    x, expected = table(name, dtype)
    for other in set(FUNCTIONS) - {name}:
        y = getattr(fastact.variants[variant], other)(x)
        error = accuracy.ulp_error(y, expected).max()
        assert error > 2 * max(fastact.max_ulp(name, dtype, variant=variant), 0.5), other


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_results(name: str, variant: str, dtype: str) -> None:
    x, expected = np.array(EXACT[name](ml_dtypes.finfo(dtype)), dtype).T.copy()
    y = getattr(fastact.variants[variant], name)(x)
    wrong = bits(y) != bits(expected)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], expected[wrong], strict=True))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_stays_nan(name: str, variant: str, dtype: str) -> None:
    # Of both signs, quiet and signalling, with the smallest and the largest payload.
    info = ml_dtypes.finfo(dtype)
    infinity = int(bits(np.array([np.inf], dtype))[0])
    quiet = 1 << (info.nmant - 1)
    sign = 1 << (info.bits - 1)
    payloads = [1, quiet - 1, quiet, quiet + 1, 2 * quiet - 1]
    patterns = [s | infinity | p for s in (0, sign) for p in payloads]
    x = np.array(patterns, f"u{info.bits // 8}").view(dtype)
    function = getattr(fastact.variants[variant], name)
    assert np.isnan(function(x)).all()
    assert all(np.isnan(function(x[i : i + 1])).all() for i in range(x.size))


STRIDES = {"float16": 1, "bfloat16": 1, "float32": 40_009, "float64": (1 << 48) + 1}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", fastact.activations)
def test_finite_stays_finite_with_the_sign_of_x(name: str, variant: str, dtype: str) -> None:
    function = getattr(fastact.variants[variant], name)
    for x in accuracy.bit_patterns(dtype, STRIDES[dtype]):
        y = function(x)
        assert np.isfinite(y).all()
        assert ((np.signbit(y) == np.signbit(x)) | (y == 0)).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", fastact.activations[2:])  # relu and relu6 give +0.0
def test_a_negative_result_that_vanishes_is_a_negative_zero(
    name: str, variant: str, dtype: str
) -> None:
    function = getattr(fastact.variants[variant], name)
    for x in accuracy.bit_patterns(dtype, STRIDES[dtype]):
        assert (np.signbit(function(x)) == np.signbit(x)).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", fastact.derivatives)
def test_a_derivative_stays_between_its_extrema(name: str, variant: str, dtype: str) -> None:
    # The extrema of the two forms of gelu lie opposite each other: f(x) + f(-x) is 1.
    function = getattr(fastact.variants[variant], name)
    lowest = MINIMUM[name][1] if MINIMUM[name] else 0.0
    slack = float(ml_dtypes.finfo(dtype).eps)
    for x in accuracy.bit_patterns(dtype, STRIDES[dtype]):
        y = function(x).astype(np.float64)
        assert (y >= lowest - slack).all()
        assert (y <= 1 - lowest + slack).all()
    assert function(np.array([41, np.inf], dtype)).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", fastact.activations)
def test_subnormals_are_kept(name: str, variant: str, dtype: str) -> None:
    # The result is x or the half of it, whichever way a tie goes.
    least = ml_dtypes.finfo(dtype).smallest_subnormal
    unsigned = f"u{np.dtype(dtype).itemsize}"
    count = 128 if dtype == "bfloat16" else 1000  # there are no more
    x = np.arange(1, count).astype(unsigned).view(dtype)
    y = getattr(fastact.variants[variant], name)(x)
    steps = (y.astype(np.float64) / float(least)) - SLOPE_AT_ZERO[name] * np.arange(1, count)
    assert np.abs(steps).max() <= 0.5


@pytest.mark.parametrize("dtype", FLOATS)
def test_minimum(name: str, variant: str, dtype: str) -> None:
    if MINIMUM[name] is None:
        assert name in ("relu", "relu6", "relu_grad"), "say where the minimum is"
        return
    where, least, curvature = MINIMUM[name]
    function = getattr(fastact.variants[variant], name)
    unit = float(np.spacing(np.array(-least, dtype)))
    promised = (fastact.max_ulp(name, dtype, variant=variant) + 0.5) * unit
    x = np.append(np.linspace(-3, 1, 100_001), where).astype(dtype)
    y = function(x).astype(float)
    assert abs(y.min() - least) <= promised
    bottom = x[y == y.min()].astype(float)
    step = float(np.spacing(np.array(-where, dtype)))
    assert np.abs(bottom - where).max() <= 1.02 * np.sqrt(2 * promised / curvature) + step


def test_the_two_gelus_are_as_far_apart_as_stated(variant: str) -> None:
    functions = fastact.variants[variant]
    x = np.linspace(-6, 6, 1_200_001)
    distance = np.abs(functions.gelu(x) - functions.gelu_tanh(x))
    assert round(float(distance.max()), 8) == 4.7324e-4
    assert round(float(np.abs(x[distance.argmax()])), 3) == 2.699


def test_the_quick_gelu_is_as_far_from_the_exact_one_as_stated(variant: str) -> None:
    functions = fastact.variants[variant]
    x = np.linspace(-6, 6, 1_200_001)
    distance = np.abs(functions.gelu(x) - functions.gelu_quick(x))
    assert round(float(distance.max()), 7) == 0.0203349
    assert round(float(np.abs(x[distance.argmax()])), 2) == 2.27


def test_no_half_precision_inside(name: str, variant: str) -> None:
    function = getattr(fastact.variants[variant], name)
    step = 2.0**-13
    y = function(np.float32([1, 1 + step])).astype(float)
    slope = (y[1] - y[0]) / step
    unit = 2.0**-23  # of values between 1 and 2
    promised = 2 * fastact.max_ulp(name, "float32", variant=variant) * unit / step
    assert abs(slope - SLOPE_AT_ONE[name]) <= promised + 1e-4


@pytest.mark.parametrize("name", ["gelu_grad", "gelu_tanh_grad"])
def test_a_derivative_is_the_slope_of_its_activation(name: str, variant: str) -> None:
    # Central differences: a sixth of step^2 times the third derivative, and what rounding adds.
    functions = fastact.variants[variant]
    activation = getattr(functions, name.removesuffix("_grad"))
    x, step = np.linspace(-6, 6, 5001), 2.0**-16
    slope = (activation(x + step) - activation(x - step)) / (2 * step)
    assert np.abs(getattr(functions, name)(x) - slope).max() <= 1e-9


@pytest.mark.parametrize("character", INTEGERS)
@pytest.mark.parametrize(("name", "most"), [("relu", None), ("relu6", 6)])
def test_of_integers(variant: str, character: str, name: str, most: int | None) -> None:
    info = np.iinfo(character)
    numbers = {info.min, info.min + 1, *range(-1, 9), info.max // 2, info.max - 1, info.max}
    kept = [number for number in sorted(numbers) if number >= info.min]
    x = np.array(kept * 40, character)  # longer than a vector of the smallest type
    y = getattr(fastact.variants[variant], name)(x)
    assert y.dtype == np.dtype(character)
    largest = info.max if most is None else most
    assert y.tolist() == [min(max(0, number), largest) for number in kept] * 40


def test_which_functions_have_integers_of_their_own() -> None:
    registry = fastact._core.registry[fastact.isa]
    with_integers = [name for name in FUNCTIONS if "int8" in registry[name]]
    assert with_integers == ["relu", "relu6"], "another function of integers needs its own test"
