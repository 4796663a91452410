"""The cells of the SERENITY paper's evaluation that are defined by published networks.

Convolutions include their bias, batch normalisation and, where one follows at once, the ReLU, as a
compiler for inference has them. Feature maps are float32.
"""

from __future__ import annotations

from serenity_mlir.pipelines.bench.topology import Topology
from serenity_mlir.pipelines.bench.wiring import watts_strogatz

_FLOAT32 = 4

DARTS_V2 = (
    (("sep_conv_3x3", 0), ("sep_conv_3x3", 1)),
    (("sep_conv_3x3", 0), ("sep_conv_3x3", 1)),
    (("sep_conv_3x3", 1), ("skip_connect", 0)),
    (("skip_connect", 0), ("dil_conv_3x3", 2)),
)
"""The normal cell of DARTS' second-order search (Liu et al., ICLR 2019, figure 4): for each of four
nodes two operations and what they read: 0 and 1 are the cell's inputs, 2 the first node, and so on."""


def darts_normal_cell(*, channels: int = 48, size: int = 28) -> Topology:
    """DARTS-V2's normal cell for ImageNet, from its two squeezed inputs to the next cell's squeeze.

    By default with the size and the width that the stem brings an image of 224 x 224 to.

    Args:
        channels: Of an input and of a node.
        size: Height and width of every feature map.
    """
    full = _FLOAT32 * channels * size**2
    net = Topology({"before": full, "last": full})
    made = ["before", "last"]
    for operations in DARTS_V2:
        edges = [_operation(net, kind, made[read], full) for kind, read in operations]
        made.append(net.add("Add", full, *edges))
    cell = net.add("Concat", 4 * full, *made[2:])
    net.outputs = (net.add("Conv", full, cell),)
    return net


def _operation(net: Topology, kind: str, x: str, size: int) -> str:
    """One edge of a DARTS cell."""
    if kind == "skip_connect":
        return x
    # A separable convolution is applied twice, a dilated one once; each is depthwise, then pointwise.
    x = net.add("Relu", size, x)
    for _ in range(2 if kind.startswith("sep") else 1):
        x = net.add("Conv", size, net.add("DepthwiseConv", size, x))
    return x


def randwire_stage(nodes: int, *, channels: int, size: int, seed: int) -> Topology:
    """A stage of a randomly wired network, WS(nodes, 4, 0.75) (Xie et al., ICCV 2019, section 3).

    Each node is a weighted sum with a ReLU (one n-ary op), a depthwise and a pointwise convolution;
    nodes without predecessors read the stage's input, of half the channels and twice the size,
    with stride 2; the outputs of nodes without successors are averaged.

    Args:
        nodes: Of the wiring, networkx's `connected_watts_strogatz_graph(nodes, 4, 0.75, seed)` with
            edges from low to high numbers.
        channels: Of the stage.
        size: Height and width of its feature maps.
        seed: Of the wiring.

    Raises:
        SerenityError: networkx is not installed.
    """
    full = _FLOAT32 * channels * size**2
    net = Topology({"input": 2 * full})
    sources = watts_strogatz(nodes, seed)
    made: list[str] = []
    for links in sources:
        if links:
            x = net.add("WeightedSum", full, *(made[link] for link in links))
            depthwise = net.add("DepthwiseConv", full, x)
        else:
            depthwise = net.add("DepthwiseConv", full // 2, net.add("Relu", 2 * full, "input"))
        made.append(net.add("Conv", full, depthwise))
    read = {link for links in sources for link in links}
    ends = [name for index, name in enumerate(made) if index not in read]
    net.outputs = (net.add("WeightedSum", full, *ends),)
    return net
