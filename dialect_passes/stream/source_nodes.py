"""What the ops of execution regions came from: names of the model's nodes, out of their locations."""

from __future__ import annotations

from collections.abc import Iterator

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.node_names import node_names
from serenity_mlir.dialect_passes.stream.access import CONCURRENT
from serenity_mlir.dialect_passes.stream.execution_graph import title
from serenity_mlir.dialect_passes.stream.regions import regions
from serenity_mlir.timeline import Source

# Ops that only prepare storage. IREE shares them between users, so that their own location is of one only.
_PREPARES = ("stream.async.alloca", "stream.async.splat")


def region_sources(module: ir.Operation) -> dict[str, tuple[Source, ...]]:
    """For each execution region, by name, what each of its ops came from, in program order.

    Args:
        module: After `iree-stream-async-transformation-pipeline`.
    """
    return {region.name: tuple(map(_source, _body(region.op))) for region in regions(module)}


def _body(execute: ir.Operation) -> Iterator[ir.Operation]:
    """Ops without terminators, those of concurrent waves in their place."""
    for item in list(execute.regions[0].blocks[0].operations)[:-1]:
        if item.operation.name == CONCURRENT:
            yield from _body(item.operation)
        else:
            yield item.operation


def _source(op: ir.Operation) -> Source:
    names = _users_nodes(op) if op.name in _PREPARES else []
    return Source(title(op), tuple(names or node_names(op.location)))


def _users_nodes(op: ir.Operation) -> list[str]:
    """Nodes of the ops that use what `op` prepares."""
    users = (use.owner.operation for use in op.results[0].uses)
    return list(dict.fromkeys(name for user in users for name in node_names(user.location)))
