"""Fixtures and settings that every test shares."""

from __future__ import annotations

import os
from pathlib import Path

import corpus
import pytest
from hypothesis import settings

# A deadline measures the machine, not the code. CI tries the same examples each time; people's
# machines look for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `../shared`; the test is skipped where it is absent."""
    if not corpus.SHARED.is_dir():
        pytest.skip(corpus.NO_SHARED)
    return corpus.SHARED


@pytest.fixture(scope="session")
def onnx_light_models() -> list[Path]:
    """The onnx package's light models, sorted by name."""
    return corpus.onnx_light_models()
