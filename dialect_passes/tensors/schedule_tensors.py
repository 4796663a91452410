"""`serenity-schedule-tensors`: ops of tensor programs in the order of least live bytes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.tensor_graph import Refusal, TensorGraph, build_tensor_graph
from serenity_mlir.liveness import live_bytes, live_ranges, peak
from serenity_mlir.schedulers import DEFAULT_METHOD, METHODS, check_method, schedule
from serenity_mlir.sizes import counted

_FUNCTIONS = ("func.func", "util.func")


@dataclass(frozen=True, slots=True)
class FunctionSchedule:
    """What became of one function; bytes are the graph's, not the artefact's.

    Attributes:
        function: Its symbol.
        ops: Ops that were scheduled: all but constants and the terminator.
        file_peak: The most bytes live at once in the order that was found.
        final_peak: The same in the order that was left.
        lower_bound: No order has less.
        refusal: Why the function was left alone; the numbers are 0 then. None otherwise.
    """

    function: str
    ops: int = 0
    file_peak: int = 0
    final_peak: int = 0
    lower_bound: int = 0
    refusal: str | None = None

    @property
    def optimal(self) -> bool:
        """Whether the final peak is proven minimal."""
        return self.refusal is None and self.final_peak == self.lower_bound


@dataclass(frozen=True)
class ScheduleTensorsPass(Pass[tuple[FunctionSchedule, ...]]):
    """Reorders the ops of each function body on tensors for the fewest bytes live at once.

    Works on `func.func` and `util.func` with ops of any dialect. It moves ops and never changes
    them; a function whose file order is as good as any is left alone. Calls, random numbers and
    whatever else is not known to be pure are not crossed. What counts is the bytes of the
    graph's tensors (see `tensor_graph`), which is not what the compiled artefact
    allocates: fusion and padding come later. `serenity-schedule-execution` orders what IREE
    allocates.
    """

    name: ClassVar[str] = "serenity-schedule-tensors"
    time_limit: Annotated[float, "seconds of search for all functions together"] = 10.0
    annotate: Annotated[bool, "write serenity.live_bytes on each op and serenity.peak on the function"] = (
        False
    )
    method: Annotated[str, f"how orders are looked for: {', '.join(METHODS)}"] = DEFAULT_METHOD

    def __post_init__(self) -> None:
        check_method(self.method)
        if not self.time_limit >= 0:  # NaN is no limit either
            raise ValueError(f"option 'time-limit' wants seconds, not {self.time_limit}")

    def apply(self, module: ir.Operation) -> tuple[FunctionSchedule, ...]:
        """Schedule the functions of `module`, or `module` itself where it is one."""
        deadline = time.monotonic() + self.time_limit
        with module.context:
            return tuple(self._function(function, deadline) for function in _functions(module))

    def _function(self, function: ir.Operation, deadline: float) -> FunctionSchedule:
        symbol = ir.StringAttr(function.attributes["sym_name"]).value
        found = build_tensor_graph(function)
        if isinstance(found, Refusal):
            remark(found.op, f"{self.name} leaves @{symbol} alone: {found.reason}")
            return FunctionSchedule(symbol, refusal=found.reason)
        graph = found.graph
        file_peak = peak(graph, graph.file_order)
        answer = schedule(graph, method=self.method, time_limit=max(0.0, deadline - time.monotonic()))
        better = answer.peak < file_peak
        if better:
            _move(found, answer.order)
        if self.annotate:
            _annotate(found, answer.order if better else graph.file_order, function)
        result = FunctionSchedule(
            symbol, len(graph.ops), file_peak, min(answer.peak, file_peak), answer.lower_bound
        )
        remark(function, f"{self.name}: @{symbol}: {_sentence(result)}")
        return result


def _functions(op: ir.Operation) -> Iterator[ir.Operation]:
    """Functions with a body at or below `op`, but for those inside executables (kernels)."""
    if op.name in _FUNCTIONS:
        if len(op.regions[0].blocks):
            yield op
    elif op.name == "builtin.module":
        for inner in op.regions[0].blocks[0].operations:
            yield from _functions(inner.operation)


def _move(found: TensorGraph, order: tuple[int, ...]) -> None:
    """Put the ops in `order`, each constant right before its first user."""
    first_user: dict[int, list[ir.Operation]] = {}
    position = {op: step for step, op in enumerate(order)}
    for constant, users in zip(found.constants, found.users, strict=True):
        if users:
            first_user.setdefault(min(users, key=position.__getitem__), []).append(constant)
        else:
            constant.move_before(found.terminator)
    for op in order:
        for constant in first_user.get(op, ()):
            constant.move_before(found.terminator)
        found.ops[op].move_before(found.terminator)


def _annotate(found: TensorGraph, order: tuple[int, ...], function: ir.Operation) -> None:
    i64 = ir.IntegerType.get_signless(64)
    live = live_bytes(live_ranges(found.graph, order), len(order))
    for op, count in zip(order, live, strict=True):
        found.ops[op].attributes["serenity.live_bytes"] = ir.IntegerAttr.get(i64, count)
    function.attributes["serenity.peak"] = ir.IntegerAttr.get(i64, max(live, default=0))


def _sentence(result: FunctionSchedule) -> str:
    proof = "minimal" if result.optimal else f"no order has less than {result.lower_bound:,}"
    change = (
        f"from {result.file_peak:,} to {counted(result.final_peak, 'byte')}"
        if result.final_peak < result.file_peak
        else f"stays at {counted(result.final_peak, 'byte')}"
    )
    return (
        f"live peak of the graph's tensors, results included, {change} ({proof}); the artefact's bytes differ"
    )
