// RUN: serenity-opt %s --serenity-split-concat-conv --split-input-file | FileCheck %s

// Two partial convolutions, the second onto the first, the first onto the bias.

// CHECK-LABEL: func.func @nchw
// CHECK-SAME:    (%[[A:.*]]: tensor<1x3x8x8xf32>, %[[B:.*]]: tensor<1x5x8x8xf32>, %[[W:.*]]: tensor<4x8x3x3xf32>, %[[BIAS:.*]]: tensor<1x4x6x6xf32>)
// CHECK-NOT:     tensor.concat
// CHECK:         %[[WA:.*]] = tensor.extract_slice %[[W]][0, 0, 0, 0] [4, 3, 3, 3] [1, 1, 1, 1]
// CHECK:         %[[YA:.*]] = linalg.conv_2d_nchw_fchw {{.*}} ins(%[[A]], %[[WA]] : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%[[BIAS]] :
// CHECK:         %[[WB:.*]] = tensor.extract_slice %[[W]][0, 3, 0, 0] [4, 5, 3, 3] [1, 1, 1, 1]
// CHECK:         %[[SUM:.*]] = iree_tensor_ext.compute_barrier.start %[[YA]]
// CHECK:         %[[Y:.*]] = linalg.conv_2d_nchw_fchw {{.*}} ins(%[[B]], %[[WB]] : tensor<1x5x8x8xf32>, tensor<4x5x3x3xf32>) outs(%[[SUM]] :
// CHECK:         return %[[Y]]
func.func @nchw(%a: tensor<1x3x8x8xf32>, %b: tensor<1x5x8x8xf32>, %w: tensor<4x8x3x3xf32>, %bias: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3x8x8xf32>, tensor<1x5x8x8xf32>) -> tensor<1x8x8x8xf32>
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%c, %w : tensor<1x8x8x8xf32>, tensor<4x8x3x3xf32>) outs(%bias : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

// Strides and dilations carry over; channels come last.

// CHECK-LABEL: func.func @nhwc
// CHECK:         tensor.extract_slice %{{.*}}[0, 0, 0, 0] [3, 3, 3, 4] [1, 1, 1, 1] : tensor<3x3x8x4xf32> to tensor<3x3x3x4xf32>
// CHECK:         linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 2]> : vector<2xi64>, strides = dense<[2, 1]> : vector<2xi64>} ins({{.*}} : tensor<1x9x9x3xf32>, tensor<3x3x3x4xf32>)
// CHECK:         linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 2]> : vector<2xi64>, strides = dense<[2, 1]> : vector<2xi64>} ins({{.*}} : tensor<1x9x9x5xf32>, tensor<3x3x5x4xf32>)
func.func @nhwc(%a: tensor<1x9x9x3xf32>, %b: tensor<1x9x9x5xf32>, %w: tensor<3x3x8x4xf32>, %i: tensor<1x4x5x4xf32>) -> tensor<1x4x5x4xf32> {
  %c = tensor.concat dim(3) %a, %b : (tensor<1x9x9x3xf32>, tensor<1x9x9x5xf32>) -> tensor<1x9x9x8xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 2]> : vector<2xi64>, strides = dense<[2, 1]> : vector<2xi64>} ins(%c, %w : tensor<1x9x9x8xf32>, tensor<3x3x8x4xf32>) outs(%i : tensor<1x4x5x4xf32>) -> tensor<1x4x5x4xf32>
  return %y : tensor<1x4x5x4xf32>
}

// -----

// Padding and element-wise ops between go to each part, for the other consumer too.

// CHECK-LABEL: func.func @between
// CHECK:         %[[RA:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<1x3x8x8xf32>)
// CHECK:         %[[RB:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<1x5x8x8xf32>)
// CHECK:         %[[WHOLE:.*]] = tensor.concat dim(1) %[[RA]], %[[RB]]
// CHECK:         %[[PA:.*]] = tensor.pad %[[RA]] low[0, 0, 1, 0] high[0, 0, 0, 2]
// CHECK:         %[[PB:.*]] = tensor.pad %[[RB]] low[0, 0, 1, 0] high[0, 0, 0, 2]
// CHECK:         linalg.conv_2d_nchw_fchw {{.*}} ins(%[[PA]],
// CHECK:         linalg.conv_2d_nchw_fchw {{.*}} ins(%[[PB]],
// CHECK:         return %{{.*}}, %[[WHOLE]]
func.func @between(%a: tensor<1x3x8x8xf32>, %b: tensor<1x5x8x8xf32>, %w: tensor<4x8x3x3xf32>, %i: tensor<1x4x7x8xf32>) -> (tensor<1x4x7x8xf32>, tensor<1x8x8x8xf32>) {
  %z = arith.constant 0.0 : f32
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3x8x8xf32>, tensor<1x5x8x8xf32>) -> tensor<1x8x8x8xf32>
  %e = tensor.empty() : tensor<1x8x8x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>, affine_map<(n, c, h, w) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c : tensor<1x8x8x8xf32>) outs(%e : tensor<1x8x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %z : f32
    linalg.yield %m : f32
  } -> tensor<1x8x8x8xf32>
  %p = tensor.pad %r low[0, 0, 1, 0] high[0, 0, 0, 2] {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
    tensor.yield %z : f32
  } : tensor<1x8x8x8xf32> to tensor<1x8x9x10xf32>
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%p, %w : tensor<1x8x9x10xf32>, tensor<4x8x3x3xf32>) outs(%i : tensor<1x4x7x8xf32>) -> tensor<1x4x7x8xf32>
  return %y, %r : tensor<1x4x7x8xf32>, tensor<1x8x8x8xf32>
}

// -----

// Concatenations of concatenations are taken apart, and an operand may come twice.

// CHECK-LABEL: func.func @nested
// CHECK-SAME:    (%[[A:.*]]: tensor<1x3xf32>, %[[B:.*]]: tensor<1x5xf32>,
// CHECK-NOT:     tensor.concat
// CHECK:         linalg.matmul ins(%[[A]], %{{.*}} : tensor<1x3xf32>, tensor<3x4xf32>)
// CHECK:         linalg.matmul ins(%[[B]], %{{.*}} : tensor<1x5xf32>, tensor<5x4xf32>)
// CHECK:         tensor.extract_slice %{{.*}}[8, 0] [3, 4] [1, 1]
// CHECK:         linalg.matmul ins(%[[A]], %{{.*}} : tensor<1x3xf32>, tensor<3x4xf32>)
func.func @nested(%a: tensor<1x3xf32>, %b: tensor<1x5xf32>, %w: tensor<11x4xf32>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3xf32>, tensor<1x5xf32>) -> tensor<1x8xf32>
  %d = tensor.concat dim(1) %c, %a : (tensor<1x8xf32>, tensor<1x3xf32>) -> tensor<1x11xf32>
  %y = linalg.matmul ins(%d, %w : tensor<1x11xf32>, tensor<11x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

// Channels flattened for a fully connected layer: each part flattens by itself.

// CHECK-LABEL: func.func @flatten
// CHECK:         tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2, 3]] : tensor<1x2x3x3xf32> into tensor<1x18xf32>
// CHECK:         tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2, 3]] : tensor<1x1x3x3xf32> into tensor<1x9xf32>
// CHECK:         tensor.extract_slice %{{.*}}[0, 0] [18, 4] [1, 1]
// CHECK:         tensor.extract_slice %{{.*}}[18, 0] [9, 4] [1, 1]
func.func @flatten(%a: tensor<1x2x3x3xf32>, %b: tensor<1x1x3x3xf32>, %w: tensor<27x4xf32>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x2x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x3x3x3xf32>
  %f = tensor.collapse_shape %c [[0], [1, 2, 3]] : tensor<1x3x3x3xf32> into tensor<1x27xf32>
  %y = linalg.matmul ins(%f, %w : tensor<1x27xf32>, tensor<27x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

// Zero points are subtracted element by element, so quantised convolutions are sums over channels as well.

// CHECK-LABEL: func.func @quantised
// CHECK:         linalg.conv_2d_nchw_fchw_q {{.*}} ins(%{{.*}}, %{{.*}}, %[[ZX:.*]], %[[ZW:.*]] : tensor<1x2x5x5xi8>, tensor<3x2x3x3xi8>, i32, i32)
// CHECK:         linalg.conv_2d_nchw_fchw_q {{.*}} ins(%{{.*}}, %{{.*}}, %[[ZX]], %[[ZW]] : tensor<1x4x5x5xi8>, tensor<3x4x3x3xi8>, i32, i32)
func.func @quantised(%a: tensor<1x2x5x5xi8>, %b: tensor<1x4x5x5xi8>, %w: tensor<3x6x3x3xi8>, %i: tensor<1x3x3x3xi32>) -> tensor<1x3x3x3xi32> {
  %zx = arith.constant -7 : i32
  %zw = arith.constant 3 : i32
  %c = tensor.concat dim(1) %a, %b : (tensor<1x2x5x5xi8>, tensor<1x4x5x5xi8>) -> tensor<1x6x5x5xi8>
  %y = linalg.conv_2d_nchw_fchw_q {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%c, %w, %zx, %zw : tensor<1x6x5x5xi8>, tensor<3x6x3x3xi8>, i32, i32) outs(%i : tensor<1x3x3x3xi32>) -> tensor<1x3x3x3xi32>
  return %y : tensor<1x3x3x3xi32>
}

// -----

// After generalisation, in three dimensions of space, with a batch of unknown size.

// CHECK-LABEL: func.func @generic
// CHECK:         linalg.generic {{.*}} ins({{.*}} : tensor<?x2x5x5x5xf32>, tensor<3x2x2x2x2xf32>)
// CHECK:         linalg.generic {{.*}} ins({{.*}} : tensor<?x4x5x5x5xf32>, tensor<3x4x2x2x2xf32>)
func.func @generic(%a: tensor<?x2x5x5x5xf32>, %b: tensor<?x4x5x5x5xf32>, %w: tensor<3x6x2x2x2xf32>, %i: tensor<?x3x4x4x4xf32>) -> tensor<?x3x4x4x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<?x2x5x5x5xf32>, tensor<?x4x5x5x5xf32>) -> tensor<?x6x5x5x5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, f, x, y, z, c, i, j, k) -> (n, c, x + i, y + j, z + k)>, affine_map<(n, f, x, y, z, c, i, j, k) -> (f, c, i, j, k)>, affine_map<(n, f, x, y, z, c, i, j, k) -> (n, f, x, y, z)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%c, %w : tensor<?x6x5x5x5xf32>, tensor<3x6x2x2x2xf32>) outs(%i : tensor<?x3x4x4x4xf32>) {
  ^bb0(%in: f32, %weight: f32, %out: f32):
    %m = arith.mulf %in, %weight : f32
    %s = arith.addf %m, %out : f32
    linalg.yield %s : f32
  } -> tensor<?x3x4x4x4xf32>
  return %y : tensor<?x3x4x4x4xf32>
}

// -----

// A part that is a constant is a part like others; one without channels is none.

// CHECK-LABEL: func.func @constant_part
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<1x2xf32>
// CHECK:         linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<1x3xf32>, tensor<3x4xf32>)
// CHECK:         linalg.matmul ins(%[[ONES]], %{{.*}} : tensor<1x2xf32>, tensor<2x4xf32>)
// CHECK-NOT:     linalg.matmul
func.func @constant_part(%a: tensor<1x3xf32>, %none: tensor<1x0xf32>, %w: tensor<5x4xf32>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %one = arith.constant dense<1.0> : tensor<1x2xf32>
  %c = tensor.concat dim(1) %a, %none, %one : (tensor<1x3xf32>, tensor<1x0xf32>, tensor<1x2xf32>) -> tensor<1x5xf32>
  %y = linalg.matmul ins(%c, %w : tensor<1x5xf32>, tensor<5x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}
