"""Each exported activation and the digits CNN in onnxruntime: one thread, bound buffers."""

import numpy as np
import pytest

import fastact
from fastact import export
from fastact.bench import Session
from fastact.export import FORMS, digits, tape, weights

SIZES = (1_024, 65_536, 1_048_576)
SPELLINGS = [(name, form) for name, forms in FORMS.items() for form in forms]

# Absolute, and times the largest input: onnxruntime's float32 results are that close to ours
# but for -inf and the far negative tail. The two GELUs differ by 4.7e-4, at +-2.7.
TOLERANCE = 1e-6


def sample(n):
    """Draw values as a layer sees them, and add the points where the two GELUs differ most."""
    x = np.random.default_rng(n).normal(scale=2, size=(1, n)).astype(np.float32)
    x[0, :4] = -2.699, 2.699, 0, -0.75
    return x


def reference_logits(activation, images):
    """Run the network in NumPy, with fastact's own activation."""
    trained = weights.load("digits")[activation].tensors
    parameters = {name: tape.Value(data) for name, data in trained.items()}
    layers = tape.Tape(activation, parameters, np.random.default_rng(0))
    return export.ARCHITECTURES["digits"].network(layers, tape.Value(images)).data


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("activation", "form"), SPELLINGS)
def test_activation(benchmark, activation, form, n):
    benchmark.group = f"onnxruntime, float32, n={n}"
    benchmark.extra_info.update(activation=activation, form=form, dtype="float32", n=n)
    model = export.activation(activation, form=form, opset=20, shape=(1, n))
    x = sample(n)
    session = Session(model.SerializeToString(), np.zeros_like(x))
    session.load(x)
    benchmark(session.run)
    np.testing.assert_array_equal(session.inputs["x"], x)
    expected = getattr(fastact, activation)(x)
    np.testing.assert_allclose(session.output, expected, rtol=0, atol=TOLERANCE * np.abs(x).max())


@pytest.mark.parametrize(("activation", "form"), SPELLINGS)
def test_digits_cnn(benchmark, activation, form):
    benchmark.group = "onnxruntime, digits CNN, batch 1"
    benchmark.extra_info.update(activation=activation, form=form, arch="digits", n=1)
    model = export.cnn("digits", activation, form=form, opset=20)
    image = digits.load("test")[0][:1]
    session = Session(model.SerializeToString(), np.zeros_like(image))
    session.load(image)
    benchmark(session.run)
    np.testing.assert_array_equal(session.inputs["image"], image)
    expected = reference_logits(activation, image)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(session.output, expected, rtol=0, atol=TOLERANCE * scale)


@pytest.mark.parametrize("n", SIZES)
def test_the_tolerance_tells_the_two_gelus_apart(n):
    x = sample(n)
    distance = np.abs(fastact.gelu(x) - fastact.gelu_tanh(x)).max()
    assert distance > 10 * TOLERANCE * np.abs(x).max()
