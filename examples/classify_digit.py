"""Classifies one handwritten digit with the digits CNN, and shows the image and the answer."""

from __future__ import annotations

import sys

import numpy as np
import onnxruntime

from fastact.export import cnn, digits


def main(index: int = 7) -> None:
    """Classify one of the 360 test images."""
    images, labels = digits.load("test")
    image = images[index]
    for row in image[0]:
        print("  " + "".join(2 * " .:-=+*#%@"[round(float(pixel) * 9)] for pixel in row))

    model = cnn("digits", "gelu")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (logits,) = session.run(["logits"], {"image": image[np.newaxis]})
    odds = np.exp(logits[0] - logits[0].max())
    probabilities = odds / odds.sum()

    print()
    for digit, probability in enumerate(probabilities):
        print(f"  {digit}  {probability:6.1%}  {'#' * round(40 * float(probability))}")
    print(f"\n  The network says {probabilities.argmax()}; the label is {labels[index]}.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
