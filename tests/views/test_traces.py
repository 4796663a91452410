"""Traces, node data and graphs against the schemas that their readers document."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from typing import Any, Literal

import msgspec
import pytest
from shown_cases import NAME, graph_of, shown_of

from serenity_mlir.sizes import size_text
from serenity_mlir.timeline import Course
from serenity_mlir.views import Shown
from serenity_mlir.views.graphviz import dot
from serenity_mlir.views.node_data import node_data
from serenity_mlir.views.trace import AXIS, COUNTER, STEP, trace

# The Trace Event Format: complete events, counters and metadata, with the fields each may have.


class Complete(msgspec.Struct, tag_field="ph", tag="X", forbid_unknown_fields=True):
    pid: int
    tid: int
    name: str
    cat: str
    ts: int
    dur: int
    args: dict[str, int | str]


class Counter(msgspec.Struct, tag_field="ph", tag="C", forbid_unknown_fields=True):
    pid: int
    tid: int
    name: str
    cat: str
    ts: int
    args: dict[str, int]


class Metadata(msgspec.Struct, tag_field="ph", tag="M", forbid_unknown_fields=True):
    pid: int
    tid: int
    name: Literal["process_name", "process_sort_index", "thread_name", "thread_sort_index"]
    args: dict[Literal["name", "sort_index"], int | str]


class Trace(msgspec.Struct, forbid_unknown_fields=True):
    traceEvents: list[Complete | Counter | Metadata]  # noqa: N815  (the format's own name)
    displayTimeUnit: Literal["ms", "ns"]  # noqa: N815
    otherData: dict[str, Any]  # noqa: N815


# Model Explorer's custom node data: graphs by name, as its `GraphNodeData` describes them.


class NodeResult(msgspec.Struct, forbid_unknown_fields=True):
    value: int | float


class Stop(msgspec.Struct, forbid_unknown_fields=True):
    stop: float
    bgColor: str  # noqa: N815


class GraphNodeData(msgspec.Struct, forbid_unknown_fields=True):
    results: dict[str, NodeResult]
    gradient: list[Stop]


@pytest.fixture(scope="module")
def shown() -> Shown:
    graph = graph_of(30)
    edges = tuple((pred, op) for op, preds in enumerate(graph.preds) for pred in preds)
    return replace(shown_of(graph), graph="net", edges={NAME: edges})


@pytest.fixture(scope="module")
def events(shown: Shown) -> list[Complete | Counter | Metadata]:
    return msgspec.json.decode(trace(shown), type=Trace).traceEvents


def courses(shown: Shown) -> list[Course]:
    (region,) = shown.regions
    return [region.after, region.before]


def test_each_buffer_has_a_track(shown: Shown, events: list[Complete | Counter | Metadata]) -> None:
    for process, course in enumerate(courses(shown), start=1):
        slices = [item for item in events if isinstance(item, Complete) and item.pid == process and item.tid]
        assert sorted(item.tid for item in slices) == list(range(1, len(course.buffers) + 1))
        drawn = {(i.ts // STEP, (i.ts + i.dur) // STEP - 1, i.args["size_bytes"]) for i in slices}
        assert drawn == {(item.first, item.last, item.size) for item in course.buffers}
        names = {item.tid: item.args["name"] for item in events if _names(item, "thread_name", process)}
        assert all(str(names[item.tid]).startswith(f"{item.args['nodes']}, ") for item in slices)


def _names(event: Complete | Counter | Metadata, what: str, process: int) -> bool:
    return isinstance(event, Metadata) and event.name == what and event.pid == process


def test_the_counter_is_of_live_bytes(shown: Shown, events: list[Complete | Counter | Metadata]) -> None:
    for process, course in enumerate(courses(shown), start=1):
        counted = [item for item in events if isinstance(item, Counter) and item.pid == process]
        assert {item.name for item in counted} == {COUNTER}
        live = [step.live for step in course.steps]
        assert [(item.ts, item.args["bytes"]) for item in counted] == [
            (step * STEP, value) for step, value in enumerate([*live, 0])
        ]


def test_the_axis_says_what_it_is(shown: Shown, events: list[Complete | Counter | Metadata]) -> None:
    names = [
        event.args["name"] for event in events if isinstance(event, Metadata) and event.name == "process_name"
    ]
    assert names == [f"{NAME}, as compiled ({AXIS})", f"{NAME}, file order ({AXIS})"]
    assert json.loads(trace(shown))["otherData"]["axis"] == AXIS


def test_node_data(shown: Shown) -> None:
    data = msgspec.json.decode(node_data(shown), type=dict[str, GraphNodeData])
    assert list(data) == ["net"]
    values = {name: result.value for name, result in data["net"].results.items()}
    assert values == {step.nodes[0]: step.live for step in courses(shown)[0].steps}
    assert [item.stop for item in data["net"].gradient] == [0.0, 0.5, 1.0]
    assert all(re.fullmatch("#[0-9a-f]{6}", item.bgColor) for item in data["net"].gradient)


def test_a_node_of_several_ops_has_the_most(shown: Shown) -> None:
    (region,) = shown.regions
    steps = tuple(msgspec.structs.replace(step, nodes=("one",)) for step in region.after.steps)
    after = msgspec.structs.replace(region.after, steps=steps)
    report = msgspec.structs.replace(shown.report, timeline=(msgspec.structs.replace(region, after=after),))
    data = json.loads(node_data(replace(shown, report=report)))
    assert data["net"]["results"] == {"one": {"value": region.after.peak}}


def test_graphviz_reads_the_graph(shown: Shown) -> None:
    if shutil.which("dot") is None:
        pytest.skip("no dot: apt-get install graphviz")
    found = subprocess.run(["dot", "-Tjson0"], input=dot(shown), capture_output=True, check=True)
    graph = json.loads(found.stdout)
    assert graph["name"] == shown.model == "<model> & more.onnx"
    ops = {item["_gvid"]: item for item in graph["objects"] if "fillcolor" in item}
    course = courses(shown)[0]
    assert sorted(item["label"].replace("\\n", "\n") for item in ops.values()) == sorted(
        f"step {number}: {step.nodes[0]}\n{size_text(step.live)} live"
        for number, step in enumerate(course.steps)
    )
    step = {key: int(item["name"].removeprefix("r0s")) for key, item in ops.items()}
    assert {(step[item["tail"]], step[item["head"]]) for item in graph["edges"]} == set(shown.edges[NAME])
    thick = {step[key] for key, item in ops.items() if item["penwidth"] == "3"}
    assert thick == {number for number, item in enumerate(course.steps) if item.live == course.peak}
