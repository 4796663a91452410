"""What rewrites lead to is found out without the values of constants: the figures are those with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from quantised_residuals import networks

import serenity_mlir.pipelines.lower_rewritten as lowering
from serenity_mlir.dialect_passes.linalg.rewrite import Site
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.hoisted_constants import forget_hoisted
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops
from serenity_mlir.dialect_passes.tensors.stored_constants import stored_constants, total_size
from serenity_mlir.pipelines.choose_rewrites import Choice, choose_rewrites
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.lower import lower_to
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions, RewrittenLowering
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.rewrite_stages import NONE, Keys, Stage
from serenity_mlir.pipelines.rewrite_trials import Trials
from serenity_mlir.pipelines.targets import compiler_flags

CONST_EVAL = "iree-opt-const-eval"


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(compiler_flags("generic", ()))


def at_input(model: onnx.ModelProto, folder: Path, session: Session) -> Program:
    path = folder / "net.onnx"
    onnx.save(model, path)
    program = session.program(import_onnx(load_model(path), session.context))
    program.to_phase("input")
    return program


def trials_of(program: Program, *, evaluated: bool) -> Trials:
    own = total_size(stored_constants(program.module))
    options = StreamOptions(time_limit=10)
    return Trials(program.fork(), options, RewriteOptions().stages, False, False, own, evaluated)


@settings(max_examples=3)
@given(model=networks())
def test_figures_are_those_with_the_values(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = at_input(model, tmp_path_factory.mktemp("net"), session)
    quick, full = (trials_of(program, evaluated=evaluated) for evaluated in (False, True))
    assert quick.sites == full.sites
    for keys in (NONE, Keys(quick.sites)):
        assert quick.arena(keys) == full.arena(keys)
        if keys in quick.faults:  # no choice: constants would grow, say
            continue
        lowered = lower_to(quick.applied(keys), "stream", quick.options, lambda _stage: None)
        assert lowered is not None
        assert lowered.stream.final.arena == quick.arena(keys)
    assert quick.prices == full.prices
    assert session.flag(CONST_EVAL) == "true"


@settings(max_examples=1)
@given(model=networks())
def test_initialisers_are_gone(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = at_input(model, tmp_path_factory.mktemp("net"), session)
    with session.unevaluated() as left:
        program.to_phase("global-optimization")
    hoisted = [op for op in nested_ops(program.module) if op.name == "util.initializer"]
    assert left
    assert hoisted
    assert forget_hoisted(program.module) == len(hoisted)
    assert program.module.verify()
    assert not [op for op in nested_ops(program.module) if op.name == "util.initializer"]


def test_results_that_are_displaced_are_so_in_a_trial(
    onnx_light_models: list[Path], session: Session, tmp_path: Path
) -> None:
    light = next(path for path in onnx_light_models if path.stem == "light_shufflenet")
    trials = trials_of(at_input(onnx.load(light), tmp_path, session), evaluated=False)
    lowered = lower_to(trials.applied(NONE), "stream", trials.options, lambda _stage: None)
    assert lowered is not None
    assert any("displace" in item.pattern for item in lowered.stream.rewrites)
    assert trials.arena(NONE) == lowered.stream.final.arena


@settings(max_examples=1)
@given(model=networks())
def test_a_rewrite_that_breaks_the_module_is_a_fault(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def find(module: ir.Operation) -> Iterator[Site]:
        function = next(op for op in nested_ops(module) if op.name == "util.func" and op.regions[0].blocks)
        *_, end = function.regions[0].blocks[0].operations
        yield Site("break", function, exact=True, apply=end.operation.erase)

    program = at_input(model, tmp_path_factory.mktemp("net"), session)
    trials = Trials(program.fork(), StreamOptions(), (Stage("input", (find,)),), False, False, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "peak_stays", lambda _base, _keys: False)  # the function's name says nothing
        assert trials.arena(Keys(trials.sites)) == float("inf")
    assert "does not verify" in trials.faults[Keys(trials.sites)]
    assert trials.arena(NONE) < float("inf")


def test_who_asks_for_unevaluated_constants_keeps_them() -> None:
    session = Session(["--iree-opt-const-eval=false"])
    with session.unevaluated() as left:
        assert not left
    assert session.flag(CONST_EVAL) == "false"


@settings(max_examples=1)
@given(model=networks())
def test_a_choice_that_values_refute_is_made_again_with_them(
    model: onnx.ModelProto, session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = at_input(model, tmp_path_factory.mktemp("net"), session)
    asked: list[bool] = []

    def choose(trials: Trials, **options: Any) -> Choice:
        asked.append(trials.evaluated)
        found = choose_rewrites(trials, **options)
        wrong = replace(found, before=1, taken=dict.fromkeys(trials.sites, 1))
        return found if trials.evaluated else wrong

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lowering, "choose_rewrites", choose)
        own = total_size(stored_constants(program.module))
        rewriting, options = RewriteOptions(time_limit=1), StreamOptions()
        found = RewrittenLowering(program, "stream", rewriting, options, lambda _stage: None, own).run()
    _, choice, lowered = found
    assert asked == [False, True]
    assert choice.before != 1
    assert lowered is not None
    assert lowered.stream.final.arena is not None
    assert choice.before is not None
    assert lowered.stream.final.arena <= choice.before
