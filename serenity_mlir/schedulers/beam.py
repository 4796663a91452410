"""Beam search over downsets: good orders of problems that are too hard to be solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.side import Side


@dataclass(slots=True)
class _Partial:
    """The first nodes of an order; orders that begin alike share links to what came before."""

    peak: int
    live: int
    done: int
    ready: int
    came_from: _Partial | None
    ran: list[int]

    def rank(self) -> tuple[int, int, int]:
        """Less is better; the set of nodes makes it total, so that results are deterministic."""
        return self.peak, self.live, self.done


def beam_search(side: Side, width: int, *, floor: int, budget: Budget) -> list[int] | None:
    """A good order in the direction of `side`: the better, the wider, as a rule.

    Partial orders compete with those of as many nodes. Of each number only the `width` best are
    carried on: those with the smallest peak so far (all that do not exceed `floor` are equal), then
    with the fewest bytes live.

    Returns:
        The nodes in the order in which they run, or None if the budget did not suffice.
    """
    count = len(side.problem.nodes)
    layers: list[dict[int, _Partial]] = [{} for _ in range(count + 1)]
    layers[0][0] = _Partial(floor, side.live, 0, side.ready, None, [])
    for size in range(count):
        layer, layers[size] = layers[size], {}
        for partial in nsmallest(width, layer.values(), key=_Partial.rank):
            if budget.spent:
                return None
            budget.charge(1)
            for child in _children(side, partial):
                rivals = layers[child.done.bit_count()]
                rival = rivals.get(child.done)
                if rival is None or child.peak < rival.peak:
                    rivals[child.done] = child
    final = layers[count].get(side.full)
    return None if final is None else _order(final)


def _children(side: Side, partial: _Partial) -> list[_Partial]:
    table, done, live, ready = side.table, partial.done, partial.live, partial.ready
    ran = []
    moves: list[tuple[int, int, int, int]] = []
    rest = ready
    while rest:
        low = rest & -rest
        rest ^= low
        depends_on, effects = table[low]
        hill, net, new = effects[done & depends_on]
        if net <= 0 and live + hill <= partial.peak:
            done |= low
            live += net
            ready = rest = ready ^ low | new
            ran.append(low)
            moves.clear()
        else:
            moves.append((low, hill, net, new))
    if not ready:
        return [_Partial(partial.peak, live, done, 0, partial, ran)] if ran else []
    return [
        _Partial(
            max(partial.peak, live + hill), live + net, done | low, ready ^ low | new, partial, [*ran, low]
        )
        for low, hill, net, new in moves
    ]


def _order(final: _Partial) -> list[int]:
    links = []
    link: _Partial | None = final
    while link is not None:
        links.append(link.ran)
        link = link.came_from
    return [low.bit_length() - 1 for ran in reversed(links) for low in ran]
