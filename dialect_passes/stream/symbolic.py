"""The independent check: does the lowered program compute what it did in its own order?

It runs the `stream.cmd.execute` regions of a module on symbolic memory. Every byte holds a
term: what the caller put there, a fill, or "output k of this dispatch on these inputs".

- `check_order` compares a reordered module with the original, both right after
  `iree-stream-schedule-allocation`, each slice in a memory of its own. A swapped
  write-after-read pair gives some dispatch other inputs, hence some result another term.
- `check_layout` runs one module twice in lockstep, with each slice in a memory of its own and
  with all of them in one slab at their planned offsets. Where two slices that are needed at
  once overlap, some op reads what it should not.

Nothing here is shared with the scheduler or the planner: the checks read the ops that IREE
will run, and know neither dependences nor live ranges nor intervals.
"""

from __future__ import annotations

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.stream.regions import regions
from serenity_mlir.dialect_passes.stream.symbolic_machine import (
    Body,
    Machine,
    NotConstantError,
    decode,
    outer_names,
    outputs_of,
)
from serenity_mlir.dialect_passes.stream.symbolic_memory import Content, Terms, refines
from serenity_mlir.errors import CheckFailed


def check_order(reference: ir.Operation, module: ir.Operation) -> int:
    """Prove that each region of `module` leaves in every buffer what that of `reference` does.

    Returns:
        How many regions were compared. Those with calls or collectives, which the scheduler
        treats as barriers, are not.

    Raises:
        CheckFailed: Some captured buffer would hold something else.
    """
    terms = Terms()
    compared = 0
    for ours, theirs in _paired(module, reference):
        found, expected = _final(ours, terms), _final(theirs, terms)
        if (found is None) != (expected is None):
            raise CheckFailed(f"region {ours.name} can be followed in one of the two programs only")
        if found is None or expected is None:
            continue
        compared += 1
        for number, (content, wanted) in enumerate(zip(found, expected, strict=True)):
            if content != wanted:
                raise CheckFailed(
                    f"after region {ours.name}, captured buffer {number} holds something else than "
                    "in the order of the program"
                )
    return compared


def check_layout(sliced: ir.Operation, planned: ir.Operation) -> int:
    """Prove that no op of `planned` reads a byte that another slice has written over.

    Args:
        sliced: The module before its packs were replaced.
        planned: The same module with offsets in place.

    Returns:
        How many regions were compared.

    Raises:
        CheckFailed: An op would read, or a result would hold, a clobbered byte; names the op.
    """
    compared = 0
    for ours, theirs in _paired(planned, sliced):
        terms = Terms()
        one, other = Machine(ours, terms), Machine(theirs, terms)
        one.adopt(other)
        try:
            for step, other_step in zip(ours.steps(), theirs.steps(), strict=True):
                _lockstep(one, step, other, other_step, ours.name)
        except NotConstantError:
            continue
        compared += 1
        for number, (content, wanted) in enumerate(zip(one.captured(), other.captured(), strict=True)):
            if not refines(content, wanted):
                raise CheckFailed(f"region {ours.name} leaves a clobbered byte in captured buffer {number}")
    return compared


def _paired(module: ir.Operation, reference: ir.Operation) -> list[tuple[Body, Body]]:
    ours, theirs = (regions(one, "stream.cmd.execute") for one in (module, reference))
    if [region.name for region in ours] != [region.name for region in theirs]:
        raise CheckFailed(f"{len(ours)} execution regions where the reference has {len(theirs)}")
    names, other_names = outer_names(module), outer_names(reference)
    return [(Body(one, names), Body(other, other_names)) for one, other in zip(ours, theirs, strict=True)]


def _final(body: Body, terms: Terms) -> list[Content] | None:
    """What the captured buffers hold after the region; None where it is not understood."""
    machine = Machine(body, terms)
    try:
        for op in body.steps():
            step = decode(machine, op)
            inputs = tuple(machine.read(place) for place in step.reads)
            outputs = list(outputs_of(machine, step, inputs))
            for place, content in zip(step.writes, outputs, strict=True):
                place.put(machine.written(place, content))
    except NotConstantError:
        return None
    return machine.captured()


def _lockstep(one: Machine, op: ir.Operation, other: Machine, other_op: ir.Operation, region: str) -> None:
    """One step of both programs; what the second reads, or keeps, is what the first must hold."""
    step, expected = decode(one, op), decode(other, other_op)
    places = list(zip(step.reads, expected.reads, strict=True))
    kept = [pair for pair in zip(step.writes, expected.writes, strict=True) if pair[1].unknown]
    for place, wanted in places + kept:
        if not refines(place.held(wanted), wanted.held()):
            raise CheckFailed(f"region {region}: {step.what[1:2] or step.what} would read a clobbered byte")
    inputs = tuple(other.read(place) for place in expected.reads)
    outputs = list(outputs_of(other, expected, inputs))
    for place, wanted, content in zip(step.writes, expected.writes, outputs, strict=True):
        whole = other.written(wanted, content)
        place.put(whole, wanted)
        wanted.put(whole)
