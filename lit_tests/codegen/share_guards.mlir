// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-share-guards)' --split-input-file | FileCheck %s

#weights = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#result = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#window = affine_map<(d0, d1, d2, d3) -> (d1 + d3)>

// All channels (d0) read the same: no branch, position 0 outside. The guard depends on d1 and d3, so the sum over
// input channels (d2) becomes the innermost loop.

// CHECK-DAG:   #[[WEIGHTS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG:   #[[RESULT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-DAG:   #[[CONFIG:.*]] = #iree_cpu.lowering_config<distribution = [4, 8, 0, 0], vector_common_parallel = [1, 4, 0, 0], vector_reduction = [0, 0, 3, 16]>
// CHECK-LABEL: func.func @channels
// CHECK-SAME:    %[[X:.*]]: tensor<3x8xi8>
// CHECK:         linalg.generic {indexing_maps = [#[[WEIGHTS]], #[[RESULT]]], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
// CHECK-SAME:      {lowering_config = #[[CONFIG]]}
// CHECK:           %[[C:.*]] = linalg.index 3
// CHECK:           %[[K:.*]] = linalg.index 2
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %[[AT:.*]], %{{.*}} : index
// CHECK-NOT:       scf.if
// CHECK:           %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:           %[[SAFE:.*]] = arith.select %[[INSIDE]], %[[AT]], %[[ZERO]] : index
// CHECK:           %[[READ:.*]] = tensor.extract %[[X]][%[[C]], %[[SAFE]]] : tensor<3x8xi8>
// CHECK:           %[[VALUE:.*]] = arith.select %[[INSIDE]], %[[READ]], %{{.*}} : i8
// CHECK:           arith.extsi %[[VALUE]]
func.func @channels(%x: tensor<3x8xi8>, %w: tensor<4x3x3xi8>, %o: tensor<4x8xi32>) -> tensor<4x8xi32> {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %level = arith.constant -128 : i8
  %r = linalg.generic {indexing_maps = [#weights, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%w : tensor<4x3x3xi8>) outs(%o : tensor<4x8xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 8, 0, 0], vector_common_parallel = [1, 4, 0, 0], vector_reduction = [0, 0, 16, 3]>} {
  ^bb0(%in: i8, %out: i32):
    %d0 = linalg.index 0 : index
    %d1 = linalg.index 1 : index
    %d2 = linalg.index 2 : index
    %d3 = linalg.index 3 : index
    %p = affine.apply #window(%d0, %d1, %d2, %d3)
    %at = arith.subi %p, %c1 : index
    %inside = arith.cmpi ult, %at, %c8 : index
    %v = scf.if %inside -> (i8) {
      %e = tensor.extract %x[%d2, %at] : tensor<3x8xi8>
      scf.yield %e : i8
    } else {
      scf.yield %level : i8
    }
    %a = arith.extsi %v : i8 to i32
    %b = arith.extsi %in : i8 to i32
    %m = arith.muli %a, %b : i32
    %s = arith.addi %out, %m : i32
    linalg.yield %s : i32
  } -> tensor<4x8xi32>
  return %r : tensor<4x8xi32>
}

// -----

#weights = affine_map<(d0, d1, d2) -> (d0, d2)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

// A position that is a loop's own may be outside, too, where the padding is behind: it is made safe like any.

// CHECK-LABEL: func.func @padded_behind
// CHECK:         %[[AT:.*]] = linalg.index 2
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %{{.*}} : index
// CHECK:         %[[SAFE:.*]] = arith.select %[[INSIDE]], %[[AT]], %{{.*}} : index
// CHECK:         tensor.extract %{{.*}}[%[[SAFE]]] : tensor<8xf32>
func.func @padded_behind(%x: tensor<8xf32>, %w: tensor<4x10xf32>, %o: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c8 = arith.constant 8 : index
  %level = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [#weights, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w : tensor<4x10xf32>) outs(%o : tensor<4x6xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 6, 0], vector_common_parallel = [1, 1, 0], vector_reduction = [0, 0, 1]>} {
  ^bb0(%in: f32, %out: f32):
    %at = linalg.index 2 : index
    %inside = arith.cmpi ult, %at, %c8 : index
    %v = scf.if %inside -> (f32) {
      %e = tensor.extract %x[%at] : tensor<8xf32>
      scf.yield %e : f32
    } else {
      scf.yield %level : f32
    }
    %m = arith.mulf %v, %in : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

#weights = affine_map<(d0, d1, d2) -> (d0, d2)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>
#window = affine_map<(d0, d1, d2) -> (d1 + d2)>

// Left alone: of a depthwise convolution each channel reads its own; what IREE has not tiled is not its turn yet.

// CHECK-LABEL: func.func @depthwise
// CHECK:         scf.if
// CHECK:         scf.if
func.func @depthwise(%x: tensor<4x8xi8>, %w: tensor<4x3xi8>, %o: tensor<4x8xi32>) -> (tensor<4x8xi32>, tensor<4x8xi32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %level = arith.constant 0 : i8
  %r = linalg.generic {indexing_maps = [#weights, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w : tensor<4x3xi8>) outs(%o : tensor<4x8xi32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [4, 8, 0], vector_common_parallel = [1, 4, 0], vector_reduction = [0, 0, 1]>} {
  ^bb0(%in: i8, %out: i32):
    %d0 = linalg.index 0 : index
    %d1 = linalg.index 1 : index
    %d2 = linalg.index 2 : index
    %p = affine.apply #window(%d0, %d1, %d2)
    %at = arith.subi %p, %c1 : index
    %inside = arith.cmpi ult, %at, %c8 : index
    %v = scf.if %inside -> (i8) {
      %e = tensor.extract %x[%d0, %at] : tensor<4x8xi8>
      scf.yield %e : i8
    } else {
      scf.yield %level : i8
    }
    %a = arith.extsi %v : i8 to i32
    %b = arith.extsi %in : i8 to i32
    %m = arith.muli %a, %b : i32
    %s = arith.addi %out, %m : i32
    linalg.yield %s : i32
  } -> tensor<4x8xi32>
  %c0 = arith.constant 0 : index
  %q = linalg.generic {indexing_maps = [#weights, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w : tensor<4x3xi8>) outs(%o : tensor<4x8xi32>) {
  ^bb0(%in: i8, %out: i32):
    %d1 = linalg.index 1 : index
    %inside = arith.cmpi ult, %d1, %c8 : index
    %v = scf.if %inside -> (i8) {
      %e = tensor.extract %x[%c0, %d1] : tensor<4x8xi8>
      scf.yield %e : i8
    } else {
      scf.yield %level : i8
    }
    %a = arith.extsi %v : i8 to i32
    %s = arith.addi %out, %a : i32
    linalg.yield %s : i32
  } -> tensor<4x8xi32>
  return %r, %q : tensor<4x8xi32>, tensor<4x8xi32>
}
