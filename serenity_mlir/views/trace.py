"""`--trace`: a schedule in the Trace Event Format, which Perfetto and chrome://tracing open.

Traces count microseconds. One step of the schedule is shown as one millisecond, which is no time that
anything takes; names of processes say so. Each order of a region is a process: a track of its
ops, a counter of its live bytes, and one track a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from serenity_mlir.sizes import size_text
from serenity_mlir.timeline import Course, Lifetime, Source
from serenity_mlir.views.shown import Shown

STEP = 1000
"""Microseconds of a step."""
AXIS = "1 step is shown as 1 ms"
COUNTER = "live bytes"

Event = dict[str, Any]


def trace(shown: Shown) -> bytes:
    """The trace of every region of the model, as compiled and in file order.

    Raises:
        SerenityError: No region of the model has constant sizes.
    """
    courses = [
        (f"{region.name}, {name} ({AXIS})", course)
        for region in shown.drawable()
        for name, course in (("as compiled", region.after), ("file order", region.before))
    ]
    events: list[Event] = []
    for process, (name, course) in enumerate(courses, start=1):
        events += _process(process, name, course)
    memory = shown.report.memory
    other = {
        "model": shown.model,
        "target": shown.report.target,
        "axis": AXIS,
        "final_peak_bytes": memory.final.peak,
        "final_arena_bytes": memory.final.arena,
        "file_order_peak_bytes": memory.file_order.peak,
        "file_order_arena_bytes": memory.file_order.arena,
    }
    whole = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}
    return msgspec.json.encode(whole) + b"\n"


def _process(pid: int, name: str, course: Course) -> Iterator[Event]:
    yield _named("process_name", pid, 0, name)
    yield _sorted("process_sort_index", pid, 0, pid)
    yield _named("thread_name", pid, 0, "ops")
    for number, step in enumerate(course.steps):
        sizes = {"live_bytes": step.live, "live": size_text(step.live), "change_bytes": step.delta}
        arguments = {"step": number, **sizes, **_source(step)}
        yield _slice(pid, 0, _title(step), range(number, number + 1), arguments)
        yield _counted(pid, number, step.live)
    yield _counted(pid, len(course.steps), 0)
    for track, item in enumerate(sorted(course.buffers, key=_place), start=1):
        title = _title(Source(item.name, item.nodes))
        yield _named("thread_name", pid, track, f"{title}, {size_text(item.size)}")
        yield {
            "ph": "M",
            "pid": pid,
            "tid": track,
            "name": "thread_sort_index",
            "args": {"sort_index": track},
        }
        yield _slice(pid, track, title, range(item.first, item.last + 1), _buffer(item))


def _place(item: Lifetime) -> tuple[int, int]:
    """Tracks are in the order in which buffers begin to live, and the lowest of them first."""
    return item.first, item.offset or 0


def _title(source: Source) -> str:
    return ", ".join(source.nodes) or source.op


def _source(source: Source) -> Event:
    return {"op": source.op, "nodes": ", ".join(source.nodes)}


def _buffer(item: Lifetime) -> Event:
    offset = {} if item.offset is None else {"offset_bytes": item.offset}
    return {
        "size_bytes": item.size,
        "size": size_text(item.size),
        **offset,
        "first_step": item.first,
        "last_step": item.last,
        "storage": item.owner,
        **_source(Source(item.name, item.nodes)),
    }


def _slice(pid: int, tid: int, name: str, steps: range, arguments: Event) -> Event:
    times = {"ts": steps.start * STEP, "dur": len(steps) * STEP}
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": "memory", **times, "args": arguments}


def _counted(pid: int, step: int, live: int) -> Event:
    what = {"pid": pid, "tid": 0, "name": COUNTER, "cat": "memory"}
    return {"ph": "C", **what, "ts": step * STEP, "args": {"bytes": live}}


def _named(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}


def _sorted(what: str, pid: int, tid: int, place: int) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"sort_index": place}}
