"""The torch-onnx module, and what IREE says about it: compiled for real."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import load, model, one_node, run, same, value, weight

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import CheckFailed
from serenity_mlir.pipelines.importing.diagnose import explain_legalization_failure
from serenity_mlir.pipelines.importing.source import SourceModel, TensorIO
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.importing.unsigned_results import declare_unsigned_results
from serenity_mlir.pipelines.iree_api import Program, Session
from serenity_mlir.pipelines.iree_types import CompilerError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import numpy.typing as npt
FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
X = np.random.default_rng(5).normal(size=(1, 3, 6, 8)).astype(np.float32)


def program(source: SourceModel, phase: str) -> Program:
    session = Session(FLAGS)
    started = session.program(import_onnx(source, session.context), file=str(source.path))
    started.to_phase(phase)
    return started


def call(compiled: Program, *arguments: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """What a plain user of IREE's runtime gets."""
    from iree import runtime  # noqa: PLC0415 - heavy, and most tests here do not run anything

    compiled.to_phase("end")
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, compiled.vm_bytecode()), config
    )
    results = module["small"](*arguments)
    return [
        result.to_host().copy() for result in (results if isinstance(results, tuple | list) else [results])
    ]


def nested() -> onnx.ModelProto:
    branch = helper.make_graph([helper.make_node("Neg", ["r"], ["b"])], "branch", [], [value("b", X.shape)])
    other = helper.make_graph([helper.make_node("Exp", ["r"], ["e"])], "other", [], [value("e", X.shape)])
    nodes = [
        helper.make_node("Add", ["x", "w"], ["r"], name='odd "näme" \\'),
        helper.make_node("If", ["p"], ["y"], then_branch=branch, else_branch=other),
    ]
    inputs = [value("x", X.shape), value("p", [], TensorProto.BOOL)]
    return model(nodes, inputs, [value("y", X.shape)], [weight("w", X)])


def test_every_operator_carries_its_nodes_name(tmp_path: Path) -> None:
    session = Session()
    module = import_onnx(load(nested(), tmp_path), session.context)
    places: dict[str, str] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "torch.operator":
            places[ir.StringAttr(op.attributes["name"]).value] = op.location.name_str
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    assert places == {
        "onnx.Constant": "w",
        "onnx.Add": 'odd "näme" \\',
        "onnx.If": "If_1",
        "onnx.Neg": "If_1/Neg_0",
        "onnx.Exp": "If_1/Exp_0",
    }


def test_the_entry_function_is_called_like_the_graph(tmp_path: Path) -> None:
    module = import_onnx(load(nested(), tmp_path), Session().context)
    (function,) = module.regions[0].blocks[0]
    assert ir.StringAttr(function.operation.attributes["sym_name"]).value == "small"


def test_what_is_not_onnx_is_not_imported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is mlir, not ONNX"):
        import_onnx(SourceModel(tmp_path / "m.mlir", "", "mlir", mlir=b"module {}"), Session().context)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"])
def test_weights_of_every_type_arrive(tmp_path: Path, dtype: str) -> None:
    array = (np.arange(48).reshape(6, 8) * 5).astype(dtype)
    zero = np.zeros_like(array)
    mask = np.random.default_rng(1).integers(0, 2, (6, 8)).astype(bool)
    weights = [weight("w", array, dtype), weight("z", zero, dtype)]
    element = helper.np_dtype_to_tensor_dtype(array.dtype)
    source = load(one_node("Where", {"p": mask}, weights, element=element), tmp_path)
    session = Session((*FLAGS, "--iree-input-demote-f64-to-f32=false"))
    compiled = session.program(import_onnx(source, session.context))
    compiled.to_phase("input")
    declare_unsigned_results(compiled.module, "small", source.outputs)
    assert same(call(compiled, mask), [np.where(mask, array, zero)])


# Unsigned results


def quantised(element: int = TensorProto.UINT8) -> onnx.ModelProto:
    dtype = helper.tensor_dtype_to_np_dtype(element)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Identity", ["u"], ["v"]),
    ]
    return model(
        nodes,
        [value("x", X.shape), value("u", [3], TensorProto.UINT8)],
        [value("r", X.shape), value("q", X.shape, element), value("v", [3], TensorProto.UINT8)],
        [weight("s", 0.02), weight("z", 100, dtype)],
        opset=21,
    )


@pytest.mark.parametrize("phase", ["input", "abi"])
def test_unsigned_results_come_back_unsigned(tmp_path: Path, phase: str) -> None:
    source = load(quantised(), tmp_path)
    inputs: dict[str, npt.NDArray[Any]] = {"x": X, "u": np.array([0, 127, 255], np.uint8)}
    compiled = program(source, phase)
    declare_unsigned_results(compiled.module, "small", source.outputs)
    found = call(compiled, *inputs.values())
    expected = run(quantised(), inputs)
    assert found[1].max() > 127
    assert same(found, expected)


def test_signed_results_stay_signed(tmp_path: Path) -> None:
    source = load(quantised(TensorProto.INT8), tmp_path)
    compiled = program(source, "input")
    declare_unsigned_results(compiled.module, "small", source.outputs)
    assert "tensor<1x3x6x8xi8> -> !hal.buffer_view" in compiled.print_ir()


def test_results_that_do_not_match_the_declaration_are_noticed(tmp_path: Path) -> None:
    compiled = program(load(quantised(), tmp_path), "input")
    with pytest.raises(CheckFailed, match="returns 3 results, the model declares 1"):
        declare_unsigned_results(compiled.module, "small", [TensorIO("q", (), "uint8")])
    with pytest.raises(CheckFailed, match="returns 0 results"):
        declare_unsigned_results(compiled.module, "other", [TensorIO("q", (), "uint8")])


# Diagnostics


NORMALISE = one_node(
    "BatchNormalization", {"x": X}, [weight(n, [1, 2, 3]) for n in "gbmv"], opset=9, name="bn"
)


def messages(source: SourceModel) -> list[str]:
    """What IREE says when it cannot compile a model."""
    with pytest.raises(CompilerError) as caught:
        program(source, "input")
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("proto", "expected"),
    [
        (one_node("Det", {"x": X[:, :, :6, :6]}, name='odd "näme" \\'), ('odd "näme" \\', "linalg.generic")),
        (
            one_node(
                "MaxRoiPool", {"x": X, "r": np.zeros((1, 5), np.float32)}, pooled_shape=[2, 2], name="roi"
            ),
            ("roi", "torch.aten.max_pool2d"),
        ),
    ],
    ids=["escaped name", "lowered operation"],
)
def test_reads_back_what_iree_says(tmp_path: Path, proto: onnx.ModelProto, expected: tuple[str, str]) -> None:
    assert explain_legalization_failure(messages(load(proto, tmp_path))[0]) == expected


def test_reads_back_the_onnx_operator(tmp_path: Path) -> None:
    # Below opset 15, and past preparation, which would have upgraded it.
    proto = onnx.shape_inference.infer_shapes(NORMALISE)
    found = messages(SourceModel(tmp_path / "m.onnx", "", "onnx", proto=proto))
    assert explain_legalization_failure(found[0]) == ("bn", "BatchNormalization")


def test_a_diagnostic_about_no_node_explains_nothing(tmp_path: Path) -> None:
    spectrum = one_node("DFT", {"x": np.zeros((1, 1, 8, 1), np.float32)}, name="dft")
    found = messages(load(spectrum, tmp_path))
    assert found[0].startswith("loc(unknown): failed to legalize")
    assert explain_legalization_failure(found[0]) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:3:1: failed to legalize operation 'torch.x'", ("a", "torch.x")),
        ("a\nb:7:1: c:12:1: 'linalg.generic' op is wrong", ("a\nb:7:1: c", "linalg.generic")),
        ("a:3:1: out of memory", None),
        ("failed to legalize operation 'torch.x'", None),
        ("", None),
    ],
)
def test_other_forms_of_locations(text: str, expected: tuple[str, str] | None) -> None:
    assert explain_legalization_failure(text) == expected
