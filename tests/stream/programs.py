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
            text, value = _matmul(rng, name, values)
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


def _matmul(rng: random.Random, name: str, values: Sequence[tuple[str, Array]]) -> tuple[str, Array]:
    (left, one), (right, other) = rng.choice(values[-4:]), rng.choice(values)
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
