"""One artefact of all variants: each entry computes its variant, and weights stand once."""

from __future__ import annotations

import subprocess
import sys
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

RUN = """
#include <stdio.h>
#include <string.h>
#include "net_variants.h"
static unsigned char arena[net_ARENA_BYTES] __attribute__((aligned(net_ARENA_ALIGN)));
int main(void) {
  net_context_t context;
  net_costs_t budgets[] = {{0}, {6}, {1}};
  size_t index;
  if (net_init(&context, arena, sizeof arena) != net_OK) { return 1; }
  for (index = 0; index < 3; ++index) {
    const net_variant_t *variant = net_pick(&budgets[index]);
    FILE *input = fopen("input.bin", "rb");
    float result[10];
    if (fread(variant->input(&context, 0), 1, net_large_INPUT_0_BYTES, input) != net_large_INPUT_0_BYTES) {
      return 2;
    }
    fclose(input);
    if (variant->invoke(&context) != net_OK) { return 3; }
    fprintf(stderr, "%s\\n", variant->name);
    memcpy(result, variant->output(&context, 0), sizeof result);
    fwrite(result, 1, sizeof result, stdout);
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


def test_firmware_runs_the_variant_that_it_picks(tmp_path: Path) -> None:
    onnx.save(perceptron(), tmp_path / "model.onnx")
    library = tmp_path / "library"
    script = Path(__file__).parent / "make_family_firmware.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "model.onnx"), str(library)], check=True)
    inputs = inputs_of(onnx.load(tmp_path / "large.onnx"))
    (tmp_path / "input.bin").write_bytes(inputs["x"].tobytes())
    (tmp_path / "main.c").write_text(RUN)
    parts = [tmp_path / "main.c", *sorted((library / "src").glob("*.c")), library / "lib" / "net.o"]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-I", str(library / "include"), "-o", "program"]
    subprocess.run(["gcc", *map(str, parts), *flags], check=True, cwd=tmp_path)
    done = subprocess.run(["./program"], capture_output=True, check=True, cwd=tmp_path)
    names = done.stderr.decode().split()
    assert names == ["large", "medium", "small"]
    for name, found in zip(names, np.frombuffer(done.stdout, np.float32).reshape(3, 1, 10), strict=True):
        (expected,) = run(onnx.load(tmp_path / f"{name}.onnx"), inputs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))


def test_variants_that_c_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot tell apart"):
        chooser_files("net", [Variant("a-b"), Variant("a_b")], external=True)
    with pytest.raises(UsageError, match="same kinds of costs"):
        chooser_files("net", [Variant("a", {"macs": 1}), Variant("b")], external=True)
