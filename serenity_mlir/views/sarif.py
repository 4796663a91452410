"""Findings as SARIF 2.1.0 (OASIS), which build servers show beside the code.

A model has no lines; a finding is at the model's file, and its logical locations are the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import msgspec

from serenity_mlir import __version__
from serenity_mlir.diff import Difference
from serenity_mlir.report import Report
from serenity_mlir.views.diff_rows import growth_text

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "ram-budget": "The model needs more RAM than its budget.",
    "rom-budget": "The model's constants and code take more ROM than its budget.",
    "memory-regression": "The model needs more than it did, beyond the tolerance.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend.

    Attributes:
        rule: A key of `RULES`.
        message: What it is, with figures.
        file: The model.
        nodes: The model's nodes that it is about.
    """

    rule: str
    message: str
    file: str
    nodes: tuple[str, ...]


def regressions(found: Difference, report: Report) -> list[Finding]:
    """A finding for each figure that regressed, at the nodes of the new peak."""
    nodes = () if report.peak is None else tuple(report.peak.nodes)
    return [
        Finding("memory-regression", growth_text(item), report.model.path, nodes)
        for item in found.regressions
    ]


def sarif(findings: Sequence[Finding]) -> bytes:
    """A SARIF log of one run, without results where there is nothing to mend."""
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    driver = {"name": "serenity", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(item) for item in findings]}
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def _result(item: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(item.file)}},
    }
    if item.nodes:
        location["logicalLocations"] = [{"name": node, "kind": "element"} for node in item.nodes]
    return {
        "ruleId": item.rule,
        "ruleIndex": list(RULES).index(item.rule),
        "level": "error",
        "message": {"text": item.message},
        "locations": [location],
    }


def _uri(file: str) -> str:
    """A URI, absolute or relative, of a path."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
