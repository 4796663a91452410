"""The `train` extra: PyTorch, which nothing outside of this folder needs."""

from __future__ import annotations

from serenity_mlir.errors import SerenityError


def require_torch(purpose: str) -> None:
    """Says how to get PyTorch where it is not installed.

    Args:
        purpose: What needs it, as the subject of a sentence.

    Raises:
        SerenityError: PyTorch is not installed.
    """
    try:
        import torch  # noqa: F401, PLC0415  (an extra)
    except ImportError as error:
        raise SerenityError(f"{purpose} needs PyTorch", hint="pip install 'serenity-mlir[train]'") from error
