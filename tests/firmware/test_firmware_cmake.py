"""The library as CMake and Zephyr take it, and the example that is built that way."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from corpus import REPO
from firmware_harness import compile_firmware, target_named
from small_networks import write_float, write_int8

PROJECT = """\
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C)
{how}
add_executable(user user.c)
target_link_libraries(user PRIVATE net::net)
"""
USER = """\
#include <stdio.h>
#include "net.h"
static unsigned char arena[net_ARENA_BYTES] __attribute__((aligned(net_ARENA_ALIGN)));
int main(void) {
  net_context_t context;
  net_status_t status = net_init(&context, arena, sizeof arena);
  if (status == net_OK) {
    status = net_invoke(&context);
  }
  puts(net_status_string(status));
  return status;
}
"""
# What Zephyr's build defines for modules, and does with them: libraries whole, unneeded sections removed.
ZEPHYR = """\
cmake_minimum_required(VERSION 3.13)
project(zephyr LANGUAGES C)
add_library(zephyr_interface INTERFACE)
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${{name}})
  add_library(${{name}} STATIC "")
  set_property(GLOBAL APPEND PROPERTY ZEPHYR_LIBS ${{name}})
  target_link_libraries(${{name}} PUBLIC zephyr_interface)
endmacro()
function(zephyr_library_sources source)
  target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{source}} ${{ARGN}})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${{ARGV}})
endfunction()
function(zephyr_link_libraries)
  target_link_libraries(zephyr_interface INTERFACE ${{ARGV}})
endfunction()
set(CONFIG_SERENITY_NET {config})
add_subdirectory("{module}/{cmake}" module)
get_property(libraries GLOBAL PROPERTY ZEPHYR_LIBS)
add_executable(user user.c)
target_link_libraries(user PRIVATE -Wl,--whole-archive ${{libraries}} -Wl,--no-whole-archive)
target_link_libraries(user PRIVATE -Wl,--gc-sections zephyr_interface)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cmake") is None:
        pytest.skip("no cmake: apt-get install cmake")
    target_named("host")
    folder = tmp_path_factory.mktemp("library")
    return compile_firmware(write_float(folder / "m.onnx"), "host", folder / "net")


def call(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "how",
    ['add_subdirectory("{net}" net)', 'find_package(net CONFIG REQUIRED PATHS "{net}" NO_DEFAULT_PATH)'],
)
def test_cmake_projects_take_the_folder(how: str, library: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(how=how.format(net=library)))
    (tmp_path / "user.c").write_text(USER)
    call("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    call("cmake", "--build", tmp_path / "build")
    assert call(tmp_path / "build" / "user") == "done\n"


def test_zephyr_builds_the_module(library: Path, tmp_path: Path) -> None:
    described = dict(
        line.strip().split(": ") for line in (library / "zephyr" / "module.yml").read_text().splitlines()[2:]
    )
    assert set(described) == {"cmake", "kconfig"}
    kconfig = (library / described["kconfig"]).read_text()
    assert kconfig.startswith("config SERENITY_NET\n\tbool ")
    (tmp_path / "user.c").write_text(USER)
    text = ZEPHYR.format(config="y", module=library, cmake=described["cmake"])
    (tmp_path / "CMakeLists.txt").write_text(text)
    call("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    call("cmake", "--build", tmp_path / "build")
    assert call(tmp_path / "build" / "user") == "done\n"


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        ("cortex-m4f", ["depends on CPU_HAS_FPU", "select FPU", "select REQUIRES_FULL_LIBC"]),
        ("riscv32-imac", ["select REQUIRES_FULL_LIBC"]),
    ],
)
def test_zephyr_is_told_what_a_board_must_have(target: str, lines: list[str], tmp_path: Path) -> None:
    library = compile_firmware(write_int8(tmp_path / "m.onnx"), target, tmp_path / "net")
    kconfig = (library / "zephyr" / "Kconfig").read_text().splitlines()
    assert [line.strip() for line in kconfig if line.strip().startswith(("depends", "select"))] == lines


def test_metadata_says_what_is_there(library: Path) -> None:
    said = json.loads((library / "metadata.json").read_text())
    assert said["format"] == "serenity-firmware"
    (entry,) = said["entries"]
    (given,) = entry["inputs"]
    assert (given["name"], given["shape"], given["dtype"]) == ("x", [1, 3, 12, 12], "float32")
    assert given["bytes"] == 4 * 3 * 12 * 12
    places = {item["name"]: item for item in said["arena_map"]}
    assert places["input 0"]["offset"] == given["arena_offset"]
    assert places["output 0"]["offset"] == entry["outputs"][0]["arena_offset"]
    ends = [item["offset"] + item["bytes"] for item in said["arena_map"]]
    assert max(ends) == said["memory"]["arena"]
    for one in said["arena_map"]:
        for other in said["arena_map"]:
            if one is not other and one["first"] < other["end"] and other["first"] < one["end"]:
                assert (
                    one["offset"] + one["bytes"] <= other["offset"]
                    or other["offset"] + other["bytes"] <= one["offset"]
                )
    assert set(said["files"]) == {
        str(path.relative_to(library)) for path in library.rglob("*") if path.is_file()
    } - {"metadata.json"}


def test_example(tmp_path: Path) -> None:
    target_named("cortex-m7")
    if shutil.which("cmake") is None:
        pytest.skip("no cmake: apt-get install cmake")
    said = call(sys.executable, REPO / "examples" / "firmware" / "run.py", "--output", tmp_path)
    expected, found = said.splitlines()[-2:]
    assert expected.removeprefix("onnxruntime:").split() == found.removeprefix("the board:").split()
    assert len(found.split()) == 2 + 4
