"""Functions of torch-onnx ops as networks that channel rules understand, and networks back into functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops
from serenity_mlir.dialect_passes.torch_onnx.constants import ELEMENTS, Blobs, constant_op, tensor_type
from serenity_mlir.errors import SerenityError
from serenity_mlir.reform.network import OLDEST_OPSET, Attribute, Network, Node, Tensor
from serenity_mlir.reform.removal import Surgery

_OPERATOR = "torch.operator"
_PREFIX = "onnx."
_OPTION = "torch.onnx."
_OPSET = "torch.onnx_meta.opset_version"
_NONE = "torch.constant.none"
_TENSOR = re.compile(r"!torch\.vtensor<\[(?P<dims>[^\]]*)\],(?P<word>.+)>")


@dataclass(frozen=True, eq=False)
class Function:
    """A function, and the network that it is.

    Attributes:
        op: The `func.func`.
        network: Nodes and tensors; a node is called like its location, a tensor like the node that makes it.
        ops: The op of each node.
        values: The value of each tensor.
    """

    op: ir.Operation
    network: Network
    ops: dict[str, ir.Operation]
    values: dict[str, ir.Value]

    @property
    def symbol(self) -> str:
        """Its name."""
        return str(ir.StringAttr(self.op.attributes["sym_name"]).value)


def functions(module: ir.Operation) -> Iterator[Function]:
    """The functions of a module that hold ops of ONNX."""
    blobs = Blobs(module)
    for op in nested_ops(module):
        if op.name == "func.func" and len(op.regions[0].blocks) == 1:
            inner = [item.operation for item in op.regions[0].blocks[0].operations]
            if any(item.name == _OPERATOR and _kind(item).startswith(_PREFIX) for item in inner):
                _check_opset(op)
                yield _Reader(blobs).read(op, inner)


def _check_opset(function: ir.Operation) -> None:
    if _OPSET in function.attributes:
        opset = int(ir.IntegerAttr(function.attributes[_OPSET]).value)
        if opset < OLDEST_OPSET:
            raise SerenityError(
                f"the function's operators are those of opset {opset}, and channels are known from"
                f" {OLDEST_OPSET} on",
                where=str(ir.StringAttr(function.attributes["sym_name"]).value),
                hint="convert the model to a newer opset before it is imported",
            )


def _kind(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["name"]).value if op.name == _OPERATOR else op.name)


class _Reader:
    """Turns ops into nodes, one after the other."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._names: dict[ir.Value, str] = {}
        self._tensors: dict[str, Tensor] = {}
        self._values: dict[str, ir.Value] = {}
        self._ops: dict[str, ir.Operation] = {}

    def read(self, function: ir.Operation, ops: list[ir.Operation]) -> Function:
        block = function.regions[0].blocks[0]
        inputs = tuple(self._tensor(value, f"arg{index}") for index, value in enumerate(block.arguments))
        nodes = [node for op in ops[:-1] if (node := self._node(op)) is not None]
        outputs = tuple(self._names[value] for value in ops[-1].operands)
        network = Network(tuple(nodes), self._tensors, inputs, outputs)
        return Function(function, network, self._ops, self._values)

    def _node(self, op: ir.Operation) -> Node | None:
        if op.name == _NONE:
            self._names[op.results[0]] = ""
            return None
        name = self._node_name(op)
        results = tuple(
            self._tensor(value, f"{name}#{index}" if index else name)
            for index, value in enumerate(op.results)
        )
        if _kind(op) == "onnx.Constant" and "torch.onnx.value" in op.attributes:
            array = self._blobs.read(op.attributes["torch.onnx.value"])
            if array is not None:
                self._tensors[name] = Tensor.constant(name, array)
                self._ops[name] = op
                return None
        own = [self._names[value] for value in op.operands]
        inner = {result for nested in nested_ops(op) for result in nested.results}
        captured = dict.fromkeys(
            self._names[value]
            for nested in nested_ops(op)
            for value in nested.operands
            if value not in inner and value in self._names
        )
        kind = _kind(op).removeprefix(_PREFIX) if op.name == _OPERATOR else op.name
        self._ops[name] = op
        return Node(name, kind, (*own, *captured), results, dict(self._attributes(op)), len(own))

    def _node_name(self, op: ir.Operation) -> str:
        wanted = (
            op.location.name_str if isinstance(op.location, ir.NameLoc) else _kind(op).removeprefix(_PREFIX)
        )
        name, copies = wanted, 0
        while name in self._ops or name in self._tensors:
            copies += 1
            name = f"{wanted}_{copies}"
        return name

    def _tensor(self, value: ir.Value, name: str) -> str:
        match = _TENSOR.fullmatch(str(value.type))
        if match is None or match["word"] not in ELEMENTS:
            tensor = Tensor(name, (), "undefined", ranked=False)
        else:
            dims = [dim for dim in match["dims"].split(",") if dim]
            shape = tuple(None if dim == "?" else int(dim) for dim in dims)
            tensor = Tensor(name, shape, ELEMENTS[match["word"]])
        self._names[value], self._tensors[name], self._values[name] = name, tensor, value
        return name

    def _attributes(self, op: ir.Operation) -> Iterator[tuple[str, Attribute]]:
        for item in op.attributes:
            named = item if isinstance(item, ir.NamedAttribute) else None
            key = named.name if named else str(item)
            if key.startswith(_OPTION):
                value = self._plain(op.attributes[key])
                if value is not None:
                    yield key.removeprefix(_OPTION), value

    def _plain(self, attribute: ir.Attribute) -> Attribute | None:
        if isinstance(attribute, ir.IntegerAttr | ir.FloatAttr | ir.StringAttr):
            plain: int | float | str = attribute.value
            return plain
        if isinstance(attribute, ir.ArrayAttr):
            return tuple(item.value for item in attribute)
        return self._blobs.read(attribute)


def apply(function: Function, surgery: Surgery) -> None:
    """Makes a function what the surgery on its network says."""
    writer = _Writer(function, surgery)
    writer.cut_constants()
    for node in surgery.after.nodes:
        if node.name in surgery.before.by_name:
            writer.update(node)
        else:
            writer.gate(node)
    writer.finish()


class _Writer:
    """Changes ops in place; what takes other operands than before is made anew."""

    def __init__(self, function: Function, surgery: Surgery) -> None:
        self._function = function
        self._after = surgery.after
        self._before = surgery.before
        self._values = dict(function.values)
        self._made: dict[str, ir.Value] = {}

    def update(self, node: Node) -> None:
        """A node that was there before, with other operands or attributes or not."""
        op = self._function.ops[node.name]
        before = self._before.by_name[node.name]
        if node.inputs != before.inputs or node.attributes is not before.attributes:
            op = self._replace(op, before, node)
        for index, name in enumerate(node.outputs):
            if name:
                value = op.results[index]
                self._values[name] = value
                self._retype(name, value)

    def _replace(self, op: ir.Operation, before: Node, node: Node) -> ir.Operation:
        operands = [
            op.operands[index]
            if index < before.own_inputs and name == before.inputs[index]
            else self._operand(name, op)
            for index, name in enumerate(node.inputs[: node.own_inputs])
        ]
        attributes = {key: op.attributes[key] for key in _keys(op)}
        for key in before.attributes.keys() - node.attributes.keys():
            del attributes[f"{_OPTION}{key}"]
        with op.context, op.location:
            for key, value in node.attributes.items():
                if before.attributes.get(key) is not value:
                    attributes[f"{_OPTION}{key}"] = _attribute(value)
        with op.context, op.location, ir.InsertionPoint(op):
            made = ir.Operation.create(_OPERATOR, [value.type for value in op.results], operands, attributes)
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()
        self._function.ops[node.name] = made
        return made

    def gate(self, node: Node) -> None:
        """A new node, which gates what its first tensor input was made as."""
        raw = next(self._values[name] for name in node.inputs if name in self._values)
        following = _next_op(raw.owner)
        operands = [self._operand(name, following) for name in node.inputs]
        with (
            following.context,
            ir.Location.name(node.name, context=following.context),
            ir.InsertionPoint(following),
        ):
            made = ir.Operation.create(
                _OPERATOR, [raw.type], operands, {"name": ir.StringAttr.get(f"{_PREFIX}{node.op}")}
            )
        raw.replace_all_uses_except(made.results[0], [made])
        self._values[node.outputs[0]] = made.results[0]

    def _operand(self, name: str, before: ir.Operation) -> ir.Value:
        """The value of a tensor; a constant that is new is made right before an op."""
        if not name:
            with before.context, before.location, ir.InsertionPoint(before):
                none = ir.Type.parse("!torch.none")
                return ir.Operation.create(_NONE, results=[none]).results[0]
        if name in self._values:
            return self._values[name]
        if name not in self._made:
            value = self._after.tensors[name].value
            assert value is not None, f"new tensor '{name}' is a constant"  # noqa: S101
            self._made[name] = constant_op(name, value, before)
        return self._made[name]

    def cut_constants(self) -> None:
        """Put constants that were cut to size in place of what they were."""
        for name, tensor in self._after.tensors.items():
            before = self._before.tensors.get(name)
            if before is None or tensor.value is None or tensor.value is before.value:
                continue
            old = self._function.ops[name]
            self._values[name] = constant_op(name, tensor.value, old)
            old.results[0].replace_all_uses_with(self._values[name])

    def _retype(self, name: str, value: ir.Value) -> None:
        tensor = self._after.tensors[name]
        match = _TENSOR.fullmatch(str(value.type))
        if match is not None and tensor.ranked:
            value.set_type(tensor_type(tensor.shape, match["word"], value.context))

    def finish(self) -> None:
        """Drop constants that nobody reads any more."""
        for name, op in self._function.ops.items():
            before = self._before.tensors.get(name)
            unused = before is not None and before.value is not None and not list(op.results[0].uses)
            if unused:
                op.erase()


def _keys(op: ir.Operation) -> list[str]:
    return [item.name if isinstance(item, ir.NamedAttribute) else str(item) for item in op.attributes]


def _attribute(value: Attribute) -> ir.Attribute:
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signed(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F32Type.get(), value)
    raise TypeError(f"no edit of a node sets an attribute to {value!r}")


def _next_op(op: ir.Operation) -> ir.Operation:
    following = [item.operation for item in op.operation.block.operations]
    return next(after for before, after in pairwise(following) if before == op.operation)
