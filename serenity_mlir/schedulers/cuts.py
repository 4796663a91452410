"""Cut nodes: ops that every other op must precede or follow. They split a graph exactly."""

from __future__ import annotations

from collections.abc import Sequence


def cut_nodes(preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]]) -> list[int]:
    """Nodes that are comparable with every other, ascending.

    Nodes are numbered in a legal order, so all nodes after `u` descend from it if and only if
    each of them has a direct predecessor at or after `u`; likewise before. Linear.
    """
    count = len(preds)
    follows = [count] * (count + 1)
    for node in range(count - 1, -1, -1):
        follows[node] = min(follows[node + 1], max(preds[node], default=-1))
    cuts, latest = [], -1
    for node in range(count):
        if latest <= node <= follows[node + 1]:
            cuts.append(node)
        latest = max(latest, min(succs[node], default=count))
    return cuts


def segments(preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]]) -> list[range]:
    """The nodes cut into runs that each end with a cut node (the last one may not)."""
    out, start = [], 0
    for node in cut_nodes(preds, succs):
        out.append(range(start, node + 1))
        start = node + 1
    if start < len(preds):
        out.append(range(start, len(preds)))
    return out
