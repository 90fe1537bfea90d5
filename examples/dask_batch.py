"""Classifies many images with an exported CNN, on the worker processes of a dask cluster.

    python examples/dask_batch.py [--copies N] [--workers N] [--kill-a-worker]

The images are 360 handwritten digits, copied N times, each copy with noise of its own. Instead of
the LocalCluster, a Client takes the address of the scheduler of any other cluster.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import math
import os
import signal
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
import onnxruntime
from distributed import Client, LocalCluster, as_completed, futures_of, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from rich.progress import track

import fastact
from fastact.export import cnn, digits

MEMORY_LIMIT = 400 << 20  # bytes of each worker


def new_session(model: bytes) -> onnxruntime.InferenceSession:
    """Load the model for one thread, since every worker is a process of its own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options)


class KeepsASession(WorkerPlugin):
    """Loads the model once in each worker, also in one that is started later."""

    def __init__(self, model: bytes) -> None:
        self.model = model

    def setup(self, worker: Any) -> None:
        """Keep the session with the worker."""
        worker.session = new_session(self.model)


def add_noise(images: npt.NDArray[np.float32], copy: int) -> npt.NDArray[np.float32]:
    """Make a copy of the images; its number is the seed, so that a lost one can be made again."""
    noise = np.random.default_rng(copy).normal(0, 0.2, images.shape)
    return np.clip(images + noise, 0, 1).astype(np.float32)


def classify(
    images: npt.NDArray[np.float32], session: onnxruntime.InferenceSession
) -> npt.NDArray[np.int64]:
    """Return the digit that the network sees in each image."""
    (logits,) = session.run(["logits"], {"image": images})
    return np.asarray(logits.argmax(axis=1))


def classify_on_worker(
    images: npt.NDArray[np.float32], block_id: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Make one copy of the images on a worker, and classify it with the worker's session."""
    return classify(add_noise(images, block_id[0]), get_worker().session)


def show_gelu(client: Client) -> None:
    """Take the mean of an array that no worker could hold."""
    x = da.random.default_rng(0).standard_normal(1 << 27, dtype=np.float32, chunks=1 << 22)
    y = fastact.gelu(x)
    print(f"{y.nbytes >> 20} MiB, not computed yet: {y}")
    exact = 1 / (2 * math.sqrt(math.pi))
    print(f"mean: {client.compute(y.mean()).result():.5f}; of all normal numbers: {exact:.5f}")


def predict(
    client: Client, images: npt.NDArray[np.float32], copies: int, kill: bool
) -> npt.NDArray[np.int64]:
    """Classify every copy on the workers, and kill one of these after a quarter if wanted."""
    blocks = da.tile(da.from_array(images, chunks=images.shape), (copies, 1, 1, 1))
    digits_seen = blocks.map_blocks(classify_on_worker, drop_axis=(1, 2, 3), dtype=np.int64)
    digits_seen = digits_seen.persist()
    batches = futures_of(digits_seen)
    for done, _ in enumerate(track(as_completed(batches), "batches", total=len(batches)), 1):
        if kill and done == max(1, len(batches) // 4):
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            print(f"killed the worker with process id {pid}, after {done} of {copies} batches")
    return np.asarray(digits_seen.compute())


def main() -> None:
    """Compare what the cluster says with what one process says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-a-worker", action="store_true")
    arguments = parser.parse_args()

    images, labels = digits.load("test")
    model = cnn("digits", "gelu", batch="batch").SerializeToString()
    with (
        LocalCluster(
            n_workers=arguments.workers,
            threads_per_worker=1,
            memory_limit=MEMORY_LIMIT,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,  # so that a worker's loss is not told twice
        ) as cluster,
        Client(cluster) as client,
    ):
        if importlib.util.find_spec("bokeh"):
            print(f"dashboard: {client.dashboard_link}")
        print(f"{arguments.workers} workers, {MEMORY_LIMIT >> 20} MiB each")
        show_gelu(client)
        client.register_plugin(KeepsASession(model))
        seen = predict(client, images, arguments.copies, arguments.kill_a_worker)

    session = new_session(model)
    alone = [classify(add_noise(images, copy), session) for copy in range(arguments.copies)]
    right = seen == np.tile(labels, arguments.copies)
    print(f"{seen.size:,} images, {right.mean():.2%} right")
    print(f"one process sees the same digits: {np.array_equal(seen, np.concatenate(alone))}")


if __name__ == "__main__":
    main()
