"""What runs in one dispatch, and why: the module that was compiled beside the choices that led to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from serenity_mlir.dialect_passes.flow import pad_on_read
from serenity_mlir.dialect_passes.flow.dispatches import Dispatch
from serenity_mlir.pipelines.choose_rewrites import Choice
from serenity_mlir.report import DispatchInfo, Reason
from serenity_mlir.sizes import size_text


def dispatch_infos(found: Sequence[Dispatch], choice: Choice | None) -> list[DispatchInfo]:
    """The report's dispatches, each with what was chosen where it came from.

    Args:
        found: The dispatches of the compiled module.
        choice: Of rewrites and regions, where there was one.
    """
    why: list[list[Reason]] = [[] for _ in found]
    for reason in [] if choice is None else _reasons(choice):
        for index in _concerned(found, reason):
            why[index].append(reason)
    return [
        DispatchInfo(
            name=item.name,
            nodes=list(item.nodes),
            fused=list(item.fused),
            sources=list(item.sources),
            read=item.read,
            constants=item.constants,
            stored=item.stored,
            padding=list(item.padding),
            in_place=item.in_place,
            why=why[index],
        )
        for index, item in enumerate(found)
    ]


def _reasons(choice: Choice) -> list[Reason]:
    reasons = []
    for key, saved in choice.taken.items():
        words = "not tried without it" if saved is None else f"without it {size_text(saved)} more"
        reasons.append(_reason(key, words, taken=True))
    left = (item for item in choice.considered if item.key not in choice.taken)
    return [*reasons, *(_reason(item.key, item.reason, taken=False) for item in left)]


def _reason(key: str, reason: str, *, taken: bool) -> Reason:
    pattern, _, location = key.partition(" at ")
    return Reason(pattern, location, taken, reason)


def _concerned(found: Sequence[Dispatch], reason: Reason) -> list[int]:
    """The dispatches that hold the place of a choice; of padding on read those that read what is there.

    A place has the name of its first node: constants that ops share add theirs to many.
    """
    node = reason.location.partition(" #")[0].partition(", ")[0]
    holding = [index for index, item in enumerate(found) if node in item.nodes]
    if reason.pattern != pad_on_read.PATTERN:
        return [index for index in holding if found[index].fused]
    padded = {index for index in holding if _stores(found[index], node)}
    return [index for index, item in enumerate(found) if padded & set(item.sources)] or holding


def _stores(item: Dispatch, node: str) -> bool:
    """Whether what a node makes is what a dispatch stores: it is that of the last op."""
    return bool(item.fused) and node in _nodes(item.fused[-1])


def _nodes(fused: str) -> Collection[str]:
    return fused.partition(" [")[2].removesuffix("]").split(", ")
