"""A lower bound on the whole from an exact search of a part: the nodes around a peak.

Any order of all nodes also orders those of the part, and what the part's storage needs is live
then, at least: from the first node of the part that touches it to the last. So no order of all nodes
has a smaller peak than the best order of the part on its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from serenity_mlir.schedulers.budget import Budget
from serenity_mlir.schedulers.problem import Problem, Storage, without_implied
from serenity_mlir.schedulers.task import Task, reduced

_STATES = 30_000
"""States that the search of one part may take."""

_STRIDE = 0.1


def window_bound(  # noqa: PLR0913
    problem: Problem,
    order: Sequence[int],
    *,
    floor: int,
    enough: int,
    budget: Budget,
    widths: Sequence[int],
) -> int:
    """A bound on the peak of every order of `problem`: at least `floor`, at most `enough`.

    Args:
        problem: What is to be ordered.
        order: A legal order of its nodes; the better, the better the bound.
        floor: A bound that is known.
        enough: A bound above which nothing is gained: the peak of an order that is known.
        budget: What may be spent; what is spent is taken from it.
        widths: Nodes of a part, ascending.
    """
    _, hills = problem.profile(order)
    top, bound = hills.index(max(hills)), floor
    for width in widths:
        # Of smaller problems a search of the whole knows more.
        if budget.spent or bound >= enough or 2 * width > len(order):
            break
        start = max(0, min(top - width // 2, len(order) - width))
        bound = _bound(problem, order[start : start + width], bound, enough, budget.part(states=_STATES))
    return bound


def _bound(problem: Problem, nodes: Sequence[int], floor: int, enough: int, budget: Budget) -> int:
    pieces = reduced(part_of(problem, nodes), budget)
    rank = {op: step for step, op in enumerate(problem.ops_of(nodes))}
    for left, piece in zip(range(len(pieces), 0, -1), pieces, strict=True):
        task = Task(piece, rank, "", enough)
        if task.peak > floor:
            task.solve(floor, budget.part(1 / left), stride=_STRIDE)
            floor = max(floor, task.bound)
    return floor


def part_of(problem: Problem, nodes: Sequence[int]) -> Problem:
    """The problem of ordering some nodes alone, that run one after the other in a legal order of all.

    What must have been started before the first of them, and be used after the last, is live
    throughout, whether they touch it or not.
    """
    chosen = sorted(nodes)
    local = {node: index for index, node in enumerate(chosen)}
    before, after = problem.ancestors[chosen[0]], problem.descendants[chosen[0]]
    for node in chosen:
        before &= problem.ancestors[node]
        after &= problem.descendants[node]
    base, storages = problem.base, []
    for storage, touching in zip(problem.storages, problem.touching, strict=True):
        live_in, live_out = (
            storage.live_in or bool(touching & before),
            storage.live_out or bool(touching & after),
        )
        if live_in and live_out:
            base += storage.size
            continue
        spans = {local[node]: span for node, span in storage.spans.items() if node in local}
        if spans:
            storages.append(Storage(storage.size, spans, live_in, live_out))
    preds = [[local[pred] for pred in problem.preds[node] if pred in local] for node in chosen]
    return Problem(
        tuple(problem.nodes[node] for node in chosen), without_implied(preds), tuple(storages), base
    )
