"""The table of passes is complete, right, and costs nothing until it is used."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import serenity_mlir.dialect_passes
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.registry import PASSES, PREFIX, pass_class
from serenity_mlir.errors import UsageError


def defined_passes() -> dict[str, str]:
    """Each concrete pass in the package: its name to `module:Class`."""
    root = serenity_mlir.dialect_passes
    found = {}
    for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        for name, cls in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(cls, Pass) and not inspect.isabstract(cls) and cls.__module__ == module.name:
                found[cls.name] = f"{module.name}:{name}"
    return found


def test_table_is_complete_and_right() -> None:
    assert defined_passes() == PASSES


@pytest.mark.parametrize("name", sorted(PASSES))
def test_pass_is_well_formed(name: str) -> None:
    cls = pass_class(name)
    assert cls.name == name
    assert name.startswith(PREFIX)
    assert cls.summary().endswith(".")
    assert all(option.help for option in cls.options())
    assert cls.from_options(str(cls.from_options()).removeprefix(name).strip("{}")) == cls.from_options()


def test_wrong_name_gets_a_suggestion() -> None:
    with pytest.raises(UsageError) as caught:
        pass_class("serenity-shedule-tensors")
    assert "did you mean 'serenity-schedule-tensors'?" in str(caught.value)
    assert all(name in str(caught.value) for name in PASSES)


def test_import_loads_no_bindings() -> None:
    code = "import sys, serenity_mlir.dialect_passes.registry; print('iree.compiler' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
