"""`--annotated-onnx`: the model as it came, with its order and live bytes on its nodes.

Viewers such as Netron show a node's metadata. Keys are `serenity.steps`, the steps of the ops that
came from the node, and `serenity.live_bytes`, the most that is live while one of them runs.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import onnx

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.clean_graph import name_nodes
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.walk import all_nodes, all_tensors
from serenity_mlir.views import Shown

_NODE_METADATA = 10  # the first version of ONNX's IR whose nodes have it


def annotated_onnx(source: SourceModel, shown: Shown, output: Path) -> bytes:
    """The model's file with metadata; nodes without a name get the one that reports call them by.

    Args:
        source: The model.
        shown: Its order as compiled.
        output: Where it is to be written: weights in files of their own are found beside it only.

    Raises:
        SerenityError: The model is no ONNX, would not find its weights from there, or no region of it has
            constant sizes.
    """
    path = source.path
    if source.format != "onnx":
        raise SerenityError(
            "only an ONNX model has nodes to annotate", file=str(path), hint="leave out --annotated-onnx"
        )
    model = onnx.load(path, load_external_data=False)
    if output.resolve().parent != path.resolve().parent and _has_external_data(model):
        hint = f"write --annotated-onnx to {path.resolve().parent}"
        raise SerenityError("the model's weights lie in files beside it", file=str(path), hint=hint)
    name_nodes(model)
    model.ir_version = max(model.ir_version, _NODE_METADATA)
    steps, live = _steps(shown), shown.live_by_node()
    for node in all_nodes(model):
        if node.name in steps:
            node.metadata_props.add(key="serenity.steps", value=", ".join(steps[node.name]))
            node.metadata_props.add(key="serenity.live_bytes", value=str(live[node.name]))
    return bytes(model.SerializeToString(deterministic=True))


def _steps(shown: Shown) -> dict[str, list[str]]:
    """By node, with their region where there are several."""
    steps: dict[str, list[str]] = defaultdict(list)
    several = len(shown.regions) > 1
    for region in shown.regions:
        for number, step in enumerate(region.after.steps):
            for node in step.nodes:
                steps[node].append(f"{region.name}:{number}" if several else str(number))
    return steps


def _has_external_data(model: onnx.ModelProto) -> bool:
    return any(tensor.data_location == onnx.TensorProto.EXTERNAL for _, tensor in all_tensors(model))
