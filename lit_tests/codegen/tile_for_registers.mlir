// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-tile-for-registers)' --split-input-file | FileCheck %s
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-tile-for-registers{soft-floats=true})' --split-input-file | FileCheck --check-prefix=SOFT %s

#x = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>
#w = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
#y = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>

// A product over channels: four output channels at once, and what is fused with it has the same tile.

// CHECK-DAG:   #[[FILL:.*]] = #iree_cpu.lowering_config<vector_common_parallel = [4, 1, 1]>
// CHECK-DAG:   #[[ROOT:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0, 0], vector_common_parallel = [4, 1, 1, 0], vector_reduction = [0, 0, 0, 1]>
// CHECK-LABEL: func.func @product
// CHECK:         linalg.fill {lowering_config = #[[FILL]]}
// CHECK:         linalg.generic {{.*}}{lowering_config = #[[ROOT]]}
func.func @product(%a: tensor<16x24x24xi8>, %b: tensor<32x16xi8>) -> tensor<32x24x24xi32> attributes {translation_info = #info} {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<32x24x24xi32>
  %o = linalg.fill {lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [1, 4, 4]>} ins(%zero : i32) outs(%e : tensor<32x24x24xi32>) -> tensor<32x24x24xi32>
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x24x24xi8>, tensor<32x16xi8>) outs(%o : tensor<32x24x24xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 24, 24, 0], vector_common_parallel = [1, 4, 4, 0], vector_reduction = [0, 0, 0, 4]>} {
  ^bb0(%p: i8, %q: i8, %out: i32):
    %0 = arith.extsi %p : i8 to i32
    %1 = arith.extsi %q : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %out, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<32x24x24xi32>
  return %r : tensor<32x24x24xi32>
}

// -----

#x = affine_map<(d0, d1, d2, d3) -> (d2, d1 + d3)>
#w = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#y = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#rows = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>

// A window, of which a row is a step of the sum: where IREE takes a convolution apart, what registers hold with the fewest
// loads (7 columns of floats, 4 channels of integers); else a channel or two.

// CHECK-DAG:   #[[APART:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0, 0], vector_common_parallel = [4, 1, 0, 0], vector_reduction = [0, 0, 1, 3]>
// CHECK-DAG:   #[[REALS:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0, 0], vector_common_parallel = [2, 7, 0, 0], vector_reduction = [0, 0, 1, 3]>
// CHECK-DAG:   #[[WHOLE:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0, 0], vector_common_parallel = [2, 1, 0, 0], vector_reduction = [0, 0, 1, 1]>
// CHECK-DAG:   #[[FLOATS:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0, 0], vector_common_parallel = [1, 1, 0, 0], vector_reduction = [0, 0, 1, 3]>

// Floats without an FPU are in the registers of integers.

// SOFT-DAG:    #[[REALS:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0, 0], vector_common_parallel = [4, 1, 0, 0], vector_reduction = [0, 0, 1, 3]>
// SOFT-DAG:    #[[FLOATS:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0, 0], vector_common_parallel = [2, 1, 0, 0], vector_reduction = [0, 0, 1, 1]>
// SOFT-LABEL:  func.func @reals_apart
// SOFT:          {lowering_config = #[[REALS]]}
// SOFT-LABEL:  func.func @floats
// SOFT:          {lowering_config = #[[FLOATS]]}

// CHECK-LABEL: func.func @apart
// CHECK:         {lowering_config = #[[APART]]}
// CHECK-LABEL: func.func @reals_apart
// CHECK:         {lowering_config = #[[REALS]]}
// CHECK-LABEL: func.func @whole
// CHECK:         {lowering_config = #[[WHOLE]]}
// CHECK-LABEL: func.func @floats
// CHECK:         {lowering_config = #[[FLOATS]]}
func.func @apart(%a: tensor<3x9xi8>, %b: tensor<8x3x3xi8>, %o: tensor<8x7xi32>) -> tensor<8x7xi32> attributes {translation_info = #rows} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<3x9xi8>, tensor<8x3x3xi8>) outs(%o : tensor<8x7xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 7, 0, 0], vector_common_parallel = [4, 1, 0, 0], vector_reduction = [0, 0, 3, 1]>} {
  ^bb0(%p: i8, %q: i8, %out: i32):
    %0 = arith.extsi %p : i8 to i32
    %1 = arith.extsi %q : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %out, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<8x7xi32>
  return %r : tensor<8x7xi32>
}
func.func @reals_apart(%a: tensor<3x9xf32>, %b: tensor<8x3x3xf32>, %o: tensor<8x7xf32>) -> tensor<8x7xf32> attributes {translation_info = #rows} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<3x9xf32>, tensor<8x3x3xf32>) outs(%o : tensor<8x7xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 7, 0, 0], vector_common_parallel = [4, 1, 0, 0], vector_reduction = [0, 0, 1, 4]>} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x7xf32>
  return %r : tensor<8x7xf32>
}
func.func @whole(%a: tensor<3x9xi8>, %b: tensor<8x3x3xi8>, %o: tensor<8x7xi32>) -> tensor<8x7xi32> attributes {translation_info = #info} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<3x9xi8>, tensor<8x3x3xi8>) outs(%o : tensor<8x7xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 7, 0, 0], vector_common_parallel = [4, 1, 0, 0], vector_reduction = [0, 0, 1, 16]>} {
  ^bb0(%p: i8, %q: i8, %out: i32):
    %0 = arith.extsi %p : i8 to i32
    %1 = arith.extsi %q : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %out, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<8x7xi32>
  return %r : tensor<8x7xi32>
}
func.func @floats(%a: tensor<3x9xf32>, %b: tensor<8x3x3xf32>, %o: tensor<8x7xf32>) -> tensor<8x7xf32> attributes {translation_info = #info} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<3x9xf32>, tensor<8x3x3xf32>) outs(%o : tensor<8x7xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 7, 0, 0], vector_common_parallel = [4, 1, 0, 0], vector_reduction = [0, 0, 1, 4]>} {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x7xf32>
  return %r : tensor<8x7xf32>
}

// -----

#x = affine_map<(d0, d1, d2) -> (d0 + d2, d1)>
#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#y = affine_map<(d0, d1, d2) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>

// A depthwise one: two columns; its result is stored transposed, and so are tiles of what follows.

// CHECK-DAG:   #[[ROOT:.*]] = #iree_cpu.lowering_config<distribution = [0, 0, 0], vector_common_parallel = [2, 1, 0], vector_reduction = [0, 0, 1]>
// CHECK-DAG:   #[[REST:.*]] = #iree_cpu.lowering_config<vector_common_parallel = [1, 2]>
// CHECK-LABEL: func.func @depthwise
// CHECK:         {lowering_config = #[[ROOT]]}
// CHECK:         {lowering_config = #[[REST]]}
func.func @depthwise(%a: tensor<10x4xi8>, %b: tensor<4x3xi8>, %o: tensor<4x8xi32>, %n: tensor<4x8xi8>) -> tensor<4x8xi8> attributes {translation_info = #info} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<10x4xi8>, tensor<4x3xi8>) outs(%o : tensor<4x8xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [8, 4, 0], vector_common_parallel = [4, 1, 0], vector_reduction = [0, 0, 3]>} {
  ^bb0(%p: i8, %q: i8, %out: i32):
    %0 = arith.extsi %p : i8 to i32
    %1 = arith.extsi %q : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %out, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<4x8xi32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<4x8xi32>) outs(%n : tensor<4x8xi8>) attrs = {lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [1, 4]>} {
  ^bb0(%p: i32, %out: i8):
    %0 = arith.trunci %p : i32 to i8
    linalg.yield %0 : i8
  } -> tensor<4x8xi8>
  return %s : tensor<4x8xi8>
}

// -----

#x = affine_map<(d0, d1) -> (d0, d1)>
#y = affine_map<(d0, d1) -> (d0)>
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>

// Several reductions in one dispatch: one element after the other.

// CHECK-DAG:   #[[SINGLE:.*]] = #iree_cpu.lowering_config<distribution = [0, 0], vector_common_parallel = [1, 0], vector_reduction = [0, 1]>
// CHECK-LABEL: func.func @several
// CHECK:         {lowering_config = #[[SINGLE]]}
// CHECK:         {lowering_config = #[[SINGLE]]}
func.func @several(%a: tensor<4x8xf32>, %o: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {translation_info = #info} {
  %r = linalg.generic {indexing_maps = [#x, #y], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x8xf32>) outs(%o : tensor<4xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 0], vector_common_parallel = [4, 0], vector_reduction = [0, 4]>} {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.addf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#x, #y], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x8xf32>) outs(%o : tensor<4xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 0], vector_common_parallel = [4, 0], vector_reduction = [0, 4]>} {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.maximumf %p, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

#x = affine_map<(d0, d1, d2) -> (d2, d1)>
#w = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>

// Left alone: 11 channels, which nothing near 4 divides; scalable sizes; tiles for a cache.

// CHECK-DAG:   #[[PRIME:.*]] = #iree_cpu.lowering_config<distribution = [11, 8, 0], vector_common_parallel = [4, 4, 0], vector_reduction = [0, 0, 4]>
// CHECK-DAG:   #[[SCALABLE:.*]] = #iree_cpu.lowering_config<distribution = [8, 8, 0], vector_common_parallel = [4, [4], 0], vector_reduction = [0, 0, 1]>
// CHECK-DAG:   #[[CACHED:.*]] = #iree_cpu.lowering_config<cache_parallel = [8, 8, 0], distribution = [8, 8, 0], vector_common_parallel = [4, 4, 0], vector_reduction = [0, 0, 1]>
// CHECK-LABEL: func.func @prime
// CHECK:         {lowering_config = #[[PRIME]]}
// CHECK-LABEL: func.func @scalable
// CHECK:         {lowering_config = #[[SCALABLE]]}
// CHECK-LABEL: func.func @cached
// CHECK:         {lowering_config = #[[CACHED]]}
func.func @prime(%a: tensor<16x8xi32>, %b: tensor<11x16xi32>, %o: tensor<11x8xi32>) -> tensor<11x8xi32> attributes {translation_info = #info} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x8xi32>, tensor<11x16xi32>) outs(%o : tensor<11x8xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [11, 8, 0], vector_common_parallel = [4, 4, 0], vector_reduction = [0, 0, 4]>} {
  ^bb0(%p: i32, %q: i32, %out: i32):
    %0 = arith.muli %p, %q : i32
    %1 = arith.addi %out, %0 : i32
    linalg.yield %1 : i32
  } -> tensor<11x8xi32>
  return %r : tensor<11x8xi32>
}
func.func @scalable(%a: tensor<16x8xi32>, %b: tensor<8x16xi32>, %o: tensor<8x8xi32>) -> tensor<8x8xi32> attributes {translation_info = #info} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x8xi32>, tensor<8x16xi32>) outs(%o : tensor<8x8xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [8, 8, 0], vector_common_parallel = [4, [4], 0], vector_reduction = [0, 0, 1]>} {
  ^bb0(%p: i32, %q: i32, %out: i32):
    %0 = arith.muli %p, %q : i32
    %1 = arith.addi %out, %0 : i32
    linalg.yield %1 : i32
  } -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
func.func @cached(%a: tensor<16x8xi32>, %b: tensor<8x16xi32>, %o: tensor<8x8xi32>) -> tensor<8x8xi32> attributes {translation_info = #info} {
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x8xi32>, tensor<8x16xi32>) outs(%o : tensor<8x8xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<cache_parallel = [8, 8, 0], distribution = [8, 8, 0], vector_common_parallel = [4, 4, 0], vector_reduction = [0, 0, 1]>} {
  ^bb0(%p: i32, %q: i32, %out: i32):
    %0 = arith.muli %p, %q : i32
    %1 = arith.addi %out, %0 : i32
    linalg.yield %1 : i32
  } -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
