"""`--plot`: what the figure says, and that it says it again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from matplotlib.figure import Figure
from shown_cases import graph_of, shown_of

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.cli import main as cli
from serenity_mlir.sizes import kib_text, size_text
from serenity_mlir.views import Shown
from serenity_mlir.views.graphviz import dot
from serenity_mlir.views.node_data import node_data
from serenity_mlir.views.picture import picture
from serenity_mlir.views.trace import trace


@pytest.fixture(scope="module")
def shown() -> Shown:
    return shown_of(graph_of(40))


@pytest.fixture(scope="module")
def text(shown: Shown) -> str:
    return picture(shown, "svg").decode()


def test_peaks_arenas_and_bound_are_named(shown: Shown, text: str) -> None:
    (region,) = shown.regions
    for course, name in ((region.before, "file order"), (region.after, "as compiled")):
        assert f">{name}: peak {size_text(course.peak)} at step {course.peak_step}<" in text
        assert f">Arena, {name}: {size_text(course.arena or 0)}<" in text
        assert f">{name}: {size_text(course.peak)}<" in text
    assert f">lower bound: {size_text(shown.info(region).lower_bound or 0)}<" in text
    assert ">Peaks of 20 random legal orders (seed 0)<" in text
    assert "&lt;model&gt; &amp; more.onnx (generic)" in text


def test_every_buffer_is_a_box(shown: Shown, text: str) -> None:
    (region,) = shown.regions
    boxes = re.findall(r'id="PolyCollection_\d+">(.*?)</g>\n', text, re.DOTALL)
    assert len(region.before.buffers) == 40
    assert [box.count("<path") for box in boxes if box.count("<path") > 1][:2] == [40, 40]


def test_live_memory_is_drawn_as_it_is(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = Figure()

    def keep(fill: Callable[[Figure], None], *_: object, **__: object) -> bytes:
        fill(figure)
        return b""

    monkeypatch.setattr("serenity_mlir.views.picture.draw", keep)
    picture(shown, "svg")
    (region,) = shown.regions
    lines = [np.asarray(line.get_xydata()).tolist() for line in figure.axes[0].lines]
    for course, (line, mark) in zip((region.before, region.after), (lines[:2], lines[2:]), strict=True):
        assert line[:-1] == [[step, item.live / 1024] for step, item in enumerate(course.steps)]
        assert mark == [[(course.peak_step or 0) + 0.5, course.peak / 1024]]


def test_the_same_bytes_again(shown: Shown, text: str) -> None:
    assert picture(shown, "svg").decode() == text
    small = shown_of(graph_of(2))
    assert picture(small, "png") == picture(small, "png")


def test_three_thousand_ops_are_not_cluttered_with_names(text: str) -> None:
    large = picture(shown_of(graph_of(3000), drawn=1), "svg").decode()
    assert "Conv_" not in large
    assert "Conv_" in text
    assert len(large) < 4_000_000


def test_the_region_of_the_highest_peak_is_drawn(shown: Shown) -> None:
    (large,) = shown.regions
    (small,) = shown_of(graph_of(3)).regions
    both = (msgspec.structs.replace(small, name="small#0"), large)
    report = msgspec.structs.replace(shown.report, timeline=both)
    found = picture(replace(shown, report=report), "svg").decode()
    assert f"region {large.name}, which has the highest peak of 2" in found
    assert size_text(large.after.peak) in found


@pytest.mark.parametrize("draw", [partial(picture, form="svg"), trace, node_data, dot])
def test_nothing_to_draw(shown: Shown, draw: Callable[[Shown], bytes]) -> None:
    report = msgspec.structs.replace(shown.report, timeline=())
    with pytest.raises(SerenityError, match="no region of the model has constant sizes"):
        draw(Shown(report))


def test_many_models_have_no_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", str(tmp_path), "--plot", "p.svg"]) == 2
    assert "--plot is for one model" in capsys.readouterr().err


def test_no_such_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "absent.onnx", "--plot", str(tmp_path / "p.pdf")]) == 2
    assert "name a file .svg or .png" in capsys.readouterr().err


def test_sizes_are_in_bytes_and_kib() -> None:
    assert size_text(1_500_000) == "1,500,000 bytes (1,464.8 KiB)"
    assert kib_text(1536) == "1.5 KiB"
    assert size_text(1) == "1 byte (0.0 KiB)"
