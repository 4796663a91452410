"""The architecture, as tests: who may import what, who prints, how long a file may be."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from corpus import REPO

# The import name of each source tree; setuptools maps the last two into the package.
TREES = {
    "serenity_mlir": "serenity_mlir",
    "serenity_mlir.dialect_passes": "dialect_passes",
    "serenity_mlir.pipelines": "pipelines",
}
BINDINGS = (
    "iree.compiler.ir",
    "iree.compiler.passmanager",
    "iree.compiler.rewrite",
    "iree.compiler.dialects",
)
MAY_WRITE = (
    "serenity_mlir/console.py",
    "pipelines/cli/",
    # What takes the place of a tool of MLIR's or IREE's writes where that tool does.
    "pipelines/opt.py",
    "pipelines/iree_compile.py",
    "pipelines/dropin/",
    "pipelines/tools.py",
    "pipelines/dump_statistics.py",
)
FACADE = "serenity_mlir/__init__.py"
MODULE_NAME = re.compile(r"(iree|mlir|serenity_mlir)(\.\w+)+(:\w+)?")  # as registries write it
MAX_LINES = 400


@dataclass(frozen=True)
class Source:
    """A module of the product: its path from the checkout, its import name, its syntax tree."""

    path: str
    module: str
    tree: ast.Module


@cache
def sources(tree: str | None = None) -> tuple[Source, ...]:
    """The modules under `tree`, a key of TREES; all of them by default."""
    names = TREES if tree is None else (tree,)
    found = [_parse(path, name) for name in names for path in sorted((REPO / TREES[name]).rglob("*.py"))]
    assert found, f"no source under {names}"
    return tuple(found)


def _parse(path: Path, package: str) -> Source:
    inside = path.relative_to(REPO / TREES[package]).with_suffix("").parts
    module = ".".join((package, *inside)).removesuffix(".__init__")
    return Source(str(path.relative_to(REPO)), module, ast.parse(path.read_text("utf-8"), str(path)))


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Line and absolute name of all that `source` imports, registries of module names included."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                parents = source.module.split(".")
                is_package = source.path.endswith("__init__.py")
                prefix = parents[: len(parents) - level + is_package] if level else []
                base = ".".join((*prefix, *filter(None, [base])))
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
            case ast.Constant(value=str(text)) if MODULE_NAME.fullmatch(text):
                yield node.lineno, text


def offenders(tree: str | None, forbidden: tuple[str, ...], allowed: tuple[str, ...] = ()) -> list[str]:
    """`file:line imports name` for each import of a forbidden package outside the allowed files."""
    return [
        f"{source.path}:{line} imports {name}"
        for source in sources(tree)
        if source.path not in allowed
        for line, name in imports(source)
        if any(name == package or name.startswith(f"{package}.") for package in forbidden)
    ]


def test_core_knows_no_compiler() -> None:
    higher = ("iree", "mlir", "serenity_mlir.dialect_passes", "serenity_mlir.pipelines")
    assert not offenders("serenity_mlir", higher, allowed=(FACADE,))


def test_facade_knows_one_module_above_it() -> None:
    """Decision 0011: `serenity_mlir` itself names what programs call, and loads it when it is used."""
    (facade,) = (source for source in sources("serenity_mlir") if source.path == FACADE)
    above = {name for _, name in imports(facade) if name.startswith("serenity_mlir.pipelines")}
    assert {".".join(name.split(".")[:3]) for name in above} == {"serenity_mlir.pipelines.api"}
    assert not offenders("serenity_mlir", ("iree", "mlir", "serenity_mlir.dialect_passes"))


def test_passes_know_no_pipeline() -> None:
    assert not offenders("serenity_mlir.dialect_passes", ("serenity_mlir.pipelines",))


def test_one_module_owns_the_compiler_c_api() -> None:
    assert not offenders(None, ("iree.compiler.api",), allowed=("pipelines/iree_api.py",))


def test_one_module_is_the_door_to_the_bindings() -> None:
    assert not offenders(None, BINDINGS, allowed=("dialect_passes/mlir.py",))


def test_product_imports_nothing_from_the_rest_of_the_checkout() -> None:
    assert not offenders(None, ("tests", "corpus", "conftest", "examples", "benchmarks", "tools", "pytest"))


def printing(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of each expression that writes to the terminal or takes hold of it."""
    for node in ast.walk(source.tree):
        match node:
            case (
                ast.Call(func=ast.Name(id="print" | "Console")) | ast.Call(func=ast.Attribute(attr="Console"))
            ):
                yield node.lineno, ast.unparse(node.func)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="click"), attr="echo" | "secho")):
                yield node.lineno, ast.unparse(node.func)
            case ast.Attribute(
                value=ast.Name(id="sys"), attr="stdout" | "stderr" | "__stdout__" | "__stderr__"
            ):
                yield node.lineno, ast.unparse(node)


def test_only_the_console_and_the_command_lines_print() -> None:
    found = [
        f"{source.path}:{line} {what}"
        for source in sources()
        if not source.path.startswith(MAY_WRITE)
        for line, what in printing(source)
    ]
    assert not found


def test_even_the_command_lines_do_not_call_print() -> None:
    found = [
        f"{source.path}:{line}"
        for source in sources()
        if source.path != "serenity_mlir/console.py"
        for line, what in printing(source)
        if what == "print"
    ]
    assert not found


def test_no_file_is_long() -> None:
    folders = (*TREES.values(), "tests", "examples", "benchmarks", "tools", "lit_tests")
    files = [path for folder in folders for kind in ("*.py", "*.sh") for path in (REPO / folder).rglob(kind)]
    lengths = {str(path.relative_to(REPO)): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {path: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def test_wheel_lists_every_package() -> None:
    setuptools = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    folders = {Path(source.path).parent for source in sources()}
    assert [folder for folder in folders if not (REPO / folder / "__init__.py").is_file()] == []
    packages = {source.module for source in sources() if source.path.endswith("__init__.py")}
    assert set(setuptools["packages"]) == packages
    assert {name: setuptools["package-dir"].get(name) for name in TREES} == TREES


@pytest.mark.parametrize("module", ["", ".pipelines.cli.contained", ".pipelines.cli.main"])
def test_import_is_light(module: str) -> None:
    heavy = ("bokeh", "iree", "matplotlib", "numpy", "onnx", "onnxruntime", "ortools", "torch")
    code = f"import sys; import serenity_mlir{module}\nprint(*sorted(sys.modules.keys() & set({heavy!r})))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
