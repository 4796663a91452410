"""The parts of `serenity bench reform`, each as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from serenity_mlir.pipelines.bench.reform_resources import devices, layer_map
from serenity_mlir.pipelines.reform.train.extra import require_torch

if TYPE_CHECKING:
    from serenity_mlir.pipelines.bench.paper_tables import TextTable
    from serenity_mlir.pipelines.bench.reform_setting import Setting


def measure(
    parts: Sequence[str],
    *,
    data: Path | None,
    count: int | None,
    seeds: int,
    progress: Callable[[str], None],
) -> Iterator[TextTable]:
    """The tables of each part, in order.

    Args:
        parts: Of "resources", "budget", "accuracy", "background" and "weights".
        data: Digits, see `digits`.
        count: How many of them to train on; all by default.
        seeds: Networks whose accuracy is compared.
        progress: Told what is going on.

    Raises:
        SerenityError: PyTorch or the digits are needed, and cannot be had.
    """
    trained: list[Setting] = []
    for part in parts:
        if part == "resources":
            progress("VGG")
            yield from (layer_map(), devices())
            continue
        require_torch(f"the part '{part}'")
        from serenity_mlir.pipelines.bench import reform_static  # noqa: PLC0415  (needs an extra)

        trained = trained or _settings(data, count, seeds, progress)
        if part == "budget":
            yield reform_static.beside_greedy(trained[0])
        elif part == "accuracy":
            yield reform_static.beside_masks(trained)
        elif part == "background":
            from serenity_mlir.pipelines.bench.reform_dynamic import scenarios  # noqa: PLC0415  (needs an extra)

            yield from scenarios(trained[0])
        else:
            yield reform_static.sweep(trained[0])


def _settings(
    data: Path | None, count: int | None, seeds: int, progress: Callable[[str], None]
) -> list[Setting]:
    import torch  # noqa: PLC0415  (an extra)

    from serenity_mlir.pipelines.bench.digits import digits  # noqa: PLC0415
    from serenity_mlir.pipelines.bench.reform_setting import Setting  # noqa: PLC0415

    torch.set_num_threads(1)  # sums in one order, and no threads that wait for each other on a busy machine
    progress("digits")
    found = digits(data)
    found = found if count is None else found.first(count)
    return [Setting(found, seed, progress) for seed in range(seeds)]
