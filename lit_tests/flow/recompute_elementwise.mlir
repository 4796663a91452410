// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-recompute-elementwise)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// Two products read an activation of the argument: each computes it again, with what follows it alone.

// CHECK-LABEL: func.func @two_readers
// CHECK-NOT:     arith.maximumf
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<4x8xf32>) {
// CHECK:             arith.maximumf
// CHECK:           linalg.matmul ins(%{{.*}}, %arg2
// CHECK:         %[[S:.*]] = flow.dispatch.region -> (tensor<4x8xf32>) {
// CHECK:           %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<4x16xf32>)
// CHECK:             arith.maximumf
// CHECK:           %[[M:.*]] = linalg.matmul ins(%[[X]], %arg1
// CHECK:           %[[E:.*]] = linalg.elementwise
// CHECK:           flow.return %[[E]]
// CHECK:         return %[[S]], %[[R]]
func.func @two_readers(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>, %f: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<4x16xf32>
  %m = linalg.matmul ins(%x, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %n = linalg.matmul ins(%x, %c : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %e8 = tensor.empty() : tensor<4x8xf32>
  %g = linalg.elementwise <exp> ins(%m : tensor<4x8xf32>) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %g, %n : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// One element-wise op more reads it: IREE puts the two into one dispatch.

// CHECK-LABEL: func.func @also_elementwise
// CHECK:         %[[X:.*]] = linalg.elementwise <exp> ins(%arg0
// CHECK:         %[[R:.*]] = flow.dispatch.region
// CHECK:           linalg.elementwise <exp> ins(%arg0
// CHECK:           linalg.matmul
// CHECK:         linalg.elementwise <abs> ins(%[[X]]
func.func @also_elementwise(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %x = linalg.elementwise <exp> ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = linalg.matmul ins(%x, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%b : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.elementwise <abs> ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %m, %y : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Left alone: what it is made of is stored for it alone; a reduction starts from it; it reads more than it makes.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT:     flow.dispatch.region
func.func @left_alone(%a: tensor<4x4xf32>, %w: tensor<4x4xf64>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %m = linalg.matmul ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %x = linalg.elementwise <exp> ins(%m : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.elementwise <exp> ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %o = linalg.matmul ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<4x4xf64>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%in: f64, %out: f32):
    %0 = arith.truncf %in : f64 to f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %p = linalg.matmul ins(%z, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %n, %o, %p : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
