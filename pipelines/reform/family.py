"""Nested variants in one artefact: a function for each, and the weights of the largest once."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from serenity_mlir.dialect_passes.mlir import make_context
from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.firmware.build import Firmware, build_firmware
from serenity_mlir.pipelines.firmware.variants import chooser_files
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.reform.code_bytes import code_bytes
from serenity_mlir.pipelines.reform.merge import merged
from serenity_mlir.pipelines.reform.onnx_network import apply, network_of, rebuilt
from serenity_mlir.reform.family import Variant
from serenity_mlir.reform.gates import Gates
from serenity_mlir.reform.groups import GroupMasks, channel_groups, gates_of
from serenity_mlir.reform.nesting import Order, check_nested, nested_order, permuted
from serenity_mlir.reform.removal import Surgery, plan_removal
from serenity_mlir.reform.sharing import shared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

    from serenity_mlir.pipelines.compile import Compiled
    from serenity_mlir.report import Report

MOST_WEIGHTS = 1.05
"""A family stores at most so many times what its largest variant stores alone."""

_KEEP_SLICES = ("--iree-opt-const-eval=false", "--iree-opt-const-expr-hoisting=false")
"""Without these IREE may compute slices while it compiles, and store each as a constant of its own."""


@dataclass(frozen=True, eq=False)
class Member:
    """A variant of a family.

    Attributes:
        name: Of its function.
        model: The same variant alone, its channels in the family's order.
        surgery: What it loses.
    """

    name: str
    model: onnx.ModelProto
    surgery: Surgery


@dataclass(frozen=True, eq=False)
class Family:
    """Variants as one module.

    Attributes:
        members: The largest first.
        bytecode: MLIR bytecode of torch-onnx functions, one a member, in which large constants stand once.
    """

    members: tuple[Member, ...]
    bytecode: bytes


@dataclass(frozen=True, eq=False)
class Artefact:
    """What a compilation made.

    Attributes:
        data: The `.vmfb`.
        report: Figures.
        code: Bytes of machine code in it.
    """

    data: bytes
    report: Report
    code: int

    @property
    def weights(self) -> int:
        """Bytes of constants in it."""
        return self.report.memory.weights


@dataclass(frozen=True, eq=False)
class CompiledFamily:
    """One artefact of all variants.

    Attributes:
        family: What it is of.
        artefact: Its functions are called like the members.
        largest: The largest variant compiled alone, for comparison.
        slice_copies: Dispatches that do nothing but copy parts of constants, in all variants.
        copied: Bytes that they store.
    """

    family: Family
    artefact: Artefact
    largest: Artefact
    slice_copies: int
    copied: int

    @property
    def share(self) -> float:
        """Weight bytes as a multiple of the largest variant's."""
        alone = self.largest.weights
        return self.artefact.weights / alone if alone else 1.0


def nest(model: onnx.ModelProto, variants: Sequence[GroupMasks], names: Sequence[str] = ()) -> Family:
    """Puts variants of a model into one module.

    Args:
        model: As `onnx_network.load` returns it.
        variants: By group of `channel_groups` the channels that each keeps, the largest first; each drops
            what the one before it drops.
        names: What their functions are called; `v0`, `v1`, … by default.

    Raises:
        SerenityError: The variants are not nested, or a name is given twice.
    """
    names = list(names) or [f"v{index}" for index in range(len(variants))]
    if not variants or len(set(names)) != len(variants):
        raise UsageError("a family has at least one variant, and a name of its own for each")
    network = network_of(model)
    groups = channel_groups(network)
    check_nested(groups, variants)
    order = nested_order(network, groups, variants)
    ordered = permuted(network, order)
    base = rebuilt(model, ordered)
    surgeries = [
        plan_removal(ordered, _reordered(gates_of(network, variant, groups), order, network.channel_axes))
        for variant in variants
    ]
    members = tuple(
        Member(name, apply(base, surgery), surgery) for name, surgery in zip(names, surgeries, strict=True)
    )
    return Family(members, _bytecode(base, members))


def _reordered(gates: Gates, order: Order, axes: Mapping[str, int]) -> Gates:
    return {
        name: keep[order[name, axes[name]]] if (name, axes[name]) in order else keep
        for name, keep in gates.items()
    }


def _bytecode(base: onnx.ModelProto, members: Sequence[Member]) -> bytes:
    networks = [shared(members[0].surgery, member.surgery) for member in members]
    context = make_context()
    module = merged(
        [
            (import_onnx(_source(member.name, rebuilt(base, network)), context), network)
            for member, network in zip(members, networks, strict=True)
        ]
    )
    file = BytesIO()
    module.write_bytecode(file)
    return file.getvalue()


def _source(name: str, model: onnx.ModelProto) -> SourceModel:
    model.graph.name = name
    return SourceModel(Path(f"{name}.onnx"), "", "onnx", proto=model)


def family_firmware(
    family: Family,
    variants: Sequence[Variant],
    name: str,
    options: CompileOptions,
    compiler: Callable[[Path, CompileOptions], Compiled] = compile_model,
) -> Firmware:
    """A firmware library of all variants, with a table of them and a function that picks one.

    Args:
        family: What `nest` returned.
        variants: What the table says of each member.
        name: C identifier.
        options: What to make of it; `target` is a firmware target.
        compiler: `compile_model`, or a search around it.

    Raises:
        SerenityError: The family cannot be firmware, or the table is not of its members.
    """
    if [variant.name for variant in variants] != [member.name for member in family.members]:
        raise UsageError("the table wants a line for each variant of the family, in its order")
    chooser = chooser_files(name, variants, external=options.stream.io == "external")
    with tempfile.TemporaryDirectory(prefix="serenity-") as folder:
        path = Path(folder, f"{name}.mlirbc")
        path.write_bytes(family.bytecode)
        made = build_firmware(path, options, name, compiler)
    return replace(made, files={**made.files, **chooser})


def compile_family(family: Family, options: CompileOptions) -> CompiledFamily:
    """Compiles a family to one artefact, and its largest variant alone for comparison.

    Results of unsigned elements come back as signed ones of the same bytes, as of any MLIR module.

    Where IREE would store slices of shared weights as constants of their own, it is told not to compute any
    constant, if that takes less.

    Args:
        family: What `nest` returned.
        options: What to make of it; `emit` is not looked at.

    Raises:
        SerenityError: IREE cannot compile a variant.
    """
    alone = _compiled(family.members[0].model.SerializeToString(), "largest.onnx", options)
    best = _compiled(family.bytecode, "family.mlirbc", options)
    if best.weights > MOST_WEIGHTS * alone.weights:
        flags = [*options.iree_flags, *_KEEP_SLICES]
        other = _compiled(family.bytecode, "family.mlirbc", replace(options, iree_flags=flags))
        best = min(best, other, key=lambda item: item.weights)
    copies = [item for item in best.report.dispatches if not item.fused and item.constants]
    return CompiledFamily(family, best, alone, len(copies), sum(item.stored or 0 for item in copies))


def _compiled(data: bytes, name: str, options: CompileOptions) -> Artefact:
    with tempfile.TemporaryDirectory(prefix="serenity-") as folder:
        source, code = Path(folder, name), Path(folder, "code")
        source.write_bytes(data)
        code.mkdir()
        flags = [*options.iree_flags, f"--iree-hal-dump-executable-binaries-to={code}"]
        compiled = compile_model(source, replace(options, emit="vmfb", iree_flags=flags))
        assert compiled.report is not None, "phase end makes a report"  # noqa: S101
        return Artefact(compiled.program.vm_bytecode(), compiled.report, code_bytes(code))
