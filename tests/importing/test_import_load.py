"""Reading model files: what they are, and what is wrong with them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import load, model, one_node, prepared, save, value

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import TensorIO, restore_dtype

RELU = one_node("Relu", {"x": np.zeros((2, 3), np.float32)})


def refusal(path: Path) -> SerenityError:
    with pytest.raises(SerenityError) as caught:
        load_model(path)
    assert caught.value.file == str(path)
    assert caught.value.hint or "cannot be read" in caught.value.message
    return caught.value


def test_describes_what_it_read(tmp_path: Path) -> None:
    proto = model(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT8)],
        [value("x", ["N", 3, None])],
        [value("y", ["N", 3, None], TensorProto.UINT8)],
    )
    path = save(proto, tmp_path)
    source = load_model(path)
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (source.path, source.format, source.mlir) == (path, "onnx", None)
    assert source.inputs == (TensorIO("x", ("N", 3, None), "float32"),)
    assert source.outputs == (TensorIO("y", ("N", 3, None), "uint8"),)
    assert source.outputs[0].unsigned
    assert not source.inputs[0].unsigned


def test_minus_one_is_an_unknown_size(tmp_path: Path) -> None:
    source = load(
        model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [-1, 3])], [value("y", None)]), tmp_path
    )
    assert source.inputs[0].shape == (None, 3)


@pytest.mark.parametrize("suffix", [".mlir", ".MLIR"])
def test_mlir_text_is_handed_on_as_bytes(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(b"module {}\n")
    source = load_model(path)
    assert (source.format, source.mlir, source.proto, source.inputs) == ("mlir", b"module {}\n", None, ())


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_bytecode_is_known_by_its_magic(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(b"ML\xefR\x06rest")
    assert load_model(path).format == "mlirbc"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.onnx", b"", "the file is empty"),
        ("m.mlir", b"", "the file is empty"),
        ("m.mlirbc", b"", "the file is empty"),
        ("m.mlir", b" \n\t", "nothing but white space"),
        ("m.mlir", RELU.SerializeToString() + b"\xff", "neither MLIR text nor MLIR bytecode"),
        ("m.mlirbc", b"module {}", "is not MLIR bytecode"),
        ("m.onnx", b"ML\xefR\x06", "holds MLIR bytecode"),
        ("m.onnx", b"module {}", "not an ONNX model"),
        ("m.onnx", RELU.SerializeToString()[:-5], "not an ONNX model, or a truncated one"),
        ("m.onnx", b"\x08\x08", "no ONNX graph"),
        ("m.pt", b"x", "the suffix '.pt' is none of .onnx, .mlir, .mlirbc"),
        ("model", b"x", "the suffix '' is none of"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert message in refusal(path).message


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "none.onnx").message
    assert "directory" in refusal(tmp_path).message


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = save(RELU, tmp_path)
    path.chmod(0)
    assert "cannot be read" in refusal(path).message


def test_a_file_above_the_limit_of_protobuf_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.truncate(2**31)  # sparse: takes no room on disk
    error = refusal(path)
    assert "2 GB" in error.message
    assert error.hint is not None
    assert "external data" in error.hint


def test_a_name_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(RELU.SerializeToString().replace(b"Relu", b"R\xff\xfeu"))
    assert "UTF-8" in refusal(path).message


def test_a_graph_without_a_name_gets_one(tmp_path: Path) -> None:
    proto = onnx.ModelProto()
    proto.CopyFrom(RELU)
    proto.graph.name = ""
    assert prepared(load(proto, tmp_path)).graph.name == "main_graph"


def test_restoring_a_type_keeps_the_bytes() -> None:
    array = np.array([-1, 1], np.int8)
    restored = restore_dtype(array, TensorIO("y", (2,), "uint8"))
    assert restored.tolist() == [255, 1]
    assert np.shares_memory(array, restored)
    assert restore_dtype(array, TensorIO("y", (2,), "int8")) is array
    with pytest.raises(ValueError, match="declared float32"):
        restore_dtype(array, TensorIO("y", (2,), "float32"))
    with pytest.raises(ValueError, match="declared uint16"):
        restore_dtype(array, TensorIO("y", (2,), "uint16"))
