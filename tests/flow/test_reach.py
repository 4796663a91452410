"""Which of the model's nodes a rewrite of one dispatch may touch."""

from __future__ import annotations

from serenity_mlir.dialect_passes.linalg.reach import names_around
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops
from serenity_mlir.pipelines.iree_api import Session
from serenity_mlir.pipelines.parse_mlir import parse_module


def test_dispatches_end_what_a_rewrite_of_one_may_touch() -> None:
    chain = "\n".join(
        f"""
        %{name} = flow.dispatch.workgroups(%{before}) : (tensor<8xf32>) -> tensor<8xf32> =
            (%in: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>,
             %out: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>) {{
          flow.return
        }} loc("{name}")"""
        for before, name in zip("xabcd", "abcde", strict=True)
    )
    head, end = "util.func public @main(%x: tensor<8xf32>) -> tensor<8xf32>", "util.return %e : tensor<8xf32>"
    text = f"{head} {{ {chain}\n {end} }}"
    module = parse_module(Session(), text.encode(), file="<stdin>")
    _, _, middle, *_ = (op for op in nested_ops(module) if op.name == "flow.dispatch.workgroups")
    assert names_around(middle) == {"b", "c", "d"}
