"""Constants that IREE has hoisted out of a program, without their values: types say what they take."""

from __future__ import annotations

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_HOISTED = "__hoisted"
_NUMBERS = (ir.FloatType, ir.IntegerType)
_GLOBAL, _INITIALIZER, _STORE = "util.global", "util.initializer", "util.global.store"


def forget_hoisted(module: ir.Operation) -> int:
    """Give hoisted tensors made-up values instead of the initialisers that compute them.

    IREE compiles and runs each of those, which takes most of the time of its phase `global-optimization`.
    What is left is good for measuring only: it computes something else.

    Args:
        module: After `global-optimization` with `--iree-opt-const-eval=false`.

    Returns:
        How many there were.
    """
    body = [item.operation for item in module.regions[0].blocks[0].operations]
    held = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in body if op.name == _GLOBAL}
    found = 0
    for op in body:
        stores = [item for item in nested_ops(op) if item.name == _STORE] if op.name == _INITIALIZER else []
        symbol = ir.FlatSymbolRefAttr(stores[0].attributes["global"]).value if len(stores) == 1 else ""
        kind = stores[0].operands[0].type if symbol.startswith(_HOISTED) else None
        if not isinstance(kind, ir.RankedTensorType) or not isinstance(kind.element_type, _NUMBERS):
            continue
        found += 1
        # One value throughout takes no storage; others differ from constant to constant.
        one = "1.0" if isinstance(kind.element_type, ir.FloatType) else "1"
        value = f"dense<{one}>" if _uniform(op) else f"#util.byte_pattern<{found}>"
        held[symbol].attributes["initial_value"] = ir.Attribute.parse(f"{value} : {kind}", module.context)
        op.erase()
    return found


def _uniform(initializer: ir.Operation) -> bool:
    """Whether all that a constant is computed from is one value throughout."""
    values = [op.attributes["value"] for op in nested_ops(initializer) if op.name == "arith.constant"]
    return all(
        isinstance(value, ir.DenseElementsAttr) and value.is_splat
        for value in values
        if isinstance(value.type, ir.ShapedType)
    )
