"""Random tensor programs, and a machine that runs them with real storage.

The machine knows nothing of the product: it runs the steps in the order that it is given,
overwrites a destination wherever that is harmless in that order, fills freed storage with
NaN, and counts the bytes that are live.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float32]

SIDE = 4
TYPES = {"T": f"tensor<{SIDE}x{SIDE}xf32>", "F": f"tensor<{SIDE * SIDE}xf32>", "S": f"tensor<2x{SIDE}xf32>"}
ARGUMENTS = ("T", "T")
EMPTY = -1


@dataclass(frozen=True)
class Step:
    """One op: its kind, the values it reads, its type.

    `into` is the value that it writes into, EMPTY for fresh storage, None where it has no such operand.
    """

    kind: str
    reads: tuple[int, ...]
    into: int | None
    result: str


@dataclass(frozen=True)
class Program:
    """Steps over numbered values; arguments come first, then one value a step."""

    steps: tuple[Step, ...]
    returned: tuple[int, ...]

    def type_of(self, value: int) -> str:
        return ARGUMENTS[value] if value < len(ARGUMENTS) else self.steps[value - len(ARGUMENTS)].result

    def text(self, name: str = "f") -> str:
        """As a `func.func`; each op carries its step as the attribute `step`."""
        arguments = ", ".join(f"%v{number}: {TYPES[kind]}" for number, kind in enumerate(ARGUMENTS))
        results = ", ".join(TYPES[self.type_of(value)] for value in self.returned)
        lines = [f"func.func @{name}({arguments}, %k: i32) -> ({results}) {{", *_PROLOGUE]
        lines += [self._line(index, step) for index, step in enumerate(self.steps)]
        values = ", ".join(f"%v{value}" for value in self.returned)
        return "\n".join([*lines, f"  return {values} : {results}", "}"])

    def _line(self, index: int, step: Step) -> str:
        new, kind = f"%v{index + len(ARGUMENTS)}", TYPES[step.result]
        reads = [f"%v{value}" for value in step.reads]
        into = "%empty" if step.into == EMPTY else f"%v{step.into}"
        tag = f"{{step = {index} : i64}}"
        types = [TYPES[self.type_of(value)] for value in step.reads]
        template = _TEMPLATES[step.kind]
        return template.format(new=new, kind=kind, reads=reads, into=into, tag=tag, types=types)


_PROLOGUE = [
    f"  %empty = tensor.empty() : {TYPES['T']}",
    "  %zero = arith.constant 0 : i32",
    "  %c = arith.cmpi ne, %k, %zero : i32",
    "  %two = arith.constant 2.0 : f32",
    f"  %twos = arith.constant dense<2.0> : {TYPES['T']}",
]
_TEMPLATES = {
    "fill": "  {new} = linalg.fill {tag} ins(%two : f32) outs({into} : {kind}) -> {kind}",
    "add": "  {new} = linalg.elementwise <add> {tag} ins({reads[0]}, {reads[1]} : {kind}, {kind})"
    " outs({into} : {kind}) -> {kind}",
    "mul": "  {new} = linalg.elementwise <mul> {tag} ins({reads[0]}, %twos : {kind}, {kind})"
    " outs({into} : {kind}) -> {kind}",
    "matmul": "  {new} = linalg.matmul {tag} ins({reads[0]}, {reads[1]} : {kind}, {kind})"
    " outs({into} : {kind}) -> {kind}",
    "insert": "  {new} = tensor.insert_slice {reads[0]} into {into}[1, 0] [2, 4] [1, 1] {tag}"
    " : {types[0]} into {kind}",
    "extract": "  {new} = tensor.extract_slice {reads[0]}[1, 0] [2, 4] [1, 1] {tag} : {types[0]} to {kind}",
    "flatten": "  {new} = tensor.collapse_shape {reads[0]} [[0, 1]] {tag} : {types[0]} into {kind}",
    "unflatten": "  {new} = tensor.expand_shape {reads[0]} [[0, 1]] output_shape [4, 4] {tag}"
    " : {types[0]} into {kind}",
    "branch": "  {new} = scf.if %c -> {kind} {{\n"
    "    %t = linalg.elementwise <add> ins({reads[0]}, {reads[1]} : {kind}, {kind})"
    " outs(%empty : {kind}) -> {kind}\n"
    "    scf.yield %t : {kind}\n  }} else {{\n    scf.yield {reads[0]} : {kind}\n  }} {tag}",
}
_READS = {
    "fill": "", "add": "TT", "mul": "T", "matmul": "TT", "insert": "S",
    "extract": "T", "flatten": "T", "unflatten": "F", "branch": "TT",
}  # fmt: skip
_RESULT = {"extract": "S", "flatten": "F"}
_UPDATES = ("matmul", "insert")
_VIEWS = ("flatten", "unflatten")


@st.composite
def programs(
    draw: st.DrawFn, min_steps: int = 1, max_steps: int = 9, overwrite_arguments: bool = True
) -> Program:
    """Programs in which every result is live or dead, shared or not, overwritten or not.

    Without `overwrite_arguments` those that IREE gets wrong are left out: nothing updates an argument, or
    what a branch reads or yields (decisions 0103 and 0107).
    """
    steps: list[Step] = []
    by_type: dict[str, list[int]] = {"T": [0, 1], "F": [], "S": []}
    shown = {0, 1}  # arguments, what branches read and yield, and views of them: IREE may overwrite them
    written: set[int] = set()
    for number in range(draw(st.integers(min_steps, max_steps))):
        targets = [value for value in by_type["T"] if overwrite_arguments or value not in shown]
        kinds = [
            kind
            for kind, reads in _READS.items()
            if all(by_type[needed] for needed in reads)
            and (targets or kind not in _UPDATES)
            and (overwrite_arguments or kind != "branch" or set(by_type["T"]) - written)
        ]
        kind = draw(st.sampled_from(kinds))
        hidden = written if kind == "branch" and not overwrite_arguments else set()
        readable = {
            name: [value for value in values if value not in hidden] for name, values in by_type.items()
        }
        reads = tuple(draw(st.sampled_from(readable[needed])) for needed in _READS[kind])
        into = None
        if kind in ("fill", "add", "mul"):
            into = draw(st.sampled_from([EMPTY, EMPTY, *targets]))
        elif kind in _UPDATES:
            into = draw(st.sampled_from(targets))
        result = _RESULT.get(kind, "T")
        steps.append(Step(kind, reads, into, result))
        new = number + len(ARGUMENTS)
        by_type[result].append(new)
        if into is not None:
            written.add(into)
        if kind == "branch":
            shown |= {new, *reads}
        if kind in _VIEWS and reads[0] in shown:
            shown.add(new)
    last = len(steps) + len(ARGUMENTS) - 1
    more = draw(st.lists(st.integers(0, last), max_size=2))
    return Program(tuple(steps), (last, *more))


def arguments(seed: int) -> list[Array]:
    """Values for the arguments; small integers, so that every order gives equal sums."""
    random = np.random.default_rng(seed)
    return [random.integers(-2, 3, (SIDE, SIDE)).astype(np.float32) for _ in ARGUMENTS]


@dataclass
class Outcome:
    """What a run returned, the most bytes that were live during a step, and whether sums were exact."""

    results: list[Array]
    peak: int
    exact: bool


def run(program: Program, order: Sequence[int], values: Sequence[Array], *, condition: bool) -> Outcome:
    """Run the steps in `order`, overwriting wherever no later step and no result reads the old value."""
    held: dict[int, Array] = {number: value.copy() for number, value in enumerate(values)}
    storage: dict[int, int] = {}  # value to the first value that had this storage; arguments have none
    touched: list[set[int]] = []
    largest = 0.0
    for at, index in enumerate(order):
        step, new = program.steps[index], index + len(ARGUMENTS)
        needed = set(step.reads) | ({step.into} if step.into not in (None, EMPTY) else set())
        if step.kind in _VIEWS:
            held[new] = held[step.reads[0]].reshape(_shape(step.result))
            if step.reads[0] in storage:
                storage[new] = storage[step.reads[0]]
        else:
            target = _target(program, order[at + 1 :], step, held, storage)
            if not is_free(program, new):
                storage[new] = new if target is None else storage[step.into or 0]
            held[new] = _compute(step, held, target, condition)
            largest = max(largest, float(np.abs(held[new]).max()))
        touched.append({storage[value] for value in (*needed, new) if value in storage})
        for dead in _dead(program, order[at + 1 :], storage):
            held.pop(dead).fill(np.nan)
            storage.pop(dead)
    ends = {storage[value] for value in program.returned if value in storage}
    size = {root: _bytes(program.type_of(root)) for step in touched for root in step}
    return Outcome(
        results=[held[value] for value in program.returned],
        peak=_peak(touched, ends, size),
        exact=largest < 2**22,  # whole numbers, and the sums of four products that led to them
    )


def is_free(program: Program, value: int) -> bool:
    """Whether the value is a fill that others only write into: each of them fills storage of its own."""
    if value < len(ARGUMENTS):
        return False
    step = program.steps[value - len(ARGUMENTS)]
    if step.kind != "fill" or not (step.into == EMPTY or is_free(program, step.into or 0)):
        return False
    read = value in program.returned or any(value in other.reads for other in program.steps)
    return not read and any(value == other.into for other in program.steps)


def _readers(program: Program, later: Sequence[int]) -> Iterator[int]:
    """Values that later steps and the end read."""
    for index in later:
        step = program.steps[index]
        yield from step.reads
        if step.into not in (None, EMPTY):
            yield step.into
    yield from program.returned


def _target(
    program: Program, later: Sequence[int], step: Step, held: dict[int, Array], storage: dict[int, int]
) -> Array | None:
    """The storage that the step overwrites, None where it must take its own."""
    if step.into is None or step.into not in storage:
        return None
    root = storage[step.into]
    others = [*step.reads, *_readers(program, later)]
    return None if any(storage.get(value) == root for value in others) else held[step.into]


def _compute(step: Step, held: dict[int, Array], target: Array | None, condition: bool) -> Array:
    out = target
    if out is None:
        shape = _shape(step.result)
        out = held[step.into].copy() if step.into not in (None, EMPTY) else np.zeros(shape, np.float32)
    reads = [held[value] for value in step.reads]
    match step.kind:
        case "fill":
            out[:] = 2
        case "add":
            out[:] = reads[0] + reads[1]
        case "mul":
            out[:] = 2 * reads[0]
        case "matmul":
            out += reads[0] @ reads[1]
        case "insert":
            out[1:3] = reads[0]
        case "extract":
            out[:] = reads[0][1:3]
        case "branch":
            out[:] = reads[0] + reads[1] if condition else reads[0]
    return out


def _dead(program: Program, later: Sequence[int], storage: dict[int, int]) -> list[int]:
    """Values whose storage nobody reads any more, one a storage."""
    live = {storage[value] for value in _readers(program, later) if value in storage}
    return [value for value, root in storage.items() if root not in live]


def _peak(touched: Sequence[set[int]], ends: set[int], size: dict[int, int]) -> int:
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, roots in enumerate(touched):
        for root in roots:
            first.setdefault(root, at)
            last[root] = len(touched) - 1 if root in ends else at
    live = [
        sum(size[root] for root in first if first[root] <= at <= last[root]) for at in range(len(touched))
    ]
    return max(live, default=0)


def _shape(kind: str) -> tuple[int, ...]:
    return {"T": (SIDE, SIDE), "F": (SIDE * SIDE,), "S": (2, SIDE)}[kind]


def _bytes(kind: str) -> int:
    return 4 * int(np.prod(_shape(kind)))
