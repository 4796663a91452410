"""Which rewrites are worth it: those without which the arena that IREE allocates would be larger.

The bytes of a choice are found out by lowering a copy of the program with it, so that whatever
IREE makes of it counts. The search is over sets of sites and stops at a time limit with the best set
found; it is exhaustive where there are few.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from serenity_mlir.dialect_passes.linalg.patterns import PATTERNS
from serenity_mlir.dialect_passes.linalg.reach import names_around
from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, apply_sites, keyed
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.pipelines.iree_types import CompilerError
from serenity_mlir.pipelines.lower_stream import StreamOptions, predict
from serenity_mlir.schedulers import schedule
from serenity_mlir.subsets import best_subset

_BOUND_LIMIT = 0.2
"""Seconds for a bound that may save lowering a copy."""

_Keys = frozenset[str]


@dataclass(frozen=True, slots=True)
class Considered:
    """A site that was not taken, or a place that no rewrite fits, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found.

    Attributes:
        taken: Keys of the sites to apply, each with the bytes that the arena would be larger by
            without it; None where the time limit came first.
        considered: What is left alone.
        before: The arena without rewrites; None where it has no constant size.
        after: With those taken.
        tried: Copies that were lowered.
    """

    taken: dict[str, int | None]
    considered: tuple[Considered, ...]
    before: int | None
    after: int | None
    tried: int


@dataclass
class _Search:
    program: Program
    options: StreamOptions
    exact: bool
    deadline: float
    reach: dict[str, frozenset[str]] = field(default_factory=dict)
    schedules: tuple[RegionSchedule, ...] = ()
    hopeless: _Keys = field(default_factory=frozenset)
    arenas: dict[_Keys, float] = field(default_factory=dict)
    faults: dict[_Keys, str] = field(default_factory=dict)

    def arena(self, keys: _Keys) -> float:
        """Bytes of the arena with these rewrites; infinite where IREE fails or sizes are no constants.

        Where the rest of the program has the peak that all of it has without rewrites, nothing can be won.
        """
        if keys and keys not in self.arenas and self._peak_stays(keys):
            self.arenas[keys] = self.arena(_Keys())
            self.hopeless |= keys if len(keys) == 1 else _Keys()
        if keys not in self.arenas:
            copy = self.program.fork()
            try:
                apply_rewrites(copy.module, keys)
                copy.to_phase("flow")
                prediction = predict(copy, self.options)
                found = prediction.arena
                self.schedules = self.schedules if keys else prediction.schedules
            except CompilerError as error:
                found = None
                self.faults[keys] = error.message
                self.program.diagnostics.clear()
            copy.close()
            self.arenas[keys] = float("inf") if found is None else found
        return self.arenas[keys]

    def _peak_stays(self, keys: _Keys) -> bool:
        """Whether buffers that these rewrites cannot touch have the peak of the program without any."""
        if self.arena(_Keys()) == float("inf"):
            return False
        names = frozenset[str]().union(*(self.reach[key] for key in keys))
        model = [item for item in self.schedules if item.role == "model"]
        top = max((item.schedule.peak for item in model if item.schedule is not None), default=0)
        graphs = [item.graph for item in model if item.graph is not None]
        return any(untouched_bound(graph, names) >= top for graph in graphs)

    def late(self) -> bool:
        """Whether time is up."""
        return perf_counter() > self.deadline

    def sites(self) -> tuple[list[str], list[Considered]]:
        """Every site that there is when all before it are applied, and what no rewrite fits."""
        copy = self.program.fork()
        sites: list[str] = []
        left: list[Considered] = []
        for find in PATTERNS:
            chosen = []
            for key, item in keyed(find(copy.module)):
                if isinstance(item, Refusal):
                    left.append(Considered(key, item.reason))
                elif self.exact and not item.exact:
                    left.append(Considered(key, "it reassociates sums, and results are to stay exact"))
                else:
                    chosen.append(key)
                    self.reach[key] = names_around(item.anchor)
            sites += chosen
            apply_sites(copy.module, find, chosen)
        copy.close()
        return sites, left

    def best(self, sites: Sequence[str]) -> _Keys:
        """The smallest set with the smallest arena, as far as time allows."""
        self.arena(_Keys())  # which also finds the schedules that bounds are taken from
        if self._peak_stays(frozenset(sites)):
            self.hopeless |= frozenset(sites)
            return _Keys()
        patterns = dict.fromkeys(_pattern(key) for key in sites)
        starts = [frozenset(key for key in sites if _pattern(key) == pattern) for pattern in patterns]
        return best_subset(sites, self.arena, late=self.late, starts=starts if len(starts) > 1 else ())


def untouched_bound(graph: MemoryGraph, names: Collection[str]) -> int:
    """Bytes that any order needs for the buffers that no op of these nodes touches.

    However those ops are rewritten, the others stay, with their buffers and what orders them.
    """
    known = {part for name in names for part in name.split(", ")}
    touched = {
        buffer
        for op in graph.ops
        if known & set(op.name.partition(" [")[2].removesuffix("]").split(", "))
        for buffer in op.touches
    }
    buffers = [
        replace(buffer, size=0) if index in touched else buffer for index, buffer in enumerate(graph.buffers)
    ]
    return schedule(replace(graph, buffers=tuple(buffers)), time_limit=_BOUND_LIMIT).lower_bound


def _pattern(key: str) -> str:
    return key.partition(" at ")[0]


def apply_rewrites(module: ir.Operation, keys: _Keys | None = None) -> list[str]:
    """Apply every pattern's chosen sites, pattern by pattern; all of them where `keys` is None."""
    return [key for find in PATTERNS for key in apply_sites(module, find, keys)]


def choose_rewrites(
    program: Program,
    options: StreamOptions,
    *,
    exact: bool,
    time_limit: float,
    progress: Callable[[str], None],
) -> Choice:
    """Choose rewrites for a program at the end of phase `input`, which stays as it is.

    Args:
        program: What to rewrite.
        options: What order and arena are asked for: bytes are counted as they want it.
        exact: Leave out rewrites that reassociate sums of floats.
        time_limit: Seconds; the copies without and with all rewrites are lowered even if they take longer.
        progress: Called with the stage.
    """
    search = _Search(program, options, exact, perf_counter() + time_limit)
    sites, left = search.sites()
    if not sites:
        return Choice({}, tuple(left), None, None, 0)
    progress("choose rewrites")
    best = search.best(sites)
    before, after = search.arena(_Keys()), search.arena(best)
    if not after < before:
        best, after = _Keys(), before
    taken = {key: _saved(search, best, key) for key in sites if key in best}
    reasons = {key: _reason(search, best, key) for key in sites if key not in best}
    left += [Considered(key, reason) for key, reason in reasons.items()]
    return Choice(taken, tuple(left), _bytes(before), _bytes(after), len(search.arenas))


def without(choice: Choice, reason: str) -> Choice:
    """The choice with nothing taken, for a reason."""
    left = tuple(Considered(key, reason) for key in choice.taken)
    return replace(choice, taken={}, considered=(*choice.considered, *left), after=choice.before)


def _saved(search: _Search, best: _Keys, key: str) -> int | None:
    without = search.arenas.get(best - {key})
    return None if without is None or without == float("inf") else int(without - search.arena(best))


def _reason(search: _Search, best: _Keys, key: str) -> str:
    for keys in (best | {key}, frozenset([key])):
        if keys in search.faults:
            return f"IREE does not compile it: {search.faults[keys]}"
    if key in search.hopeless:
        return "the peak is that of ops that the rewrite cannot reach"
    if best | {key} in search.arenas or frozenset([key]) in search.arenas:
        return "the arena would be no smaller"
    return "with the others the arena would be no smaller; it was not tried alone"


def _bytes(arena: float) -> int | None:
    return None if arena == float("inf") else int(arena)
