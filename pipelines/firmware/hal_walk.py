"""The `hal` IR of a whole module as straight-line commands, or a refusal that names the op.

What firmware can do is run: constants, fills, copies and dispatches with literal arguments, in
program order. Initializers that put constants into buffers are followed along the path on which
the device takes the constant as it is. Fences say nothing that program order does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.firmware.hal_commands import COMMANDS, QUEUE
from serenity_mlir.pipelines.firmware.hal_objects import OBJECTS
from serenity_mlir.pipelines.firmware.hal_values import (
    Argument,
    Bytes,
    RawCommand,
    Storage,
    Token,
    Value,
    View,
)

_ASYNC = "$async"
_TOKENS = (
    "util.null",
    "hal.device.allocator",
    "hal.devices.get",
    "hal.device.resolve",
    "hal.fence.create",
    "hal.fence.join",
    "hal.encoding_type",
    "hal.memory_type",
    "hal.buffer_usage",
)
_NOTHING = ("util.status.check_ok", "hal.fence.signal", "hal.device.queue.barrier", "hal.device.queue.flush")
_TOKEN_TYPES = ("!hal.device", "!hal.executable", "i1")
# Why firmware cannot hold an op, where there is more to say than its name.
_REASONS = {
    "hal.buffer_view.dim": "sizes that are known only at run time",
    "hal.buffer_view.rank": "sizes that are known only at run time",
    "hal.buffer.length": "sizes that are known only at run time",
    "hal.buffer.load": "control flow or sizes that depend on data",
    "hal.buffer.store": "scalars that the host computes",
    "scf.if": "control flow",
    "scf.for": "control flow",
    "scf.while": "control flow",
    "cf.cond_br": "control flow",
    "io_parameters.load": "weights in files beside the model",
    "hal.tensor.import": "an unlowered tensor",
}


@dataclass(eq=False)
class RawEntry:
    """One exported function before its storage has a place.

    Attributes:
        name: Its symbol.
        arguments: What the caller hands in.
        results: What it gets back.
        commands: In order.
        allocations: Made on the way.
    """

    name: str
    arguments: list[Argument] = field(default_factory=list)
    results: list[View] = field(default_factory=list)
    commands: list[RawCommand] = field(default_factory=list)
    allocations: list[Storage] = field(default_factory=list)


def walk(module: ir.Operation, *, file: str) -> list[RawEntry]:
    """Every exported function of a module at the end of phase `hal`.

    Raises:
        SerenityError: The module holds what firmware cannot do; names the op and says why.
    """
    walker = _Walker(module, file)
    public = [
        name
        for name, function in walker.functions.items()
        if "sym_visibility" not in function.attributes
        or ir.StringAttr(function.attributes["sym_visibility"]).value == "public"
    ]
    # The blocking function calls its asynchronous twin, so that one stands for both.
    twins = {f"{name}{_ASYNC}" for name in public}
    entries = [name for name in public if name not in twins]
    return [walker.entry(name) for name in entries]


class _Walker:
    def __init__(self, module: ir.Operation, file: str) -> None:
        self.file = file
        self.functions: dict[str, ir.Operation] = {}
        self.initializers: list[ir.Operation] = []
        self.globals: dict[str, ir.Operation] = {}
        self.known: dict[str, Value] = {}
        self.target = RawEntry("")
        for item in module.regions[0].blocks[0].operations:
            op = item.operation
            if op.name == "util.func":
                self.functions[_symbol(op)] = op
            elif op.name == "util.initializer":
                self.initializers.append(op)
            elif op.name == "util.global":
                self.globals[_symbol(op)] = op

    def entry(self, name: str) -> RawEntry:
        """Follow one exported function."""
        function = self.functions[name]
        self.target = found = RawEntry(name)
        given: list[Value] = []
        declared = _declared(function)
        for value in function.regions[0].blocks[0].arguments:
            if str(value.type) == "!hal.buffer_view":
                number = len(found.arguments)
                shape, element = declared[number] if number < len(declared) else (None, "")
                found.arguments.append(Argument(Storage("input", None, number), shape, element))
                given.append(found.arguments[-1])
            elif str(value.type) == "!hal.fence":
                given.append(Token("fence"))
            else:
                raise self.refusal(function, f"an argument of type {value.type}")
        found.results.extend(self.result(function, value) for value in self.run(function, given))
        return found

    def result(self, function: ir.Operation, value: Value) -> View:
        """What a function returns, as a view; an argument may come back as it is."""
        if isinstance(value, Argument):
            return View(Bytes(value.storage, 0, value.storage.size), value.shape or (), value.element)
        if isinstance(value, View):
            return value
        raise self.refusal(function, "a result that is no tensor")

    def run(self, function: ir.Operation, given: Sequence[Value]) -> list[Value]:
        """Follow a function or initializer from its first block to its return."""
        values: dict[ir.Value, Value] = {}
        block = function.regions[0].blocks[0]
        if not len(function.regions[0].blocks):
            raise self.refusal(function, "a function without a body")
        passed = list(given)
        while True:
            values.update(zip(block.arguments, passed, strict=True))
            *ops, last = (item.operation for item in block.operations)
            for op in ops:
                self.step(op, values)
            if last.name == "util.return":
                return [values[value] for value in last.operands]
            block, passed = self.branch(last, values)

    def branch(self, op: ir.Operation, values: dict[ir.Value, Value]) -> tuple[ir.Block, list[Value]]:
        """Where control goes, and what it takes along."""
        operands = list(op.operands)
        if op.name == "cf.br":
            return op.successors[0], [values[value] for value in operands]
        if op.name != "cf.cond_br":
            raise self.refusal(op)
        condition = values[operands[0]]
        if not isinstance(condition, int):
            raise self.refusal(op)
        first, second = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[1:]
        taken = operands[1 : 1 + first] if condition else operands[1 + first : 1 + first + second]
        return op.successors[0 if condition else 1], [values[value] for value in taken]

    def step(self, op: ir.Operation, values: dict[ir.Value, Value]) -> None:
        """Follow one op."""
        given = [values[value] for value in op.operands]
        made: Sequence[Value]
        if op.name in _TOKENS:
            made = [Token(op.name)]
        elif op.name in _NOTHING:
            made = []
        elif op.name in COMMANDS:
            made = COMMANDS[op.name](op, given)
        elif op.name in QUEUE:
            made = QUEUE[op.name](op, given, self.target)
        elif op.name in OBJECTS:
            made = OBJECTS[op.name](op, given, self.refusal)
        elif op.name in _HOST:
            made = _HOST[op.name](self, op, given)
        else:
            raise self.refusal(op)
        values.update(zip(op.results, made, strict=True))

    def refusal(self, op: ir.Operation, what: str = "") -> SerenityError:
        """Why there is no firmware for this module."""
        reason = what or _REASONS.get(op.name, "")
        text = f"{op.name}: {reason}" if reason else f"the op {op.name}"
        return SerenityError(
            f"firmware cannot hold {text}",
            file=self.file,
            where=str(op.location)[:200],
            hint="--emit vmfb compiles it for IREE's runtime",
        )

    def load(self, op: ir.Operation, _given: list[Value]) -> list[Value]:
        """A global: what its initializer leaves in it."""
        name = ir.FlatSymbolRefAttr(op.attributes["global"]).value
        declared = self.globals[name]
        if "is_mutable" in declared.attributes:
            state = name.removesuffix("__timepoint").removesuffix("__size")
            raise self.refusal(op, f"state that outlives a call (global '{state}')")
        if str(op.results[0].type) in _TOKEN_TYPES:
            return [Token(str(op.results[0].type))]
        if name not in self.known:
            self.initialize(name)
        return [self.known[name]]

    def initialize(self, name: str) -> None:
        """Run the initializer that stores into a global."""
        before, self.target = self.target, RawEntry(name)
        for initializer in self.initializers:
            if name in _stored(initializer):
                self.run(initializer, [])
        if name not in self.known:
            raise self.refusal(self.globals[name], f"the global '{name}', which nothing initialises")
        if self.target.commands:
            raise self.refusal(self.globals[name], f"work at start-up, which makes the global '{name}'")
        self.target = before

    def store(self, op: ir.Operation, given: list[Value]) -> list[Value]:
        """What an initializer leaves in a global."""
        self.known[ir.FlatSymbolRefAttr(op.attributes["global"]).value] = given[0]
        return []

    def call(self, op: ir.Operation, given: list[Value]) -> list[Value]:
        """A function of the module."""
        return self.run(self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value], given)

    def constant(self, op: ir.Operation, _given: list[Value]) -> list[Value]:
        """A scalar."""
        attribute = op.attributes["value"]
        if not isinstance(attribute, ir.IntegerAttr | ir.BoolAttr):
            raise self.refusal(op, f"a scalar {attribute}")
        return [int(attribute.value)]


_HOST: dict[str, Callable[[_Walker, ir.Operation, list[Value]], list[Value]]] = {
    "arith.constant": _Walker.constant,
    "util.global.load": _Walker.load,
    "util.global.store": _Walker.store,
    "util.call": _Walker.call,
}


def _declared(function: ir.Operation) -> list[tuple[tuple[int, ...] | None, str]]:
    """Shape and element type of each argument, as IREE's reflection has them; None where one is dynamic.

    Only arguments that nothing reads are known by this alone.
    """
    text = str(function.attributes["iree.reflection"]) if "iree.reflection" in function.attributes else ""
    out: list[tuple[tuple[int, ...] | None, str]] = []
    for found in re.findall(r"tensor<([^>]*)>", text.partition(") ->")[0]):
        *sizes, element = found.split("x")
        out.append((tuple(map(int, sizes)) if all(map(str.isdigit, sizes)) else None, element))
    return out


def _symbol(op: ir.Operation) -> str:
    name: str = ir.StringAttr(op.attributes["sym_name"]).value
    return name


def _stored(initializer: ir.Operation) -> set[str]:
    return {
        ir.FlatSymbolRefAttr(item.operation.attributes["global"]).value
        for block in initializer.regions[0].blocks
        for item in block.operations
        if item.operation.name == "util.global.store"
    }
