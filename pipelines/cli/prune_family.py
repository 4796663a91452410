"""`serenity prune --variants` and `--budgets`: several nested variants in one artefact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from serenity_mlir.errors import UsageError
from serenity_mlir.reform.budgets import KINDS, Amount, Kind

if TYPE_CHECKING:
    from serenity_mlir.pipelines.compile import CompileOptions
    from serenity_mlir.pipelines.reform.prune import Pruned
    from serenity_mlir.reform.report import PruneReport

FORMATS = (".vmfb", ".mlirbc")
_HINT = (
    '[{"name": "large", "macs": "80%"}, {"name": "small", "macs": "40%", "ram": 40000}], the largest first'
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Variants that are asked for, the largest first.

    Attributes:
        names: Of their functions.
        budgets: Of each.
    """

    names: Sequence[str]
    budgets: Sequence[Mapping[Kind, Amount]]


def family_options(command: Any) -> Any:
    """`--variants` and `--budgets`."""
    command = click.option(
        "--budgets",
        "budgets_file",
        type=click.Path(path_type=Path),
        metavar="FILE.json",
        help="Variants by their budgets, the largest first, in one artefact.",
    )(command)
    return click.option(
        "--variants",
        type=click.IntRange(min=2),
        metavar="N",
        help="So many variants in one artefact, evenly from the unpruned model to the budgets.",
    )(command)


def wanted(given: Mapping[Kind, Amount], variants: int | None, file: Path | None) -> Wanted | None:
    """The variants that a command line asks for; None where it asks for one model.

    Raises:
        UsageError: Options contradict each other, or the file does not list budgets.
    """
    if file is not None:
        if given or variants is not None:
            raise UsageError("--budgets gives all budgets", hint="leave out --variants and --budget-…")
        return _read(file)
    if variants is None:
        return None
    steps = [index / (variants - 1) for index in range(variants)]
    return Wanted(
        [f"v{index}" for index in range(variants)],
        [{kind: replace(amount, towards=step) for kind, amount in given.items()} for step in steps],
    )


def family_artefact(
    model: Path, pruned: Pruned, names: Sequence[str], output: Path, options: CompileOptions
) -> tuple[bytes, PruneReport]:
    """The variants as one module, and the report with what it takes.

    Raises:
        SerenityError: The variants cannot be compiled together.
    """
    from serenity_mlir.pipelines.reform.family import compile_family, nest  # noqa: PLC0415  (heavy)
    from serenity_mlir.pipelines.reform.onnx_network import load  # noqa: PLC0415  (heavy)
    from serenity_mlir.reform.groups import channel_groups  # noqa: PLC0415
    from serenity_mlir.reform.report import FamilyInfo  # noqa: PLC0415
    from serenity_mlir.reform.uniform import whole_masks  # noqa: PLC0415

    options.progress("compile the variants together")
    source, network = load(model)
    groups = channel_groups(network)
    family = nest(source, [whole_masks(groups, variant.masks) for variant in pruned.variants], names)
    compiled = compile_family(family, options)
    info = FamilyInfo(
        weights=(compiled.largest.weights, compiled.artefact.weights),
        code=(compiled.largest.code, compiled.artefact.code),
        slice_copies=compiled.slice_copies,
        copied=compiled.copied,
    )
    report = msgspec.structs.replace(pruned.report, family=info)
    return (compiled.artefact.data if output.suffix == ".vmfb" else family.bytecode), report


def _read(file: Path) -> Wanted:
    try:
        entries = msgspec.json.decode(file.read_bytes(), type=list[dict[str, str | float]])
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", file=str(file)) from error
    except msgspec.DecodeError as error:
        raise UsageError(f"no list of budgets: {error}", file=str(file), hint=_HINT) from error
    if not entries:
        raise UsageError("lists no variant", file=str(file), hint=_HINT)
    names = [str(entry.get("name", f"v{index}")) for index, entry in enumerate(entries)]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UsageError(
            f"two variants have the name '{twice[0]}'", file=str(file), hint="give each a name of its own"
        )
    budgets = [_amounts(entry, name, file) for entry, name in zip(entries, names, strict=True)]
    for (larger, smaller), name in zip(pairwise(budgets), names[1:], strict=True):
        _check_order(larger, smaller, name, file)
    return Wanted(names, budgets)


def _check_order(
    larger: Mapping[Kind, Amount], smaller: Mapping[Kind, Amount], name: str, file: Path
) -> None:
    """Refuse a budget above that of the variant before, which drops less, where both are of one form."""
    for kind in larger.keys() & smaller.keys():
        if larger[kind].relative == smaller[kind].relative and larger[kind].value < smaller[kind].value:
            raise UsageError(
                f"its budget '{kind}' is above that of the variant before it",
                file=str(file),
                where=f"variant '{name}'",
                hint="list the largest variant first: each drops what the one before it drops, and more",
            )


def _amounts(entry: Mapping[str, str | float], name: str, file: Path) -> dict[Kind, Amount]:
    unknown = [key for key in entry if key not in ("name", *KINDS)]
    if unknown:
        raise UsageError(
            f"no budget '{unknown[0]}'", file=str(file), where=f"variant '{name}'", hint=f"{', '.join(KINDS)}"
        )
    try:
        return {kind: Amount.read(str(entry[kind]), kind) for kind in KINDS if kind in entry}
    except ValueError as error:
        raise UsageError(str(error), file=str(file), where=f"variant '{name}'") from error
