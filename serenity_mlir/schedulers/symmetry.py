"""Identical branches: of orders that differ only in which of them goes first, one is enough.

Branches that an automorphism of the problem swaps can be relabelled in any order found, so that
none overtakes the one before it. That is said by extra precedence, which needs no change in the
search: 24 identical branches have 2^24 downsets without it and 25 with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

from serenity_mlir.schedulers.problem import Problem, without_implied

_ROUNDS = 64
"""Most rounds in which colours are refined; branches that are longer are not told apart."""

_WORK = 30_000
"""Most nodes coloured in all rounds."""


def order_twins(problem: Problem) -> Problem:
    """The problem with precedence between identical branches; its optimum is that of `problem`."""
    colors = _colors(problem)
    groups: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
    for branch in _branches(problem, colors):
        key = tuple(colors[node] for node in branch)
        if len(set(key)) == len(key):
            groups[key].append(branch)
    extra: list[tuple[int, int]] = []
    for branches in groups.values():
        branches.sort(key=min)
        for one, two in pairwise(branches):
            if _swap(problem, one, two):
                extra += _precedence(problem, one, two)
    if not extra:
        return problem
    preds = [list(links) for links in problem.preds]
    for before, after in extra:
        preds[after].append(before)
    return Problem(problem.nodes, without_implied(preds), problem.storages, problem.base)


def _colors(problem: Problem) -> list[int]:
    """Numbers such that nodes that some automorphism exchanges have the same one."""
    colors = [0] * len(problem.nodes)
    kinds = 0
    for _ in range(min(_ROUNDS, 1 + _WORK // len(colors))):
        shapes = [
            (storage.size, storage.live_in, storage.live_out, tuple(sorted(colors[n] for n in storage.spans)))
            for storage in problem.storages
        ]
        colors = _numbered(
            (
                colors[node],
                problem.nodes[node].hill,
                tuple(sorted(colors[pred] for pred in problem.preds[node])),
                tuple(sorted(colors[succ] for succ in problem.succs[node])),
                tuple(sorted((shapes[i], problem.storages[i].spans[node]) for i in problem.touches[node])),
            )
            for node in range(len(problem.nodes))
        )
        found = len(set(colors))
        if found in (kinds, len(colors)):
            break
        kinds = found
    return colors


def _numbered(values: Iterable[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def _branches(problem: Problem, colors: Sequence[int]) -> list[list[int]]:
    """Connected nodes that are not one of a kind, by colour."""
    count = Counter(colors)
    seen: set[int] = set()
    branches = []
    for root in range(len(colors)):
        if root in seen or count[colors[root]] == 1:
            continue
        seen.add(root)
        branch = [root]
        for node in branch:
            for other in (*problem.preds[node], *problem.succs[node]):
                if other not in seen and count[colors[other]] > 1:
                    seen.add(other)
                    branch.append(other)
        branches.append(sorted(branch, key=colors.__getitem__))
    return branches


def _swap(problem: Problem, one: Sequence[int], two: Sequence[int]) -> bool:
    """Whether exchanging the nodes of two branches pairwise changes nothing."""
    image = dict(zip([*one, *two], [*two, *one], strict=True))
    touched: set[int] = set()
    for node, other in image.items():
        if problem.nodes[node].hill != problem.nodes[other].hill:
            return False
        for links in (problem.preds, problem.succs):
            if {image.get(link, link) for link in links[node]} != set(links[other]):
                return False
        touched.update(problem.touches[node])
    shapes = Counter(_shape(problem, index, {}) for index in touched)
    return shapes == Counter(_shape(problem, index, image) for index in touched)


def _shape(problem: Problem, index: int, image: dict[int, int]) -> Hashable:
    storage = problem.storages[index]
    spans = frozenset((image.get(node, node), span) for node, span in storage.spans.items())
    return storage.size, storage.live_in, storage.live_out, spans


def _precedence(problem: Problem, one: Sequence[int], two: Sequence[int]) -> list[tuple[int, int]]:
    """What may be demanded between two branches: all of it if they are chains, else who starts."""
    inside = sum(1 << node for node in one)
    ranks = sorted(range(len(one)), key=lambda i: (problem.ancestors[one[i]] & inside).bit_count())
    heads = [(problem.ancestors[one[i]] & inside).bit_count() for i in ranks]
    if heads != list(range(len(one))):
        ranks = ranks[: heads.count(0)] if heads.count(0) == 1 else []
    return [(one[i], two[i]) for i in ranks if one[i] < two[i]]
