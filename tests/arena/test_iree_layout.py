"""The prediction of stock's packing against IREE's own pass."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serenity_mlir.arena import check_plan
from serenity_mlir.arena.iree_layout import PackSlice, iree_layout
from serenity_mlir.liveness import Slice

CONFIG = """\
#config = #stream.resource_config<{{
  max_allocation_size = 1073741824, min_buffer_offset_alignment = {offset},
  max_buffer_range = 1073741824, min_buffer_range_alignment = {extent}, index_bits = 32}}>
module attributes {{stream.resources = #config}} {{
"""


def _pack(name: str, slices: list[PackSlice]) -> str:
    sizes = sorted({item.size for item in slices})
    constants = "\n".join(f"  %s{size} = arith.constant {size} : index" for size in sizes)
    entries = ",\n".join(f"    [{item.first}, {item.last}] = %s{item.size}" for item in slices)
    count = len(slices) + 1
    results = ", ".join(f"%p#{index}" for index in range(count))
    types = ", ".join(["index"] * count)
    return (
        f"func.func @{name}() -> ({types}) {{\n{constants}\n"
        f"  %p:{count} = stream.resource.pack slices({{\n{entries}\n  }}) : index\n"
        f"  return {results} : {types}\n}}\n"
    )


def _stock(problems: list[list[PackSlice]], offset: int, extent: int) -> list[list[int]]:
    """Total and offsets of each problem as IREE's pass returns them."""
    tool = shutil.which("iree-opt", path=str(Path(sys.executable).parent)) or shutil.which("iree-opt")
    if tool is None:
        pytest.skip("iree-opt is not installed")
    functions = "".join(_pack(f"f{index}", items) for index, items in enumerate(problems))
    done = subprocess.run(
        [tool, "--pass-pipeline=builtin.module(func.func(iree-stream-layout-slices))", "-"],
        input=CONFIG.format(offset=offset, extent=extent) + functions + "}\n",
        capture_output=True,
        text=True,
        check=True,
    )
    answers = []
    for body in done.stdout.split("func.func")[1:]:
        constants = {name: int(value) for name, value in re.findall(r"(%\w+) = arith.constant (\d+)", body)}
        returned = re.search(r"return (.*) :", body)
        assert returned is not None
        answers.append([constants[name] for name in returned[1].split(", ")])
    return answers


@pytest.mark.parametrize(("offset", "extent"), [(64, 64), (16, 64), (256, 64), (16, 1), (1, 16)])
def test_equals_the_stock_pass(offset: int, extent: int) -> None:
    rng = random.Random(offset * 1000 + extent)
    problems = []
    for count in [1, 2, 3, 5, 8, 13, 21, 34, 55] * 8:
        steps = rng.choice([3, 10, 40])
        firsts = [rng.randrange(steps) for _ in range(count)]
        problems.append(
            [PackSlice(first, first + rng.randrange(steps), rng.choice([0, 1, 64, rng.randrange(2000)]))
             for first in firsts]
        )  # fmt: skip
    for items, stock in zip(problems, _stock(problems, offset, extent), strict=True):
        plan = iree_layout(items, offset_alignment=offset, range_alignment=extent)
        assert [plan.size, *plan.offsets] == stock
        assert plan.lower_bound <= plan.size
        slices = [Slice(item.first, item.last + 1, item.size) for item in items]
        check_plan(slices, plan.offsets, plan.size, alignment=offset)


def test_empty() -> None:
    assert iree_layout([]).size == 0
