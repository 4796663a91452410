"""Which IREE this is, without loading it."""

from __future__ import annotations


def iree_version() -> str:
    """The version of the compiler in use."""
    from importlib.metadata import version  # noqa: PLC0415  (slow to import, needed once)

    return version("iree-base-compiler")
