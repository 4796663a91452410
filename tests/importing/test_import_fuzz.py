"""Damaged ONNX files give a model or a SerenityError, never another exception."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from onnx import TensorProto, helper
from small_models import model, value, weight

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.importing.load import load_model

if TYPE_CHECKING:
    from pathlib import Path

MUTANTS = 200


def whole() -> onnx.ModelProto:
    """A model with something of everything: weights, a subgraph, a function, a Mean, a pool, an old opset."""
    branch = helper.make_graph([helper.make_node("Neg", ["c"], ["b"])], "branch", [], [value("b", None)])
    other = helper.make_graph([helper.make_node("Exp", ["c"], ["e"])], "other", [], [value("e", None)])
    function = helper.make_function(
        "mine", "Clip", ["a"], ["r"], [helper.make_node("Relu", ["a"], ["r"])], [helper.make_opsetid("", 11)]
    )
    nodes = [
        helper.make_node(
            "Conv", ["x", "w", "bias"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], name="conv"
        ),
        helper.make_node("If", ["p"], ["i"], then_branch=branch, else_branch=other, name="if"),
        helper.make_node("Mean", ["c", "i", "c", "c"], ["m"], name="mean"),
        helper.make_node(
            "MaxPool", ["m"], ["q"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, name="pool"
        ),
        helper.make_node("Unsqueeze", ["q"], ["u"], axes=[0], name="unsqueeze"),
        helper.make_node("Clip", ["u"], ["y"], domain="mine", name="call"),
    ]
    return model(
        nodes,
        [value("x", [1, 3, 5, 5]), value("p", [], TensorProto.BOOL)],
        [value("y", [1, 1, 4, 3, 3])],
        [weight("w", [[[[1] * 3] * 3] * 3] * 4), weight("bias", [0, 1, 2, 3])],
        opset=11,
        opset_imports=[helper.make_opsetid("", 11), helper.make_opsetid("mine", 1)],
        functions=[function],
    )


def messages(root: Any) -> list[Any]:
    """The message and all that are nested in it."""
    found = [root]
    for message in found:
        for field, content in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                found.extend(content if field.is_repeated else [content])
    return found


def mutant(data: bytes, dice: random.Random) -> bytes:
    """`data` with bytes flipped, an end cut off, or fields dropped, doubled or changed."""
    kind = dice.randrange(4)
    if kind == 0:
        changed = bytearray(data)
        for _ in range(dice.randrange(1, 9)):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        return bytes(changed)
    if kind == 1:
        return data[: dice.randrange(len(data))]
    proto = onnx.ModelProto()
    proto.ParseFromString(data)
    for _ in range(dice.randrange(1, 4)):
        message = dice.choice(messages(proto))
        fields = message.ListFields()
        if not fields:
            continue
        field, content = dice.choice(fields)
        if field.is_repeated and kind == 2:
            del content[dice.randrange(len(content))]
        elif field.is_repeated:
            content.append(content[dice.randrange(len(content))])
        elif field.type in (field.TYPE_INT32, field.TYPE_INT64) and kind == 3:
            setattr(message, field.name, dice.choice([-1, 0, 1, 7, 2**31 - 1, -(2**31)]))
        else:
            message.ClearField(field.name)
    return bytes(proto.SerializeToString())


def test_the_model_itself_loads(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(whole().SerializeToString())
    assert not load_model(path).notes


@pytest.mark.parametrize("part", range(4))
def test_damage_is_refused_or_harmless(tmp_path: Path, part: int) -> None:
    data = whole().SerializeToString()
    path = tmp_path / "m.onnx"
    loaded = refused = 0
    for seed in range(part * MUTANTS // 4, (part + 1) * MUTANTS // 4):
        path.write_bytes(mutant(data, random.Random(seed)))
        try:
            load_model(path)
            loaded += 1
        except SerenityError as error:
            refused += error.file == str(path)
    assert loaded + refused == MUTANTS // 4  # every refusal names the file
    # Both happen, or the mutants are too wild or too tame to show anything.
    assert min(loaded, refused) >= 3
