"""What the report says of each dispatch is what the compiled module does."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from quantised_residuals import networks
from test_dispatch_regions import apply_all, optimized, saved, session

from serenity_mlir.dialect_passes.flow.dispatches import Dispatch, dispatches
from serenity_mlir.dialect_passes.flow.locate_dispatches import LocateDispatchesPass
from serenity_mlir.graph import MemoryGraph
from serenity_mlir.pipelines.choose_rewrites import Choice
from serenity_mlir.pipelines.compile import Compiled, CompileOptions, compile_model
from serenity_mlir.pipelines.dispatch_figures import dispatch_infos
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.iree_api import Session
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.rewrite_trials import Considered
from serenity_mlir.report import DispatchInfo, Reason

__all__ = ["session"]  # a fixture
ALIGNMENT = 64


def aligned(size: int | None) -> int:
    assert size is not None
    return -(-size // ALIGNMENT) * ALIGNMENT


def named(compiled: Compiled) -> tuple[dict[str, DispatchInfo], MemoryGraph]:
    """The dispatches by name, and the memory graph of the one region that runs them."""
    assert compiled.report is not None
    assert compiled.stream is not None
    (graph,) = (item.graph for item in compiled.stream.schedules if item.role == "model")
    assert graph is not None
    return {item.name: item for item in compiled.report.dispatches}, graph


@settings(max_examples=3)
@given(model=networks())
def test_sizes_are_those_of_the_memory_graph(
    model: onnx.ModelProto, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = saved(model, tmp_path_factory.mktemp("net"))
    options = CompileOptions(
        emit="mlir", rewrite=RewriteOptions(time_limit=2), stream=StreamOptions(io="arena")
    )  # inputs and outputs too
    by_name, graph = named(compile_model(source.path, options))
    ran = [op for op in graph.ops if op.name.partition(" [")[0] in by_name]
    assert {op.name.partition(" [")[0] for op in ran} == set(by_name)
    for op in ran:
        item = by_name[op.name.partition(" [")[0]]
        assert item.read is not None
        touched = [graph.buffers[number].size for number in op.touches]
        own = 0 if item.in_place else aligned(item.stored)
        assert 0 <= sum(touched) - own - item.read < ALIGNMENT * len(touched)
        assert aligned(item.stored) in touched
        assert not item.in_place or op.updates
    assert not any(op.name.startswith("clone") for op in graph.ops)


def test_each_way_of_padding_and_in_place(shared: Path, session: Session) -> None:
    source = load_model(shared / "models" / "tfl_ic_resnet_int8.onnx")
    plain, formed = optimized(source, session), optimized(source, session)
    apply_all(formed)
    found = []
    for program in (plain, formed):
        if program.phase != "dispatch-creation":
            program.to_phase("dispatch-creation")
        LocateDispatchesPass().apply(program.module)
        program.to_phase("flow")
        found.append(dispatches(program.module))
    stock, ours = found
    assert {way for item in stock for way in item.padding} == {"copy", "interior"}
    assert not any(item.in_place for item in stock)
    assert {way for item in ours for way in item.padding} == {"interior", "read"}
    sums = [item for item in ours if item.in_place]
    assert ["n_58" in sums[0].nodes, "n_132" in sums[1].nodes, "n_206" in sums[2].nodes] == [True] * 3
    # A residual sum in the interior of the padded tensor that its first summand lies in.
    assert (sums[0].read, sums[0].stored) == (16 * 34 * 34 + 16 * 32 * 32, 16 * 34 * 34)
    first = ours[0]
    guarded = ("linalg.generic [n_16]", "linalg.generic (reduction) [n_16]")
    assert first.fused == (*guarded, "linalg.generic [n_21, n_18]")
    assert (first.read, first.stored, first.constants) == (3 * 32 * 32, 16 * 34 * 34, 16 * 27 + 16 * 8)


def test_choices_stand_where_they_were_made() -> None:
    """Padding on read concerns what reads, the others what computes."""
    one = Dispatch("d0", ("a", "s"), ("conv [a]", "quantise [s]"), (), 4, 4, 4, (), False)
    two = Dispatch("d1", ("b",), ("conv [b]",), (0,), 4, 4, 4, ("read",), False)
    copy = Dispatch("d2", ("b",), (), (1,), 4, 0, 4, (), False)
    taken: dict[str, int | None] = {"form-dispatch-region at a": 8, "pad-on-read at s, x": None}
    left = (
        Considered("form-dispatch-region at a", "is refused"),
        Considered("reuse-operand at b #2", "is read later"),
    )
    infos = dispatch_infos([one, two, copy], Choice(taken, left, 16, 8, 3))
    assert [item.why for item in infos] == [
        [Reason("form-dispatch-region", "a", True, "without it 8 bytes (0.0 KiB) more")],
        [
            Reason("pad-on-read", "s, x", True, "not tried without it"),
            Reason("reuse-operand", "b #2", False, "is read later"),
        ],
        [],
    ]
    assert not any(item.why for item in dispatch_infos([one], None))
