"""A model whose gates are inputs: one session evaluates any number of masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper, numpy_helper

from serenity_mlir.pipelines.reform.engine import engine
from serenity_mlir.pipelines.reform.onnx_network import masked
from serenity_mlir.reform.gates import gate_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnx

    from serenity_mlir.pipelines.reform.calibration import Calibration
    from serenity_mlir.pipelines.reform.judge import Judge
    from serenity_mlir.reform.gates import Gates
    from serenity_mlir.reform.network import Network

    Array = npt.NDArray[Any]


class GatedModel:
    """A model with a factor for each channel of some tensors."""

    def __init__(self, model: onnx.ModelProto, network: Network, tensors: Sequence[str]) -> None:
        """Give a model gates, all of them open.

        Args:
            model: As prepared for the compiler.
            network: Its network.
            tensors: What may be gated.

        Raises:
            SerenityError: The model does not run here.
        """
        gated = masked(model, {name: _closed(network, name) for name in tensors})
        self._gates = _as_inputs(gated, tensors)
        self._run = engine(gated)

    def run(self, inputs: Mapping[str, Array], gates: Mapping[str, Array]) -> list[Array]:
        """Outputs with `gates` on top of open ones; any factors will do, but for quantised tensors."""
        values = {
            gate: gates[name].reshape(ones.shape).astype(ones.dtype) if name in gates else ones
            for name, (gate, ones) in self._gates.items()
        }
        return self._run({**inputs, **values})


class Evaluation:
    """Scores of masked networks on calibration data.

    Attributes:
        judge: What says how good outputs are.
        samples: Of the data.
    """

    def __init__(self, gated: GatedModel, data: Calibration, judge: Judge) -> None:
        self._gated = gated
        self._data = data
        self.judge = judge
        self.samples = data.count

    def score(self, gates: Gates, first: int | None = None) -> float:
        """0 to 1, of all samples, or of the first few in whole batches."""
        return self.judge.score(self._outputs(gates, first))

    def first(self, count: int) -> tuple[dict[str, Array], npt.NDArray[np.int64]]:
        """The first few samples, in whole batches, and what counts as their classes.

        Raises:
            ValueError: The network is no classifier.
        """
        if self.judge.labels is None:
            raise ValueError("there are no classes")
        inputs = dict(
            zip(self._data.inputs, joined(part.values() for part in self._data.batches(count)), strict=True)
        )
        return inputs, self.judge.labels[: len(next(iter(inputs.values())))]

    def losses(self, gates: Gates, first: int) -> npt.NDArray[np.float64]:
        """Of each of the first few samples, in whole batches."""
        return self.judge.losses(self._outputs(gates, first))

    def _outputs(self, gates: Gates, first: int | None) -> list[Array]:
        return joined(self._gated.run(inputs, gates) for inputs in self._data.batches(first))


def joined(runs: Iterable[Iterable[Array]]) -> list[Array]:
    """Arrays of several runs, samples one after another."""
    return [np.concatenate(parts) for parts in zip(*runs, strict=True)]


def _closed(network: Network, name: str) -> npt.NDArray[np.bool_]:
    size = network.tensors[name].shape[gate_axis(network, name)]
    if size is None:
        raise ValueError(f"a gate on '{name}', whose channels are not known")
    return np.zeros(size, dtype=bool)


def _as_inputs(model: onnx.ModelProto, gated: Iterable[str]) -> dict[str, tuple[str, Array]]:
    """Make inputs of a masked model's gates, in place.

    Returns:
        For each gated tensor the name of its gate, and the value that leaves it as it is.
    """
    graph = model.graph
    makers = {node.output[0]: node for node in graph.node}
    constants = {item.name: item for item in graph.initializer}
    found = {}
    for name in gated:
        node = makers[name]
        gate = constants[node.input[0 if node.op_type == "Where" else 1]]
        found[name] = (gate.name, np.ones_like(numpy_helper.to_array(gate)))
        graph.initializer.remove(gate)
        graph.input.append(helper.make_tensor_value_info(gate.name, gate.data_type, gate.dims))
    return found
