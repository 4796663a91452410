"""Runs parsed pipelines: MLIR's passes through its pass manager, ours one anchor after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from serenity_mlir.dialect_passes.mlir import ir, passmanager
from serenity_mlir.dialect_passes.pipeline_text import NativeRun, OurRun, Run, fail_at
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.scratch import note_stage


@dataclass(frozen=True, slots=True)
class PrintStyle:
    """How IR is printed; the names are mlir-opt's.

    Attributes:
        debuginfo: With locations.
        generic: In the generic form.
        elide_larger: Elements above which constants are left out, None for never.
    """

    debuginfo: bool = False
    generic: bool = False
    elide_larger: int | None = None

    def text(self, op: ir.Operation) -> str:
        """`op` as text. Threads of its context must be off: printing with threads on aborts."""
        asm: str = op.get_asm(
            enable_debug_info=self.debuginfo,
            print_generic_op_form=self.generic,
            large_elements_limit=self.elide_larger,
        )
        return asm


@dataclass(frozen=True, slots=True)
class PassRunner:
    """Runs of one pipeline, with what is printed and checked between passes.

    Attributes:
        runs: From `parse_pipeline`.
        verify_each: Whether the IR is verified after each pass.
        print_before: Whether IR is printed before each pass, as `--mlir-print-ir-before-all`.
        print_after: The same after each pass.
        style: How it is printed then.
        log: Where it is printed; MLIR's own passes print to the process's stderr.
    """

    runs: Sequence[Run]
    log: TextIO
    verify_each: bool = True
    print_before: bool = False
    print_after: bool = False
    style: PrintStyle = PrintStyle()

    def check(self, context: ir.Context, text: str, *, source: str) -> None:
        """Look up MLIR's passes before anything runs.

        Args:
            context: Any; it is not changed.
            text: What the runs were parsed from.
            source: What errors call the text.

        Raises:
            UsageError: MLIR does not know a pass or an option of it, or it does not fit its anchor.
        """
        with context:
            for run in self.runs:
                if isinstance(run, NativeRun):
                    for part, column in zip(run.parts, run.columns, strict=True):
                        try:
                            passmanager.PassManager.parse(part)
                        except ValueError as error:
                            fail_at(text, column, _reason(error), source=source)

    def run(self, root: ir.Operation) -> None:
        """Run everything on `root`, in place.

        Raises:
            SerenityError: A pass of ours failed, or left invalid IR.
            MLIRError: A pass of MLIR's failed; diagnostics went to the context's handlers.
        """
        for run in self.runs:
            if isinstance(run, NativeRun):
                note_stage(run.text)
                self._native(run, root)
            else:
                note_stage(run.instance.name)
                for target in _targets(root, run.anchors):
                    self._ours(run, target)

    def _native(self, run: NativeRun, root: ir.Operation) -> None:
        with root.context:
            manager = passmanager.PassManager.parse(run.text)
            manager.enable_verifier(self.verify_each)
            if self.print_before or self.print_after:
                self.log.flush()
                manager.enable_ir_printing(
                    print_before_all=self.print_before,
                    print_after_all=self.print_after,
                    large_elements_limit=self.style.elide_larger,
                    enable_debug_info=self.style.debuginfo,
                    print_generic_op_form=self.style.generic,
                )
            manager.run(root)

    def _ours(self, run: OurRun, target: ir.Operation) -> None:
        if self.print_before:
            self._dump("Before", run, target)
        run.instance.apply(target)
        if self.verify_each:
            try:
                target.verify()
            except ir.MLIRError as error:  # the handler has the diagnostics
                raise SerenityError(
                    f"{run.instance.name} left IR that does not verify", hint="this is a fault of the pass"
                ) from error
        if self.print_after:
            self._dump("After", run, target)

    def _dump(self, when: str, run: OurRun, target: ir.Operation) -> None:
        title = f"// -----// IR Dump {when} {type(run.instance).__name__}: {run.instance} //----- //"
        self.log.write(f"{title}\n{self.style.text(target)}\n\n")
        self.log.flush()


def _targets(root: ir.Operation, anchors: Sequence[str]) -> Iterator[ir.Operation]:
    """The ops at the end of the path `anchors`, as MLIR's nested pass managers find them."""
    if anchors[0] not in (root.name, "any"):
        raise SerenityError(f"a pipeline on '{anchors[0]}' cannot run on a '{root.name}'")
    ops = [root]
    for name in anchors[1:]:
        ops = [inner for op in ops for inner in _children(op) if inner.name == name]
    yield from ops


def _children(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation


def _reason(error: ValueError) -> str:
    """MLIR's words without its own column, which counts in the part and not in the whole text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else "MLIR refuses this pass"
    for prefix in ("MLIR Textual PassPipeline Parser:", "<Pass-Options-Parser>:"):
        if first.startswith(prefix):
            return first.removeprefix(prefix).rpartition("error: ")[2].strip()
    return first
