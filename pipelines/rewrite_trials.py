"""What a set of rewrites leads to, found out by lowering a copy of the program with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from serenity_mlir.dialect_passes.linalg.macs import total_macs, total_work
from serenity_mlir.dialect_passes.linalg.reach import names_around, sums_floats_around
from serenity_mlir.dialect_passes.linalg.rewrite import Find, Refusal, Site, apply_sites, keyed
from serenity_mlir.dialect_passes.stream.schedule_execution import RegionSchedule
from serenity_mlir.dialect_passes.tensors.stored_constants import stored_constants, total_size
from serenity_mlir.peak_core import PeakCore
from serenity_mlir.pipelines.attempts import Crash, crashes, trying
from serenity_mlir.pipelines.iree_api import Program
from serenity_mlir.pipelines.iree_types import CompilerError
from serenity_mlir.pipelines.lower_stream import StreamOptions, predict
from serenity_mlir.pipelines.reached_peak import ReachedPeak, parts
from serenity_mlir.pipelines.rewrite_stages import NONE, Keys, Stage, advance, apply_stage
from serenity_mlir.pipelines.rom import exceeds

_KEPT = 3
"""Copies that are kept for each stage."""

_TOLERATED = 0.085
"""How much slower a network may get, by what is modelled: measured, that is a tenth (decision 0104)."""

_BOUND_LIMIT = 0.2
"""Seconds for a bound that may save lowering a copy."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a program costs beside memory: multiply-accumulates, ops in its regions, bytes of weights."""

    macs: int
    ops: int
    weights: int


@dataclass(frozen=True, slots=True)
class Considered:
    """A site that was not taken, or a place that no rewrite fits, and why."""

    key: str
    reason: str


@dataclass
class Trials:
    """The sites of a program at the end of phase `input`, and the arenas that sets of them lead to.

    Attributes:
        program: Stays as it is.
        options: Of order and arena: bytes are counted as they want it.
        stages: Where sites are looked for.
        exact: Leave out rewrites that reassociate sums of floats.
        balanced: Leave out sets that may be more than a tenth slower, by what is modelled.
        own: Bytes of the model's constants: left out are sets with which what is stored grows above them.
        evaluated: Have IREE compute constants in each copy, which takes long and is hardly ever needed.
        sites: Keys in the order in which rewrites apply.
        apart: Those of patterns that are apart in their stage.
        left: What no rewrite fits.
        arenas: Of the sets that were tried; infinite where IREE fails or sizes are no constants.
        faults: What IREE said where it failed.
        hopeless: Sites that cannot reach the peak.
        reach: The model's nodes that a site may touch.
        slowed: What a site adds to the time, as multiply-accumulates that would take as long.
        prices: Of the sets that were tried.
        crashed: Attempts that ended earlier workers of this command.
    """

    program: Program
    options: StreamOptions
    stages: tuple[Stage, ...]
    exact: bool
    balanced: bool
    own: int
    evaluated: bool = False
    sites: list[str] = field(default_factory=list)
    apart: Keys = NONE
    left: list[Considered] = field(default_factory=list)
    arenas: dict[Keys, float] = field(default_factory=dict)
    faults: dict[Keys, str] = field(default_factory=dict)
    hopeless: Keys = NONE
    reach: dict[str, frozenset[str]] = field(default_factory=dict)
    slowed: dict[str, float] = field(default_factory=dict)
    prices: dict[Keys, Price] = field(default_factory=dict)
    crashed: Sequence[Crash] = field(default_factory=crashes)
    _work: int = 0
    _stage_of: dict[str, int] = field(default_factory=dict)
    _staged: dict[int, dict[Keys, Program]] = field(default_factory=dict)
    _stored: dict[Keys, int] = field(default_factory=dict)
    _schedules: dict[Keys, tuple[RegionSchedule, ...]] = field(default_factory=dict)
    _cores: dict[Keys, tuple[ReachedPeak, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find every site, with none of the earlier stages' and with all of them but those apart."""
        for number in range(len(self.stages)):
            for keys in dict.fromkeys((self._unsuspected(self.sites) - self.apart, NONE)):
                try:
                    with trying(keys):
                        copy = self._at(number, keys)
                except CompilerError:  # what all of them together lead to shows in their arena
                    self.program.diagnostics.clear()
                    continue
                self._discover(copy, number)
                copy.close()

    def _at(self, number: int, keys: Keys) -> Program:
        """A copy of the program where a stage applies, with what is chosen of the stages before it.

        Most of a trial's time goes into IREE's `global-optimization`: the last few copies are kept.
        """
        stage = self.stages[number]
        early = Keys(key for key in keys if self._stage_of[key] < number)
        kept = self._staged.setdefault(number, {})
        if early not in kept:
            copy = self._at(number - 1, early) if number else self.program.fork(verify=False)
            if number:
                apply_stage(copy, self.stages[number - 1], early, evaluated=self.evaluated)
            advance(copy, stage.phase, evaluated=self.evaluated)
            kept[early] = copy
            while len(kept) > _KEPT:
                kept.pop(next(iter(kept))).close()
        return kept[early].fork()

    def applied(self, keys: Keys) -> Program:
        """A copy of the program with the chosen sites of all stages, at the end of the last one's phase.

        Raises:
            CompilerError: IREE failed on the way.
        """
        if self.evaluated:
            copy = self._at(len(self.stages) - 1, keys)
            apply_stage(copy, self.stages[-1], keys)
            return copy
        copy = self.program.fork()
        for stage in self.stages:
            apply_stage(copy, stage, keys)
        return copy

    def forget(self) -> None:
        """Close the copies that are kept, which hold all of the program's constants."""
        for kept in self._staged.values():
            while kept:
                kept.popitem()[1].close()

    def _discover(self, copy: Program, number: int) -> None:
        stage = self.stages[number]
        for find in stage.apart:
            self.apart |= Keys(self._noted(copy, find, number))
        for find in stage.patterns:
            chosen = self._noted(copy, find, number)
            with trying(chosen):
                apply_sites(copy.module, find, self._unsuspected(chosen))

    def _noted(self, copy: Program, find: Find, number: int) -> list[str]:
        """The sites of a pattern that may be chosen."""
        chosen = []
        for key, item in keyed(find(copy.module)):
            reason = item.reason if isinstance(item, Refusal) else self._inexact(item)
            if isinstance(item, Refusal) or reason:
                self._leave(key, reason)
                continue
            chosen.append(key)
            self.sites += [] if key in self.reach else [key]
            near = frozenset[str]().union(*map(names_around, (item.anchor, *item.along)))
            self.reach[key] = self.reach.get(key, frozenset()) | near
            self.slowed[key] = max(self.slowed.get(key, 0.0), item.work)
            self._stage_of[key] = number
        return chosen

    def earlier_stages(self, sites: Sequence[str]) -> Iterator[list[str]]:
        """Of the sites those of the first stage, of the first two, and so on; not all of them."""
        for number in sorted({self._stage_of[key] for key in sites})[:-1]:
            yield [key for key in sites if self._stage_of[key] <= number]

    def _unsuspected(self, keys: Collection[str]) -> Keys:
        """Of `keys` those that were in no attempt that crashed."""
        return Keys(keys) - NONE.union(*(item.suspects for item in self.crashed))

    def _inexact(self, site: Site) -> str:
        """Why results might not stay bit-identical, where they have to."""
        if self.exact and not site.exact:
            return "it reassociates sums, and results are to stay exact"
        if self.exact and sums_floats_around(site.anchor):
            return "sums of floats next to it may be ordered anew, and results are to stay exact"
        return ""

    def latency(self, keys: Keys) -> float:
        """Modelled time of an inference with these rewrites, as a multiple of that without."""
        slowed = sum(self.slowed[key] for key in keys)
        return 1 + (slowed / self._work if self._work else 0.0)

    def _leave(self, key: str, reason: str) -> None:
        item = Considered(key, reason)
        if item not in self.left:
            self.left.append(item)

    def arena(self, keys: Keys) -> float:
        """Bytes of the arena with these rewrites.

        Where the rest of the program has the peak that all of it has without rewrites, nothing can be won.
        """
        if keys and keys not in self.arenas and self.peak_stays(NONE, keys):
            self.arenas[keys] = self.arena(NONE)
            self.hopeless |= keys if len(keys) == 1 else NONE
        if keys not in self.arenas and self.balanced and keys and self.latency(keys) > 1 + _TOLERATED:
            times = f"{self.latency(keys):.3f} times as long, above {1 + _TOLERATED:.3f}"
            self.faults[keys] = f"it is modelled to take {times}; --objective memory allows it"
            self.arenas[keys] = float("inf")
        crash = next((item for item in self.crashed if item.suspects <= keys), None)
        if keys not in self.arenas and crash is not None:
            self.faults[keys] = crash.what
            self.arenas[keys] = float("inf")
        if keys not in self.arenas:
            with trying(self._suspects(keys)):
                self._try(keys)
        return self.arenas[keys]

    def _suspects(self, keys: Keys) -> Keys:
        """Of `keys` those that were in no set that went well; all where each of them was."""
        return keys - NONE.union(*self._schedules) or keys

    def _try(self, keys: Keys) -> None:
        try:
            copy = self._at(len(self.stages) - 1, keys)
            apply_stage(copy, self.stages[-1], keys, evaluated=self.evaluated)
            work = total_macs(copy.module)
            self._work = self._work if keys else total_work(copy.module)
            advance(copy, "flow", evaluated=self.evaluated)
            self._stored[keys] = total_size(stored_constants(copy.module))
            prediction = predict(copy, self.options)
            found = prediction.arena
            graphs = (item.graph for item in prediction.schedules if item.role == "model")
            ops = sum(len(graph.ops) for graph in graphs if graph is not None)
            self.prices[keys] = Price(work, ops, prediction.weights)
            self._schedules[keys] = prediction.schedules
            copy.close()
            if self._grows(keys):
                found = None
                self.faults[keys] = "the constants that are stored would grow above the model's own"
        except CompilerError as error:
            found = None
            self.faults[keys] = f"IREE does not compile it: {error.message}"
            self.program.diagnostics.clear()
        self.arenas[keys] = float("inf") if found is None else found

    def _grows(self, keys: Keys) -> bool:
        """Whether constants take more than the model's own and more than without these rewrites."""
        grown = self._stored[keys] > self._stored.get(NONE, self.own)
        return bool(keys) and grown and exceeds(self._stored[keys], self.own)

    def peak_stays(self, base: Keys, keys: Keys) -> bool:
        """Whether buffers that `keys` cannot touch have the peak of the program with the rewrites `base`.

        Then no choice among `keys` makes it smaller.
        """
        names = self._names(keys)
        return any(item.core.stays_without(item.touched(names)) for item in self._peaks(base))

    def rest(self, base: Keys, keys: Keys) -> int:
        """The peak of what `keys` cannot touch in the order of the program with the rewrites `base`."""
        names = self._names(keys)
        return max((item.core.rest(item.touched(names)) for item in self._peaks(base)), default=0)

    def above(self, base: Keys, size: float, keys: Collection[str]) -> Keys:
        """Of `keys` those that may touch an op that runs while more is live, with the rewrites `base`."""
        names = frozenset[str]().union(*(item.above(size) for item in self._peaks(base)))
        return Keys(key for key in keys if not names.isdisjoint(parts(self.reach[key])))

    def _names(self, keys: Keys) -> frozenset[str]:
        return frozenset[str]().union(*(self.reach[key] for key in keys))

    def _peaks(self, base: Keys) -> tuple[ReachedPeak, ...]:
        """Of the model's regions with the rewrites `base`; none where their arena has no constant size."""
        if self.arena(base) == float("inf") or base not in self._schedules:
            return ()
        if base not in self._cores:
            model = [
                (item.graph, item.schedule)
                for item in self._schedules[base]
                if item.role == "model" and item.graph is not None and item.schedule is not None
            ]
            top = max((found.peak for _, found in model), default=0)
            self._cores[base] = tuple(
                ReachedPeak(PeakCore(graph, found.order, top, _BOUND_LIMIT)) for graph, found in model
            )
        return self._cores[base]

    def blamed(self, message: str, keys: Keys) -> Keys:
        """Of `keys` those whose sites may have led to a diagnostic of IREE; all where it names none."""
        node = message.partition(":")[0]
        near = Keys(key for key in keys if node in key.partition(" at ")[2].split(", "))
        return near or Keys(key for key in keys if node in self.reach[key]) or keys
