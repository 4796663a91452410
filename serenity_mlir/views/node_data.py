"""`--model-explorer`: live bytes of each node, as Model Explorer colours the graph of a model by them.

The format is that of its custom node data: graphs by name, in each of them values by node, and the
colours between the least value and the greatest.
"""

from __future__ import annotations

import msgspec

from serenity_mlir.views.shown import Shown

_GRADIENT = ((0.0, "#e8f1fd"), (0.5, "#7db1f5"), (1.0, "#c9510c"))


def node_data(shown: Shown) -> bytes:
    """For every node the most bytes that are live while an op that came from it runs, as compiled.

    Raises:
        SerenityError: No region of the model has constant sizes.
    """
    gradient = [{"stop": stop, "bgColor": colour} for stop, colour in _GRADIENT]
    results = {node: {"value": size} for node, size in shown.live_by_node().items()}
    data = {shown.graph: {"results": results, "gradient": gradient}}
    return msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n"
