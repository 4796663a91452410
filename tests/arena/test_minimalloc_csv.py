"""Reading and writing minimalloc's CSV files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serenity_mlir.arena.minimalloc_csv import Record, read_csv, to_csv
from serenity_mlir.errors import SerenityError
from serenity_mlir.liveness import Slice

names = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=8).filter(
    lambda name: name == name.strip()
)
records = st.builds(
    lambda name, start, length, size, offset: Record(name, Slice(start, start + length, size), offset),
    names,
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 2**40),
    st.integers(0, 2**40),
)


@given(st.lists(records, max_size=5, unique_by=lambda item: item.name), st.booleans())
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, items: list[Record], with_offsets: bool
) -> None:
    if not with_offsets:
        items = [Record(item.name, item.slice) for item in items]
    path = tmp_path_factory.mktemp("csv") / "plan.csv"
    path.write_bytes(to_csv(items).encode())
    assert read_csv(path) == items


def test_text_is_minimallocs_own() -> None:
    text = to_csv([Record("b1", Slice(0, 3, 4), 8), Record("b2", Slice(3, 9, 4), 8)])
    assert text == "id,lower,upper,size,offset\nb1,0,3,4,8\nb2,3,9,4,8\n"


def test_columns_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text("size,id,upper,lower\r\n4,b1,3,0\r\n\r\n")
    assert read_csv(path) == [Record("b1", Slice(0, 3, 4))]


def test_spaces_around_fields(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text("id, lower , upper,\tsize\nb 1, 0,3 , +4\n  \n b2 ,-1, 0,2\n")
    assert read_csv(path) == [Record("b 1", Slice(0, 3, 4)), Record("b2", Slice(-1, 0, 2))]


@pytest.mark.parametrize(
    "text",
    [
        "buffer_id,start,end,size\nb1,0,2,4\n",
        "buffer,begin,upper,size\nb1,0,3,4\n",
        "\ufeffid,lower,end,size\nb1,0,2,4\n",
    ],
)
def test_other_names_that_minimalloc_reads(tmp_path: Path, text: str) -> None:
    """`end` is the last step at which a buffer is live, `upper` the one after."""
    path = tmp_path / "plan.csv"
    path.write_text(text, encoding="utf-8")
    assert read_csv(path) == [Record("b1", Slice(0, 3, 4))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no column 'id'"),
        ("id,lower,upper\n", "line 1: there is no column 'size'"),
        ("id,lower,last,size\n", "line 1: there is no column 'upper'"),
        ("id,lower,upper,end,size\n", "line 1: column 'upper' is repeated"),
        ("id,lower,upper,size,gaps\n", "line 1: unknown column 'gaps'"),
        ("id,lower,upper,size,size\n", "line 1: column 'size' is repeated"),
        ("id,lower,upper,size\na,0,1,2\nb,0,1\n", "line 3: 3 fields for 4 columns"),
        ("id,lower,upper,size\na,0,x,2\n", "line 2: upper 'x' is not an integer"),
        ("id,lower,upper,size\na,0,1,1_0\n", "line 2: size '1_0' is not an integer"),
        ("id,lower,upper,size\na,0,1,\u0661\n", "line 2: size '\u0661' is not an integer"),
        (f"id,lower,upper,size\na,0,1,{'9' * 5000}\n", "line 2: size has more than 100 digits"),
        ("id;lower;upper;size\na;0;1;2\n", "line 1: fields are separated by semicolons, not by commas"),
        ("id\tlower\tupper\tsize\n", "line 1: fields are separated by tabs, not by commas"),
        ("id,lower,upper,size\na,0,1,2\n\na ,1,2,3\n", "line 4: id 'a' is that of line 2 already"),
        ("id,lower,upper,size\na,5,4,2\n", "line 2: upper 4 is before lower 5"),
        ("id,lower,upper,size\na,0,1,-2\n", "line 2: size -2 is negative"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SerenityError) as caught:
        read_csv(path)
    assert str(caught.value).splitlines()[0] == f"{path}: {message}"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\0")
    for path in (tmp_path / "absent.csv", tmp_path, tmp_path / "binary.csv"):
        with pytest.raises(SerenityError, match=r"cannot be read|not UTF-8"):
            read_csv(path)
    (tmp_path / "long.csv").write_text("x" * 200_000)
    with pytest.raises(SerenityError, match=r"long.csv: is no CSV"):
        read_csv(tmp_path / "long.csv")


def test_offsets_for_some_only() -> None:
    with pytest.raises(ValueError, match="some records"):
        to_csv([Record("a", Slice(0, 1, 1), 0), Record("b", Slice(0, 1, 1))])
