"""Where tests find models: the onnx package's, and ../shared where the checkout has one beside it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

REPO = Path(__file__).resolve().parent.parent
SHARED = REPO.parent / "shared"
NO_SHARED = f"{SHARED} is absent: it holds models and cases that are not part of this repository"


def onnx_light_models() -> list[Path]:
    """The onnx package's `light_*.onnx`: real topologies whose weights are made up when run."""
    spec = find_spec("onnx")  # found, not imported: collecting tests stays quick
    assert spec is not None
    assert spec.origin is not None
    models = sorted((Path(spec.origin).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))
    assert models, "the onnx package ships no light models any more"
    return models


def shared_models() -> list[ParameterSet]:
    """`pytest.param(path)` for each `../shared/models/*.onnx`; one skipped parameter where it is absent."""
    return _shared_params("models", "*.onnx")


def shared_cases() -> list[ParameterSet]:
    """`pytest.param(folder)` for each of `../shared/cases/*/`; one skipped parameter where it is absent."""
    return _shared_params("cases", "*/")


def _shared_params(folder: str, pattern: str) -> list[ParameterSet]:
    if not SHARED.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason=NO_SHARED), id="no-shared")]
    found = sorted((SHARED / folder).glob(pattern))
    assert found, f"{SHARED / folder} holds no {pattern}"
    return [pytest.param(path, id=path.stem) for path in found]
