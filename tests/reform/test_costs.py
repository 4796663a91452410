"""Costs: the paper's own figures, its formulae written out, and what must hold for any network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_chains import POOL, VGG13, chain, groups_of_chain

from serenity_mlir.errors import SerenityError, UsageError
from serenity_mlir.pipelines.importing.infer_shapes import infer_shapes
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.arena import ArenaModel
from serenity_mlir.reform.budgets import Amount, Budgets
from serenity_mlir.reform.costs import CostModel
from serenity_mlir.reform.profile import Bits, Energy, Processor, Profile, profile

# Round numbers, so that sums are exact.
PLAIN = Profile("plain", "", Energy({"float32": 2.0}, 3.0, 5.0), Processor(1e6), Bits())


def test_vgg13_of_the_paper() -> None:
    """Sec. 4: 62 MB and 317.04 M MACs (with what the paper counts beside layers)."""
    network = network_of(chain(VGG13, (512, 512, 10), weights=False))
    total = CostModel(network, profile("paper-fit")).total()
    assert round(total.memory / 1e6, 2) == 62.07
    assert total.macs == 313_725_952
    assert total.latency == pytest.approx(total.macs / 1e9 * 1e3)


def test_paper_fit_is_fitted_to_what_it_says() -> None:
    """259.46 M MACs and 43.25 MB are 25.96 mJ."""
    given_energy = profile("paper-fit").energy
    bits = 43.25e6 * 8
    energy = 259.46e6 * given_energy.mac["float32"] + bits * given_energy.weight_bit
    assert energy * 1e-9 == pytest.approx(25.96, abs=0.005)
    assert given_energy.weight_bit == given_energy.activation_bit


def by_the_book(sizes: Sequence[int], kernel: int, image: tuple[int, int, int]) -> tuple[int, int, float]:
    """Eq. 1-3 for convolutions of `sizes` that keep the map's size: MACs, bytes, millijoules."""
    channels, height, width = image
    macs = weights = maps = 0
    for before, after in zip((channels, *sizes), sizes, strict=False):
        weights += kernel**2 * before * after
        macs += kernel**2 * before * height * width * after
        maps += height * width * after
    energy = 2.0 * macs + 3.0 * 32 * weights + 5.0 * 32 * maps
    return macs, 4 * (weights + maps), energy * 1e-9


@given(st.lists(st.integers(2, 9), min_size=3, max_size=5), st.data())
@settings(max_examples=30)
def test_formulae_hold_with_any_number_of_channels(sizes: list[int], data: st.DataObject) -> None:
    image, kernel = (3, 6, 5), 3
    network = network_of(chain(sizes, (4,), image=image, weights=False))
    groups = groups_of_chain(network)
    model = CostModel(network, PLAIN, groups)
    counts = [data.draw(st.integers(1, size)) for size in sizes]
    kept = dict(enumerate(counts))
    total = model.total(kept)
    macs, memory, energy = by_the_book(counts, kernel, image)
    dense = counts[-1] * 30 * 4
    assert total.macs == macs + dense
    assert total.memory == memory + 4 * (dense + 4)
    assert total.energy == pytest.approx(energy + (2.0 * dense + 96.0 * dense + 160.0 * 4) * 1e-9)
    # Eq. 11-13: M_i = B (r s n_(i-1) + h w + r s n_(i+1)), and what it says for MACs and energy.
    one = data.draw(st.integers(0, len(sizes) - 2))
    before = counts[one - 1] if one else image[0]
    filters = kernel**2 * (before + counts[one + 1])
    saved = model.per_channel(one, kept)
    assert saved.memory == 4 * (filters + 30)
    assert saved.macs == filters * 30
    assert saved.energy == pytest.approx((2.0 * filters * 30 + 96.0 * filters + 160.0 * 30) * 1e-9)
    assert saved.latency == pytest.approx(filters * 30 / 1e6 * 1e3)


@given(st.lists(st.integers(2, 6), min_size=2, max_size=4), st.data())
@settings(max_examples=30)
def test_no_cost_rises_when_a_channel_is_dropped(sizes: list[int], data: st.DataObject) -> None:
    layers = [item for size in sizes for item in (size, POOL)]
    network = network_of(chain(layers, (5, 3), image=(2, 16, 16), weights=False))
    groups = groups_of_chain(network)
    model, arena = CostModel(network, PLAIN, groups), ArenaModel(network, groups)
    kept = {group.id: group.size for group in groups}
    last, live, constants = model.total(kept), arena.live(kept), arena.constants(kept)
    while any(count > 1 for count in kept.values()):
        group = data.draw(st.sampled_from([item for item, count in kept.items() if count > 1]))
        saved = model.per_channel(group, kept)
        gone = arena.constants_per_channel(group, kept)
        freed = arena.peak_per_channel(kept, np.ones(len(live), dtype=bool))[group]
        kept[group] -= 1
        now = model.total(kept)
        assert now.macs == last.macs - saved.macs < last.macs
        assert now.memory == last.memory - saved.memory < last.memory
        assert now.energy == pytest.approx(last.energy - saved.energy)
        assert saved.energy > 0
        assert (arena.live(kept) <= live).all()
        assert (live - arena.live(kept)).sum() == freed > 0
        assert arena.constants(kept) == constants - gone < constants
        last, live, constants = now, arena.live(kept), arena.constants(kept)


def test_costs_of_layers_add_up() -> None:
    network = network_of(chain((8, POOL, 4), (6, 3), weights=False))
    model = CostModel(network, PLAIN)
    total, layers = model.total(), model.by_layer().values()
    assert len(layers) == 4
    assert total.macs == sum(layer.macs for layer in layers)
    assert total.memory == sum(layer.memory for layer in layers)


def test_bits_of_a_profile_outweigh_those_stored() -> None:
    network = network_of(chain((8,), (3,), image=(1, 4, 4), weights=False))
    bits = Bits(weights=8, tensors={"w0": 4, network.outputs[0]: 16})
    total = CostModel(network, Profile("p", "", PLAIN.energy, PLAIN.processor, bits)).total()
    convolution, dense = 8 * 9, 8 * 16 * 3
    assert total.memory * 8 == 4 * convolution + 32 * 8 * 16 + 8 * dense + 16 * 3


def test_a_profile_without_the_type_is_refused() -> None:
    network = network_of(chain((8,), (3,), weights=False))
    bare = Profile("bare", "", Energy({"int8": 1.0}, 1.0, 1.0), Processor(1.0))
    with pytest.raises(UsageError, match=r"no energy for a multiply-accumulate of float32"):
        CostModel(network, bare)


def test_open_sizes_are_refused_and_an_open_batch_is_one() -> None:
    fixed = CostModel(network_of(chain((4,), (3,), weights=False)), PLAIN).total()
    assert CostModel(network_of(chain((4,), (3,), batch="n", weights=False)), PLAIN).total() == fixed
    model = chain((4,), (3,), image=(3, 1, 1), weights=False)
    del model.graph.value_info[:]
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "h"
    with pytest.raises(SerenityError, match="size is not constant"):
        CostModel(network_of(infer_shapes(model)), PLAIN)
    with pytest.raises(SerenityError, match="type is not known"):
        CostModel(network_of(model), PLAIN)


def test_profiles_are_found_or_refused(tmp_path: Path) -> None:
    assert profile("horowitz45").energy.mac["float32"] == 4.6
    with pytest.raises(UsageError, match="did you mean 'horowitz45'"):
        profile("horowitz")
    own = tmp_path / "own.toml"
    own.write_text(
        'name="own"\nsummary=""\n[energy]\nmac={float32=1}\nweight_bit=2\nactivation_bit=3\n'
        "[processor]\nmacs_per_second=1e6\n"
    )
    assert profile(str(own)).energy.weight_bit == 2
    own.write_text(own.read_text().replace("weight_bit=2", "weight_bit=-2"))
    with pytest.raises(UsageError, match="no profile"):
        profile(str(own))


def test_budgets() -> None:
    budgets = Budgets({"macs": Amount(0.5, relative=True).of(100), "ram": Amount(10).of(99)})
    assert budgets.excess({"macs": 50, "ram": 10}) == {}
    assert budgets.excess({"macs": 60, "ram": 15}) == {"macs": 0.2, "ram": 0.5}


def test_a_network_that_stores_nothing_in_between() -> None:
    network = network_of(chain((), (3,), image=(1, 2, 2)))
    arena = ArenaModel(network, ())
    assert arena.live({}).max(initial=0) <= 16
    assert arena.constants({}) == 4 * (3 * 4 + 3)
