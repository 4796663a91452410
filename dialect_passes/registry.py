"""Pass names and where their classes stand, imported when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from serenity_mlir.errors import UsageError
from serenity_mlir.suggest import hint_of

if TYPE_CHECKING:  # importing pass_base loads the MLIR bindings
    from serenity_mlir.dialect_passes.pass_base import Pass

_PASSES = "serenity_mlir.dialect_passes"

PASSES: dict[str, str] = {
    "serenity-centre-weights": f"{_PASSES}.linalg.centre_weights:CentreWeightsPass",
    "serenity-commute-quantize": f"{_PASSES}.linalg.commute_quantize:CommuteQuantizePass",
    "serenity-narrow-max-pool": f"{_PASSES}.linalg.narrow_max_pool:NarrowMaxPoolPass",
    "serenity-compute-in-stripes": f"{_PASSES}.flow.compute_in_stripes:ComputeInStripesPass",
    "serenity-form-dispatch-regions": f"{_PASSES}.flow.form_dispatch_regions:FormDispatchRegionsPass",
    "serenity-locate-dispatches": f"{_PASSES}.flow.locate_dispatches:LocateDispatchesPass",
    "serenity-strip-dispatch-locations": f"{_PASSES}.flow.locate_dispatches:StripDispatchLocationsPass",
    "serenity-pad-on-read": f"{_PASSES}.flow.pad_on_read:PadOnReadPass",
    "serenity-reveal-offsets": f"{_PASSES}.flow.hidden_offsets:RevealOffsetsPass",
    "serenity-recompute-elementwise": f"{_PASSES}.flow.recompute_elementwise:RecomputeElementwisePass",
    "serenity-reuse-operands": f"{_PASSES}.flow.reuse_operands:ReuseOperandsPass",
    "serenity-share-padding": f"{_PASSES}.flow.share_padding:SharePaddingPass",
    "serenity-update-in-place": f"{_PASSES}.flow.update_in_place:UpdateInPlacePass",
    "serenity-share-guards": f"{_PASSES}.codegen.share_guards:ShareGuardsPass",
    "serenity-tile-for-registers": f"{_PASSES}.codegen.tile_for_registers:TileForRegistersPass",
    "serenity-annotate-liveness": f"{_PASSES}.stream.annotate_liveness:AnnotateLivenessPass",
    "serenity-layout-slices": f"{_PASSES}.stream.layout_slices:LayoutSlicesPass",
    "serenity-displace-results": f"{_PASSES}.stream.displace_results:DisplaceResultsPass",
    "serenity-rechain-updates": f"{_PASSES}.stream.rechain_updates:RechainUpdatesPass",
    "serenity-rematerialize-splats": f"{_PASSES}.stream.rematerialize_splats:RematerializeSplatsPass",
    "serenity-schedule-execution": f"{_PASSES}.stream.schedule_execution:ScheduleExecutionPass",
    "serenity-preserve-values": f"{_PASSES}.stream.preserve_values:PreserveValuesPass",
    "serenity-separate-results": f"{_PASSES}.stream.separate_results:SeparateResultsPass",
    "serenity-serialize": f"{_PASSES}.stream.serialize:SerializePass",
    "serenity-strip-serialize": f"{_PASSES}.stream.serialize:StripSerializePass",
    "serenity-split-concat-conv": f"{_PASSES}.linalg.split_concat_conv:SplitConcatConvPass",
    "serenity-split-concat-depthwise-conv": (
        f"{_PASSES}.linalg.split_concat_depthwise_conv:SplitConcatDepthwiseConvPass"
    ),
    "serenity-propagate-gates": f"{_PASSES}.torch_onnx.propagate_gates:PropagateGatesPass",
    "serenity-prune-channels": f"{_PASSES}.torch_onnx.prune_channels:PruneChannelsPass",
    "serenity-schedule-tensors": f"{_PASSES}.tensors.schedule_tensors:ScheduleTensorsPass",
}
"""Name in a pipeline to `module:Class`; `tests/passes/test_registry.py` holds it to the classes there are."""

PREFIX = "serenity-"
"""What the name of every pass of ours begins with."""


def is_ours(name: str) -> bool:
    """Whether a pipeline's element of that name is meant for us rather than for MLIR."""
    return name.startswith(PREFIX)


def pass_class(name: str) -> type[Pass[Any]]:
    """The class registered under `name`.

    Raises:
        UsageError: There is none.
    """
    if name not in PASSES:
        raise UsageError(f"no pass '{name}'", hint=hint_of(name, PASSES, "passes of ours are"))
    module, _, attribute = PASSES[name].partition(":")
    found: type[Pass[Any]] = getattr(import_module(module), attribute)
    return found
