"""Contraction: nodes that may as well run directly one after the other become one node.

Two rules, each the other one run backwards. `u` and `v` stand for a node and its successor:

- `v` runs directly after `u` if `u` is all that it waits for, it never raises live bytes, and its
  hill, right there, is never above that of `u`.
- `u` runs directly before `v` if only `v` waits for it, it never lowers live bytes, and its hill,
  right there, is never above that of `v`. (A splat before its one user is the simplest case.)

"Never" is over all that may have run before, so each step keeps the optimum, and the hill of the
pair is that of one of its ops: hills are maxima along the pair, never sums.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.problem import Node, Problem, Storage, without_implied

_WORTHWHILE = 64
"""A round that merges a smaller share of the nodes than one in so many is the last."""


def contract(problem: Problem, budget: Budget) -> Problem:
    """The problem after contractions; its optimum is that of `problem`. Stops when the budget is spent.

    Predecessors of `problem` must not imply one another.
    """
    changed: Collection[int] = range(len(problem.nodes))
    while pairs := _pairs(problem, changed):
        problem, changed = _merged(problem, pairs)
        if budget.spent or len(pairs) * _WORTHWHILE < len(problem.nodes):
            break
    return problem


@dataclass(frozen=True, slots=True)
class _Pair:
    first: int
    second: int
    hill_first: bool

    @property
    def place(self) -> int:
        """The node at whose position in a legal order the pair may stand."""
        return self.first if self.hill_first else self.second


def _pairs(problem: Problem, changed: Collection[int]) -> list[_Pair]:
    """Pairs that may be merged, none of which share a node, with a node that is or is next to `changed`."""
    taken = [False] * len(problem.nodes)
    near = [False] * len(problem.nodes)
    for node in changed:
        for other in (node, *problem.preds[node], *problem.succs[node]):
            near[other] = True
    pairs = []
    for second, preds in enumerate(problem.preds):
        for first in preds:
            if taken[first] or taken[second] or not (near[first] or near[second]):
                continue
            if len(preds) == 1 and _may_join(problem, first, second, hill_first=True):
                pair = _Pair(first, second, True)
            elif len(problem.succs[first]) == 1 and _may_join(problem, first, second, hill_first=False):
                pair = _Pair(first, second, False)
            else:
                continue
            taken[first] = taken[second] = True
            pairs.append(pair)
    return pairs


def _may_join(problem: Problem, first: int, second: int, *, hill_first: bool) -> bool:
    """Whether the rule holds by which the hill of the pair is that of its first or second node."""
    steps = len(problem.nodes[first].ops)
    hills = problem.nodes[first].hill, steps + problem.nodes[second].hill
    mover = second if hill_first else first
    low, high = (hills[1], hills[0]) if hill_first else hills
    change = rise = 0
    for index in {*problem.touches[first], *problem.touches[second]}:
        size = problem.storages[index].size
        if index in problem.touches[mover]:
            before, after = _fate(problem, index, (mover,))
            starts = [not begun for begun in before]
            change += size * (max(starts) - min(after) if hill_first else max(after) - min(starts))
        before, after = _fate(problem, index, (first, second))
        span = _span(problem.storages[index], first, second, steps)
        rise += size * max(
            _live(low, span, begun, over) - _live(high, span, begun, over)
            for begun in before
            for over in after
        )
    return change <= 0 and rise <= 0


def _fate(problem: Problem, index: int, nodes: Sequence[int]) -> tuple[Sequence[bool], Sequence[bool]]:
    """Whether a storage may be live before nodes that run without a break, and over once they have run."""
    storage, own, before, after = problem.storages[index], 0, 0, 0
    for node in nodes:
        own |= 1 << node
        before |= problem.ancestors[node]
        after |= problem.descendants[node]
    others = problem.touching[index] & ~own
    begun: Sequence[bool] = (False, True)
    over: Sequence[bool] = (False, True)
    if storage.live_in or others & before:
        begun = (True,)
    elif not others & ~after:
        begun = (False,)
    if storage.live_out or others & after:
        over = (False,)
    elif not others & ~before:
        over = (True,)
    return begun, over


def _span(storage: Storage, first: int, second: int, steps: int) -> tuple[int, int]:
    """The first and the last step of a pair that touch a storage."""
    spans = []
    if first in storage.spans:
        spans.append(storage.spans[first])
    if second in storage.spans:
        begin, end = storage.spans[second]
        spans.append((begin + steps, end + steps))
    return spans[0][0], spans[-1][1]


def _live(step: int, span: tuple[int, int], begun: bool, over: bool) -> bool:
    return (begun or span[0] <= step) and not (over and span[1] < step)


def _merged(problem: Problem, pairs: Sequence[_Pair]) -> tuple[Problem, list[int]]:
    """The problem in which each pair is one node, and the numbers of those nodes."""
    joined = {pair.place: pair for pair in pairs}
    gone = {pair.first + pair.second - pair.place for pair in pairs}
    kept = [node for node in range(len(problem.nodes)) if node not in gone]
    number = {node: index for index, node in enumerate(kept)}
    for pair in pairs:
        number[pair.first] = number[pair.second] = number[pair.place]

    nodes = []
    preds: list[set[int]] = []
    for node in kept:
        joint = joined.get(node)
        members = (node,) if joint is None else (joint.first, joint.second)
        nodes.append(problem.nodes[node] if joint is None else _joint(problem, joint))
        preds.append({number[pred] for member in members for pred in problem.preds[member]} - {number[node]})

    shift = {pair.second: len(problem.nodes[pair.first].ops) for pair in pairs}
    storages = []
    for storage in problem.storages:
        spans: dict[int, tuple[int, int]] = {}
        for node, (begin, end) in sorted(storage.spans.items()):
            by = shift.get(node, 0)
            low, high = spans.get(number[node], (begin + by, end + by))
            spans[number[node]] = min(low, begin + by), max(high, end + by)
        storages.append(Storage(storage.size, spans, storage.live_in, storage.live_out))
    links = without_implied([sorted(numbers) for numbers in preds])
    merged = Problem(tuple(nodes), links, tuple(storages), problem.base)
    return merged, [number[pair.place] for pair in pairs]


def _joint(problem: Problem, pair: _Pair) -> Node:
    first, second = problem.nodes[pair.first], problem.nodes[pair.second]
    hill = first.hill if pair.hill_first else len(first.ops) + second.hill
    return Node(first.ops + second.ops, hill)
