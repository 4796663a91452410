"""Ops of the `hal` dialect: what each becomes, and which are refused."""

from __future__ import annotations

import pytest

from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.firmware.constant_bytes import constant_bytes
from serenity_mlir.pipelines.firmware.hal_values import Bytes, RawCopy, RawDispatch, RawFill, Slot
from serenity_mlir.pipelines.firmware.hal_walk import RawEntry, walk

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i64
  %flags = arith.constant 0 : i32
  %word = arith.constant -2 : i32
  %byte = arith.constant -1 : i8
  %device = hal.devices.get %c0 : !hal.device
  %none = util.null : !hal.fence
  %f = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  %element = hal.element_type<f32> : i32
  %encoding = hal.encoding_type<dense_row_major> : i32
  hal.buffer_view.assert<%view : !hal.buffer_view> message("x") shape([%c4, %c4])
    type(%element) encoding(%encoding)
  %x = hal.buffer_view.buffer<%view : !hal.buffer_view> : !hal.buffer
  %type = hal.memory_type<"DeviceLocal"> : i32
  %usage = hal.buffer_usage<"DispatchStorage"> : i32
  %y = hal.device.queue.alloca<%device : !hal.device> affinity(%zero) wait(%none) signal(%f) pool(%zero)
    type(%type) usage(%usage) flags("None") : !hal.buffer{%c64}
  %data = util.buffer.constant : !util.buffer = dense<[1, 2, 3, 4]> : tensor<4xi32>
"""
TAIL = """
  %out = hal.buffer_view.create buffer(%y : !hal.buffer)[%c0, %c64] shape([%c4, %c4]) type(%element)
    encoding(%encoding) : !hal.buffer_view
  util.return %out : !hal.buffer_view
"""
QUEUE = "<%device : !hal.device> affinity(%zero) wait(%none) signal(%f)"


def walked(body: str) -> RawEntry:
    text = f"util.func public @main(%view: !hal.buffer_view) -> !hal.buffer_view {{{HEAD}{body}{TAIL}}}"
    with make_context(allow_unregistered=True):
        module = ir.Module.parse(text)
        (entry,) = walk(module.operation, file="m.mlir")
    return entry


def place(entry: RawEntry, slot: Slot) -> tuple[str, int, int]:
    assert isinstance(slot.base, Bytes)
    return slot.base.storage.kind, slot.base.offset + slot.offset, slot.length


def test_queue_fill() -> None:
    entry = walked(
        f"hal.device.queue.fill{QUEUE} target(%y : !hal.buffer)[%c8] length(%c16) "
        'pattern(%word : i32) flags("None")'
    )
    (fill,) = entry.commands
    assert isinstance(fill, RawFill)
    assert place(entry, fill.target) == ("allocation", 8, 16)
    assert fill.pattern == b"\xfe\xff\xff\xff"


def test_queue_copy() -> None:
    entry = walked(
        f"hal.device.queue.copy{QUEUE} source(%x : !hal.buffer)[%c4] target(%y : !hal.buffer)[%c8] "
        'length(%c16) flags("None")'
    )
    (copy,) = entry.commands
    assert isinstance(copy, RawCopy)
    assert place(entry, copy.source) == ("input", 4, 16)
    assert place(entry, copy.target) == ("allocation", 8, 16)


@pytest.mark.parametrize(
    "body",
    [
        f"hal.device.queue.update{QUEUE} source(%data : !util.buffer)[%c4] target(%y : !hal.buffer)[%c8] "
        'length(%c2) flags("None")',
        """%file = hal.ex.file.from_memory device(%device : !hal.device) affinity(%zero) access(Read)
             buffer(%data : !util.buffer)[%c0 for %c16] flags(%flags) : !hal.file
           %four = arith.constant 4 : i64
        """
        + f"hal.device.queue.read{QUEUE} source(%file : !hal.file)[%four] target(%y : !hal.buffer)[%c8] "
        'length(%c2) flags("None")',
    ],
)
def test_constants_are_copied(body: str) -> None:
    entry = walked(body)
    (copy,) = entry.commands
    assert isinstance(copy, RawCopy)
    assert place(entry, copy.source) == ("constant", 4, 2)
    assert place(entry, copy.target) == ("allocation", 8, 2)


def test_command_buffers_and_their_slots() -> None:
    entry = walked(
        """
  %cmd = hal.command_buffer.create device(%device : !hal.device) mode("None") categories("Transfer|Dispatch")
    affinity(%zero) bindings(%c2) : !hal.command_buffer
  hal.command_buffer.update_buffer<%cmd : !hal.command_buffer> source(%data : !util.buffer{%c16})[%c4]
    target(%c1 : index)[%c8] length(%c4) flags("None")
  hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%c0 : index)[%c2]
    target(%y : !hal.buffer)[%c4] length(%c8) flags("None")
  hal.command_buffer.finalize<%cmd : !hal.command_buffer>
  hal.device.queue.execute.indirect<%device : !hal.device> affinity(%zero) wait(%none) signal(%f)
    commands(%cmd) bindings([(%x : !hal.buffer)[%c16, %c16], (%y : !hal.buffer)[%c8, %c16]]) flags("None")
  hal.device.queue.fill<%device : !hal.device> affinity(%zero) wait(%none) signal(%f)
    target(%y : !hal.buffer)[%c0] length(%c4) pattern(%byte : i8) flags("None")
"""
    )
    update, copy, fill = entry.commands
    assert isinstance(update, RawCopy)
    assert place(entry, update.source) == ("constant", 4, 4)
    assert place(entry, update.target) == ("allocation", 16, 4)
    assert isinstance(copy, RawCopy)
    assert place(entry, copy.source) == ("input", 18, 8)
    assert isinstance(fill, RawFill)
    assert fill.pattern == b"\xff"
    assert not any(isinstance(command, RawDispatch) for command in entry.commands)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("%n = hal.buffer_view.dim<%view : !hal.buffer_view>[0] : index", "known only at run time"),
        ("%n = hal.buffer.load<%x : !hal.buffer>[%c0] : i32", "depend on data"),
        ('%n = "some.op"() : () -> i32', "the op some.op"),
        ("%n = arith.constant 1.5 : f32", "a scalar 1.5"),
    ],
)
def test_refusals_name_the_op(body: str, what: str) -> None:
    with pytest.raises(SerenityError, match=what) as error:
        walked(body)
    assert "m.mlir" in str(error.value)


def read(value: str, resources: str = "") -> bytes:
    constant = f"%c = util.buffer.constant : !util.buffer = {value}"
    text = f"util.func private @f() {{ {constant}\nutil.return }}\n{resources}"
    module = ir.Module.parse(text)
    (made, _) = module.body.operations[0].regions[0].blocks[0].operations
    return constant_bytes(made.operation)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("dense<[1, -2]> : tensor<2xi16>", b"\x01\x00\xfe\xff"),
        ("dense<7> : tensor<3xi8>", b"\x07\x07\x07"),
        ('dense<"0x0102030405060708"> : tensor<2xi32>', bytes(range(1, 9))),
        ('dense<"0x0000803F00000040"> : tensor<1x2xf32>', b"\x00\x00\x80\x3f\x00\x00\x00\x40"),
        (
            "#util.composite<6xi8, [dense<[1, 2]> : tensor<2xi8>, dense<0> : vector<4xi8>]>",
            b"\x01\x02\0\0\0\0",
        ),
    ],
)
def test_bytes_of_constants(value: str, expected: bytes) -> None:
    with make_context():
        assert read(value) == expected


def test_bytes_of_resources() -> None:
    resources = '{-# dialect_resources: {builtin: {blob: "0x040000000102030405060708"}} #-}'
    value = "#util.composite<12xi8, [dense_resource<blob> : tensor<2xi32>, dense<0> : vector<4xi8>]>"
    with make_context():
        assert read(value, resources) == bytes([*range(1, 9), 0, 0, 0, 0])


@pytest.mark.parametrize("value", ["dense<[1, 2]> : tensor<2xi4>", "dense<1.0> : tensor<2xbf16>"])
def test_constants_that_are_refused(value: str) -> None:
    with make_context(), pytest.raises(SerenityError, match=value[-4:-1].strip("x")):
        read(value)
