// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-form-dispatch-regions)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#scalar = affine_map<(d0, d1) -> ()>

// The accumulators are scaled, get a bias and are quantised where they are made; the fill that another
// op needs too and the broadcast of the bias are computed again inside.

// CHECK-LABEL: func.func @requantised
// CHECK:         %[[Z:.*]] = linalg.fill
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<4x8xi8>) {
// CHECK-DAG:       %[[F:.*]] = linalg.fill
// CHECK-DAG:       %[[B:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<4xf32>)
// CHECK:           %[[M:.*]] = linalg.matmul ins(%arg0, %arg1 : tensor<4x16xi8>, tensor<16x8xi8>) outs(%[[F]]
// CHECK:           %[[S:.*]] = linalg.generic {{.*}} ins(%[[M]], %[[B]]
// CHECK:           %[[Q:.*]] = iree_linalg_ext.quantize_affine {{.*}} ins(%[[S]]
// CHECK:           flow.return %[[Q]] : tensor<4x8xi8>
// CHECK:         return %[[R]], %[[Z]]
func.func @requantised(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %bias: tensor<4xf32>) -> (tensor<4x8xi8>, tensor<4x8xi32>) {
  %zero = arith.constant 0 : i32
  %s = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<4x8xi32>
  %ef = tensor.empty() : tensor<4x8xf32>
  %eq = tensor.empty() : tensor<4x8xi8>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %wide = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<4xf32>) outs(%ef : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %m = linalg.matmul ins(%a, %b : tensor<4x16xi8>, tensor<16x8xi8>) outs(%f : tensor<4x8xi32>) -> tensor<4x8xi32>
  %x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %wide : tensor<4x8xi32>, tensor<4x8xf32>) outs(%ef : tensor<4x8xf32>) {
  ^bb0(%in: i32, %in_0: f32, %out: f32):
    %0 = arith.sitofp %in : i32 to f32
    %1 = arith.addf %0, %in_0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%x, %s : tensor<4x8xf32>, f32) outs(%eq : tensor<4x8xi8>) -> tensor<4x8xi8>
  return %q, %f : tensor<4x8xi8>, tensor<4x8xi32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Only a pad reads the result: it is stored in the interior of what is filled before.

// CHECK-LABEL: func.func @interior
// CHECK:         %[[C:.*]] = arith.constant 7 : i8
// CHECK:         %[[F:.*]] = linalg.fill ins(%{{.*}} : i8) outs(%{{.*}} : tensor<6x11xi8>)
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<6x11xi8>) {
// CHECK:           %[[Q:.*]] = iree_linalg_ext.quantize_affine
// CHECK:           %[[I:.*]] = tensor.insert_slice %[[Q]] into %[[F]][1, 2] [4, 8] [1, 1]
// CHECK:           flow.return %[[I]] : tensor<6x11xi8>
// CHECK-NOT:     tensor.pad
// CHECK:         return %[[R]]
func.func @interior(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %f: tensor<4x8xi32>) -> tensor<6x11xi8> {
  %s = arith.constant 0.5 : f32
  %seven = arith.constant 7 : i8
  %ef = tensor.empty() : tensor<4x8xf32>
  %eq = tensor.empty() : tensor<4x8xi8>
  %m = linalg.matmul ins(%a, %b : tensor<4x16xi8>, tensor<16x8xi8>) outs(%f : tensor<4x8xi32>) -> tensor<4x8xi32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x8xi32>) outs(%ef : tensor<4x8xf32>) {
  ^bb0(%in: i32, %out: f32):
    %0 = arith.sitofp %in : i32 to f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%x, %s : tensor<4x8xf32>, f32) outs(%eq : tensor<4x8xi8>) -> tensor<4x8xi8>
  %p = tensor.pad %q low[1, 2] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %seven : i8
  } : tensor<4x8xi8> to tensor<6x11xi8>
  return %p : tensor<6x11xi8>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// What joins two reductions is part of the later one; the earlier stores no less alone.

// CHECK-LABEL: func.func @joined
// CHECK:         %[[A:.*]] = linalg.matmul
// CHECK-NEXT:    %[[R:.*]] = flow.dispatch.region -> (tensor<4x8xi8>) {
// CHECK:           %[[B:.*]] = linalg.matmul
// CHECK:           linalg.generic {{.*}} ins(%[[A]], %[[B]]
// CHECK:         return %[[R]]
func.func @joined(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %c: tensor<16x8xi8>, %f: tensor<4x8xi32>) -> tensor<4x8xi8> {
  %eq = tensor.empty() : tensor<4x8xi8>
  %m = linalg.matmul ins(%a, %b : tensor<4x16xi8>, tensor<16x8xi8>) outs(%f : tensor<4x8xi32>) -> tensor<4x8xi32>
  %n = linalg.matmul ins(%a, %c : tensor<4x16xi8>, tensor<16x8xi8>) outs(%f : tensor<4x8xi32>) -> tensor<4x8xi32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %n : tensor<4x8xi32>, tensor<4x8xi32>) outs(%eq : tensor<4x8xi8>) {
  ^bb0(%in: i32, %in_0: i32, %out: i8):
    %0 = arith.addi %in, %in_0 : i32
    %1 = arith.trunci %0 : i32 to i8
    linalg.yield %1 : i8
  } -> tensor<4x8xi8>
  return %q : tensor<4x8xi8>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Left alone: nothing stores less; accumulators that others read too; sizes that are no constants.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT:     flow.dispatch.region
func.func @left_alone(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %f: tensor<4x8xf32>, %d: tensor<?x16xf32>, %e: tensor<?x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<?x8xf16>) {
  %e32 = tensor.empty() : tensor<4x8xf32>
  %e16 = tensor.empty() : tensor<4x8xf16>
  %m = linalg.matmul ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %x = linalg.elementwise <exp> ins(%m : tensor<4x8xf32>) outs(%e32 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %n = linalg.matmul ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<4x8xf32>) outs(%e16 : tensor<4x8xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<4x8xf16>
  %zero = arith.constant 0 : index
  %size = tensor.dim %d, %zero : tensor<?x16xf32>
  %dm = linalg.matmul ins(%d, %b : tensor<?x16xf32>, tensor<16x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %ed = tensor.empty(%size) : tensor<?x8xf16>
  %dh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%dm : tensor<?x8xf32>) outs(%ed : tensor<?x8xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<?x8xf16>
  return %x, %n, %h, %dh : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<?x8xf16>
}
