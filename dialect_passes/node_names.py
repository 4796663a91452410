"""Names of the model's nodes in locations, and locations that name more nodes than their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from serenity_mlir.dialect_passes.mlir import ir

_MARK = "serenity.nodes"


def node_names(location: ir.Location) -> list[str]:
    """Names in a location, and `file:line` where a place has no name; each once."""
    return list(dict.fromkeys(name for leaf in leaves(location) for name in _names(leaf)))


def leaves(location: ir.Location) -> Iterator[ir.Location]:
    """The locations that a fused one is of, and of one from `with_nodes` those that it was given."""
    if isinstance(location, ir.FusedLoc):
        for part in location.locations[1 if _is_marked(location) else 0 :]:
            yield from leaves(part)
    elif not _is_unknown(location):
        yield location


def with_nodes(location: ir.Location, places: Iterable[ir.Location]) -> ir.Location:
    """`location` as it is, and beside it the places that names are taken from instead.

    `as_it_was` takes them off again.
    """
    mark = ir.StringAttr.get(_MARK, location.context)
    # Under a name of its own it stays apart from an equal place, which a fused location has once only.
    own = ir.Location.name(_MARK, location, context=location.context)
    return ir.Location.fused([own, *places], mark, context=location.context)


def as_it_was(location: ir.Location) -> ir.Location:
    """`location` without what `with_nodes` put beside it."""
    if not isinstance(location, ir.FusedLoc):
        return location
    if _is_marked(location):
        return location.locations[0].child_loc
    parts = [as_it_was(part) for part in location.locations]
    return ir.Location.fused(parts, location.metadata, context=location.context)


def is_marked(location: ir.Location) -> bool:
    """Whether `with_nodes` had a part in `location`."""
    if not isinstance(location, ir.FusedLoc):
        return False
    return _is_marked(location) or any(map(is_marked, location.locations))


def _is_unknown(location: ir.Location) -> bool:
    """Also of an unknown place in a function that was inlined."""
    if isinstance(location, ir.CallSiteLoc):
        return _is_unknown(location.callee)
    return isinstance(location, ir.UnknownLoc)


def _is_marked(location: ir.FusedLoc) -> bool:
    return str(location.metadata) == f'"{_MARK}"'  # the bindings hand it out without its class


def _names(location: ir.Location) -> Iterator[str]:
    if isinstance(location, ir.NameLoc):
        yield location.name_str
    elif isinstance(location, ir.FileLineColLoc):
        yield f"{location.filename}:{location.start_line}"
    elif isinstance(location, ir.CallSiteLoc):
        yield from node_names(location.callee)
        yield from node_names(location.caller)
