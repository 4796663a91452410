"""What an op of a tensor program does with storage, and whether it may move.

All questions are answered from names, traits and interfaces, so ops of dialects that have
no Python classes are covered. What is not known here is a barrier with results of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from serenity_mlir.dialect_passes.mlir import ir


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONSTANTS = _names("""
    arith.constant complex.constant flow.tensor.constant flow.tensor.empty ml_program.global_load_const
    onnx.Constant stablehlo.constant tensor.empty torch.vtensor.literal tosa.const tosa.const_shape
""")
_VIEWS = _names("""
    builtin.unrealized_conversion_cast flow.tensor.bitcast flow.tensor.reshape hal.tensor.barrier
    hal.tensor.export hal.tensor.import iree_tensor_ext.bitcast iree_tensor_ext.compute_barrier.end
    iree_tensor_ext.compute_barrier.start onnx.Flatten onnx.Identity onnx.Reshape onnx.SequenceConstruct
    onnx.Squeeze onnx.Unsqueeze stablehlo.reshape tensor.cast tensor.collapse_shape tensor.expand_shape
    tensor.reshape torch.aten.flatten.using_ints torch.aten.squeeze torch.aten.squeeze.dim
    torch.aten.unsqueeze torch.aten.view torch.prim.ListConstruct torch.prim.TupleConstruct
    torch_c.from_builtin_tensor torch_c.to_builtin_tensor tosa.identity tosa.reshape
""")
_RANDOM_ONNX = _names("""
    onnx.Bernoulli onnx.Dropout onnx.Multinomial onnx.RandomNormal onnx.RandomNormalLike onnx.RandomUniform
    onnx.RandomUniformLike
""")
_RANDOM_ATEN = _names("""
    alpha_dropout bernoulli dropout exponential feature_alpha_dropout feature_dropout multinomial
    native_dropout normal normal_functional poisson rand rand_like randint randint_like randn randn_like
    randperm rrelu rrelu_with_noise scaled_dot_product_attention uniform
""")
_FIRST_OPERAND = frozenset({"flow.tensor.update"})
_SECOND_OPERAND = frozenset({"linalg.pack", "linalg.unpack", "tensor.insert", "tensor.insert_slice"})
_SPLATS = frozenset({"flow.tensor.splat", "linalg.fill", "tensor.splat"})
_DISPATCHES = frozenset({"flow.dispatch", "flow.dispatch.workgroups"})


def kind_name(op: ir.Operation) -> str:
    """The op's name; of a `torch.operator` the name of the op that it stands for, `onnx.Conv`."""
    if op.name == "torch.operator":
        return str(ir.StringAttr(op.attributes["name"]).value)
    return str(op.name)


def child_ops(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops of the regions of `op`, without what is inside of them."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation


def nested_ops(op: ir.Operation) -> Iterator[ir.Operation]:
    """Every op inside the regions of `op`, outer ones first."""
    for inner in child_ops(op):
        yield inner
        yield from nested_ops(inner)


def is_constant(op: ir.Operation) -> bool:
    """Whether the value is known at compile time and lies outside the activations.

    `tensor.empty` is one too: it has no content, so each op that writes into it brings storage.
    """
    name = kind_name(op)
    if name == "util.global.load":
        return _effect_free(op)  # of a mutable global it reads
    return (name in _CONSTANTS or name.startswith("torch.constant.")) and len(op.operands) == 0


def is_free_splat(op: ir.Operation) -> bool:
    """Whether `op` fills storage that its users overwrite, and does nothing else.

    Each user then brings storage of its own, filled; compilers make one splat for each of them
    rather than copies of one that lives throughout.
    """
    if op.name not in _SPLATS:
        return False
    uses = [use for result in op.results for use in result.uses]
    return len(uses) > 0 and all(use.operand_number in destinations(use.owner.operation) for use in uses)


def is_view(op: ir.Operation) -> bool:
    """Whether every result is the storage of the tensor operands, seen differently."""
    return kind_name(op) in _VIEWS


def destinations(op: ir.Operation) -> list[int | None]:
    """For each result the operand that it may overwrite, None where it brings storage.

    Destination-passing style: linalg's and iree_linalg_ext's `outs`, the destination of
    `tensor.insert`, `tensor.insert_slice` and `flow.tensor.update`, tied operands of dispatches.
    """
    count = len(op.results)
    name = str(op.name)
    if name in _FIRST_OPERAND:
        return [0]
    if name in _SECOND_OPERAND:
        return [1] * count
    if name in _DISPATCHES:
        return _tied_operands(op, count)
    if name.startswith(("linalg.", "iree_linalg_ext.")) and len(op.operands) >= count:
        first = len(op.operands) - count
        ties = [first + index for index in range(count)]
        same = all(op.operands[tie].type == op.results[index].type for index, tie in enumerate(ties))
        return [*ties] if same else [None] * count
    return [None] * count


def _tied_operands(op: ir.Operation, count: int) -> list[int | None]:
    if "tied_operands" not in op.attributes:
        return [None] * count
    workload = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0]
    ties = [ir.IntegerAttr(tie).value for tie in ir.ArrayAttr(op.attributes["tied_operands"])]
    return [None if tie < 0 else workload + tie for tie in ties]


def is_barrier(op: ir.Operation) -> bool:
    """Whether nothing may move across `op`: it, or an op inside it, is not known to be pure.

    Pure by MLIR's effect interface, or an ONNX or ATen op on values that draws no random
    numbers. Reading mutable state is an effect.
    """
    if not _is_pure_alone(op):
        return True
    return any(not _is_pure_alone(inner) for inner in _effect_carriers(op))


def _effect_carriers(op: ir.Operation) -> Iterator[ir.Operation]:
    if op.has_trait(ir.RecursiveMemoryEffectsTrait) or op.name == "torch.operator":
        yield from (inner for inner in nested_ops(op) if not inner.has_trait(ir.IsTerminatorTrait))


def _is_pure_alone(op: ir.Operation) -> bool:
    name = kind_name(op)
    if name.startswith("onnx."):
        return name not in _RANDOM_ONNX
    if _effect_free(op):
        return True
    if op.has_trait(ir.RecursiveMemoryEffectsTrait):
        return True  # the ops inside decide
    return name.startswith(("torch.aten.", "torch.prims.")) and _is_value_aten(op, name)


def _is_value_aten(op: ir.Operation, name: str) -> bool:
    base = name.split(".")[2]
    if base in _RANDOM_ATEN or base.endswith("_") or base.startswith("_assert"):
        return False
    types = [str(value.type) for value in (*op.operands, *op.results)]
    return not any(text.startswith(("!torch.tensor", "!torch.list<tensor")) for text in types)


def _effect_free(op: ir.Operation) -> bool:
    try:
        with op.context:
            interface = ir.MemoryEffectsOpInterface(op)
    except ValueError:  # the bindings' way to say that the op does not implement it
        return False
    return len(interface.get_effects()) == 0
