"""Random tensor programs, as MLIR and as numpy, that IREE turns into dispatches and in-place updates."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
SIZE = 16
HALF = SIZE // 2
_TENSOR = f"tensor<{SIZE}x{SIZE}xf32>"
_STRIP = f"tensor<{HALF}x{SIZE}xf32>"


@dataclass(frozen=True)
class TensorProgram:
    """`text` defines `@main` on `inputs`; `expected` are its results."""

    text: str
    inputs: Sequence[Array]
    expected: Sequence[Array]


def random_program(seed: int, *, ops: int = 9) -> TensorProgram:
    """Matmuls (dispatches) and slices inserted into older values (updates, in place where they die).

    Values are often read before they are updated and not after, which is what makes IREE put
    readers and in-place writers of one buffer next to each other, with no SSA edge between.
    """
    rng = random.Random(seed)
    data = np.random.default_rng(seed)
    inputs = [(data.standard_normal((SIZE, SIZE)) / SIZE).astype(np.float32) for _ in range(2)]
    strip = (data.standard_normal((HALF, SIZE)) / SIZE).astype(np.float32)
    values: list[tuple[str, Array]] = [(f"%x{index}", value) for index, value in enumerate(inputs)]
    made: list[tuple[str, Array]] = []
    lines = [
        f"%e = tensor.empty() : {_TENSOR}",
        "%c0 = arith.constant 0.0 : f32",
        f"%z = linalg.fill ins(%c0 : f32) outs(%e : {_TENSOR}) -> {_TENSOR}",
    ]
    for index in range(ops):
        name = f"%v{index}"
        if made and rng.random() < 0.4:
            target = rng.choice(made[-3:])
            text, value = _insert(rng, name, target, strip)
            if rng.random() < 0.8:  # nobody reads the old value from here on: the update is in place
                made.remove(target)
                values.remove(target)
        else:
            text, value = _matmul(rng, name, values[-4:], values)
        lines.append(text)
        values.append((name, value))
        made.append((name, value))
    results = rng.sample(made, k=min(2, len(made)))
    names = ", ".join(name for name, _ in results)
    types = ", ".join(_TENSOR for _ in results)
    arguments = f"%x0: {_TENSOR}, %x1: {_TENSOR}, %s: {_STRIP}"
    body = "\n  ".join([*lines, f"return {names} : {types}"])
    text = f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n}}\n"
    return TensorProgram(text, [*inputs, strip], [value for _, value in results])


def _matmul(
    rng: random.Random,
    name: str,
    lefts: Sequence[tuple[str, Array]],
    rights: Sequence[tuple[str, Array]],
) -> tuple[str, Array]:
    (left, one), (right, other) = rng.choice(lefts), rng.choice(rights)
    operands = f"ins({left}, {right} : {_TENSOR}, {_TENSOR}) outs(%z : {_TENSOR})"
    text = f"{name} = linalg.matmul {operands} -> {_TENSOR}"
    return text, one @ other


def _insert(rng: random.Random, name: str, into: tuple[str, Array], strip: Array) -> tuple[str, Array]:
    target, value = into
    row = rng.choice((0, HALF))
    out = value.copy()
    out[row : row + HALF] = strip
    shape = f"[{row}, 0] [{HALF}, {SIZE}] [1, 1]"
    return f"{name} = tensor.insert_slice %s into {target}{shape} : {_STRIP} into {_TENSOR}", out


def concat_program(seed: int) -> TensorProgram:
    """Values made one from the other and a concat of them, the last ones first more often than not.

    In some programs the slices overlap: a later one covers half of the one before.
    """
    rng = random.Random(seed)
    x = (np.random.default_rng(seed).standard_normal((SIZE, SIZE)) / np.sqrt(SIZE)).astype(np.float32)
    count = rng.randint(3, 5)
    whole = f"tensor<{count * SIZE}x{SIZE}xf32>"
    lines = [
        "%c0 = arith.constant 0.0 : f32",
        f"%e = tensor.empty() : {_TENSOR}",
        f"%z = linalg.fill ins(%c0 : f32) outs(%e : {_TENSOR}) -> {_TENSOR}",
        f"%ew = tensor.empty() : {whole}",
        f"%m0 = linalg.fill ins(%c0 : f32) outs(%ew : {whole}) -> {whole}",
    ]
    values = [("%x", x)]
    for index in range(count):
        text, value = _matmul(rng, f"%v{index}", values[-1:], values[:1])
        lines.append(text)
        values.append((f"%v{index}", value))
    parts = list(enumerate(reversed(values[1:])))
    if rng.random() < 0.3:
        rng.shuffle(parts)
    shift = rng.choice((0, 0, HALF))
    out = np.zeros((count * SIZE, SIZE), np.float32)
    target = "%m0" if shift else "%ew"
    for place, (name, value) in parts:
        row = max(place * SIZE - shift * rng.randint(0, 1), 0)
        out[row : row + SIZE] = value
        at = f"{target}[{row}, 0] [{SIZE}, {SIZE}] [1, 1]"
        target = f"%n{place}"
        lines.append(f"{target} = tensor.insert_slice {name} into {at} : {_TENSOR} into {whole}")
    lines += [
        f"%r = linalg.matmul ins({target}, %x : {whole}, {_TENSOR}) outs(%m0 : {whole}) -> {whole}",
        f"return %r : {whole}",
    ]
    body = "\n  ".join(lines)
    return TensorProgram(f"func.func @main(%x: {_TENSOR}) -> {whole} {{\n  {body}\n}}\n", [x], [out @ x])
