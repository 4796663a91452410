"""One artefact of all variants: each entry computes its variant, and weights stand once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from channel_networks import Builder
from iree import runtime
from reform_harness import inputs_of, run
from test_nesting import family_masks

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.firmware.variants import chooser_files
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.reform.family import MOST_WEIGHTS, compile_family, nest
from serenity_mlir.reform.family import Variant

PLAIN = CompileOptions(rewrite=RewriteOptions(ops=False, regions=False))
STUB = """
#ifndef net_H
#define net_H
typedef enum { net_OK } net_status_t;
typedef struct { int unused; } net_context_t;
net_status_t net_big_invoke(net_context_t *context);
net_status_t net_small_invoke(net_context_t *context);
#endif
"""
MAIN = """
#include <stdio.h>
#include "net_variants.h"
net_status_t net_big_invoke(net_context_t *context) { (void)context; puts("big"); return net_OK; }
net_status_t net_small_invoke(net_context_t *context) { (void)context; puts("small"); return net_OK; }
int main(void) {
  net_context_t context = {0};
  net_costs_t budgets[] = {{0, 0}, {100, 0}, {99, 0}, {0, 1.0f}, {39, 0}};
  size_t index;
  for (index = 0; index < 5; ++index) {
    const net_variant_t *found = net_pick(&budgets[index]);
    if (found == NULL) { puts("none"); } else { found->invoke(&context); }
  }
  return 0;
}
"""


def perceptron() -> onnx.ModelProto:
    """Two convolutions and a classifier, wide enough that weights are what it stores."""
    build = Builder(1)
    one = build.op("Relu", build.conv("x", 3, 24))
    two = build.op("Relu", build.conv(one, 24, 24))
    flat = build.op("Flatten", build.op("Transpose", two, perm=[0, 2, 3, 1]))
    return build.model({"x": (1, 3, 6, 6)}, build.gemm(flat, 24 * 36, 10))


def test_each_entry_is_its_variant_and_weights_stand_once() -> None:
    model = perceptron()
    made = compile_family(nest(model, family_masks(model), ["large", "medium", "small"]), PLAIN)
    assert made.share <= MOST_WEIGHTS
    assert made.artefact.code > made.largest.code > 0
    assert made.artefact.report.memory.weights == made.artefact.weights
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, made.artefact.data), config
    )
    for member in made.family.members:
        inputs = inputs_of(member.model)
        found = module[member.name](*inputs.values()).to_host()
        (expected,) = run(member.model, inputs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))


def test_c_picks_what_python_picks(tmp_path: Path) -> None:
    variants = [
        Variant("big", {"macs": 100, "energy": 2.0}, 0.9),
        Variant("small", {"macs": 39.5, "energy": 1.0}, 0.8),
    ]
    files = chooser_files("net", variants, external=True)
    for path, content in {**files, "include/net.h": STUB.encode(), "main.c": MAIN.encode()}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", str(tmp_path / "include")]
    sources = [str(tmp_path / "main.c"), str(tmp_path / "src" / "net_variants.c")]
    subprocess.run(["gcc", *strict, *sources, "-o", str(tmp_path / "program")], check=True)
    done = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["big", "big", "small", "small", "none"]


def test_variants_that_c_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot tell apart"):
        chooser_files("net", [Variant("a-b"), Variant("a_b")], external=True)
    with pytest.raises(UsageError, match="same kinds of costs"):
        chooser_files("net", [Variant("a", {"macs": 1}), Variant("b")], external=True)
