"""What a NumPy user may do with fastact's ufuncs: out=, in place, strides, where=, dtypes."""

from __future__ import annotations

import numpy as np

import fastact


def main() -> None:
    """Show each use with its result."""
    np.set_printoptions(precision=4)
    x = np.linspace(-3, 3, 7, dtype=np.float32)

    print("A new array, of the dtype that went in")
    show("x", x)
    show("relu(x)", fastact.relu(x))
    show("gelu(x)", fastact.gelu(x))

    print("Into an array that is there already; nothing is allocated")
    y = np.empty_like(x)
    fastact.gelu(x, out=y)
    show("gelu(x, out=y)", y)

    print("In place")
    z = x.copy()
    fastact.relu(z, out=z)
    show("relu(z, out=z)", z)

    print("Strided views: every other element, backwards, the columns of a matrix")
    show("gelu(x[::2])", fastact.gelu(x[::2]))
    show("gelu(x[::-1])", fastact.gelu(x[::-1]))
    matrix = np.zeros((3, 4), dtype=np.float32)
    matrix[:, 1] = [-1, 0, 1]
    fastact.gelu(matrix[:, 1], out=matrix[:, 1])
    show("gelu of column 1", matrix[:, 1])

    print("Only where the mask says so; the others keep what out= held")
    show("gelu(x, where=x > 0)", fastact.gelu(x, out=x.copy(), where=x > 0))

    print("0-d arrays, Python numbers and lists, as of every ufunc")
    show("gelu(-1.0)", fastact.gelu(-1.0))
    show("gelu([[1, -1]])", fastact.gelu([[1.0, -1.0]]))

    print("Integers: relu keeps their dtype, gelu gives the float that np.exp would give")
    small = np.array([-2, 0, 2], dtype=np.int8)
    show("relu(int8)", fastact.relu(small))
    show("gelu(int8)", fastact.gelu(small))

    print("No warning, even where the result is subnormal or NaN")
    with np.errstate(all="raise"):
        show("gelu(special)", fastact.gelu(np.float32([-np.inf, -13.5, np.inf, np.nan])))

    print("A dtype that has no loop is refused by name")
    try:
        fastact.gelu(np.array([1j]))
    except TypeError as error:
        print(f"  {error}")


def show(what: str, value: object) -> None:
    """Print a result beside the expression that made it."""
    array = np.asarray(value)
    print(f"  {what:<22}{array}  {array.dtype}")


if __name__ == "__main__":
    main()
