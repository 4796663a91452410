"""ONNX operators in torch, a file a family; by name, as the evaluator looks them up."""

from serenity_mlir.pipelines.reform.train.operators import elementwise, layouts, products, quantised, windows
from serenity_mlir.pipelines.reform.train.operators.signature import Call, Operator, Result

OPERATORS: dict[str, Operator] = {
    **elementwise.OPERATORS,
    **layouts.OPERATORS,
    **products.OPERATORS,
    **quantised.OPERATORS,
    **windows.OPERATORS,
}

__all__ = ["OPERATORS", "Call", "Operator", "Result"]
