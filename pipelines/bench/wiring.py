"""Random wirings, as networks are grown from them (Xie et al., ICCV 2019)."""

from __future__ import annotations

from collections.abc import Sequence

from serenity_mlir.errors import SerenityError


def watts_strogatz(nodes: int, seed: int) -> Sequence[Sequence[int]]:
    """WS(nodes, 4, 0.75): for each node the lower ones that it is tied to, ascending.

    Raises:
        SerenityError: networkx is not installed.
    """
    try:
        import networkx as nx  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise SerenityError(
            "random wirings need networkx", hint="pip install networkx, or 'serenity-mlir[dev]'"
        ) from error
    wiring = nx.connected_watts_strogatz_graph(nodes, 4, 0.75, seed=seed)
    sources: list[list[int]] = [[] for _ in range(nodes)]
    for low, high in sorted((min(edge), max(edge)) for edge in wiring.edges()):
        sources[high].append(low)
    return sources
