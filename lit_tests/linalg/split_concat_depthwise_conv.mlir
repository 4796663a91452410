// RUN: serenity-opt %s --serenity-split-concat-depthwise-conv --split-input-file | FileCheck %s

// A depthwise convolution of each part; the bias is broadcast to each, never whole.

// CHECK-LABEL: func.func @depthwise
// CHECK-SAME:    (%[[A:.*]]: tensor<1x3x8x8xf32>, %[[B:.*]]: tensor<1x5x8x8xf32>, %[[W:.*]]: tensor<8x3x3xf32>, %[[BIAS:.*]]: tensor<8xf32>)
// CHECK:         %[[WA:.*]] = tensor.extract_slice %[[W]][0, 0, 0] [3, 3, 3] [1, 1, 1]
// CHECK:         %[[BA:.*]] = tensor.extract_slice %[[BIAS]][0] [3] [1]
// CHECK:         %[[IA:.*]] = linalg.broadcast ins(%[[BA]] : tensor<3xf32>) outs(%{{.*}} : tensor<1x3x6x6xf32>)
// CHECK:         %[[YA:.*]] = linalg.depthwise_conv_2d_nchw_chw {{.*}} ins(%[[A]], %[[WA]] : {{.*}}) outs(%[[IA]] :
// CHECK:         %[[YB:.*]] = linalg.depthwise_conv_2d_nchw_chw {{.*}} ins(%[[B]], %{{.*}} : {{.*}}) outs(%{{.*}} : tensor<1x5x6x6xf32>)
// CHECK:         %[[Y:.*]] = tensor.concat dim(1) %[[YA]], %[[YB]]
// CHECK:         return %[[Y]]
func.func @depthwise(%a: tensor<1x3x8x8xf32>, %b: tensor<1x5x8x8xf32>, %w: tensor<8x3x3xf32>, %bias: tensor<8xf32>) -> tensor<1x8x6x6xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3x8x8xf32>, tensor<1x5x8x8xf32>) -> tensor<1x8x8x8xf32>
  %e = tensor.empty() : tensor<1x8x6x6xf32>
  %i = linalg.broadcast ins(%bias : tensor<8xf32>) outs(%e : tensor<1x8x6x6xf32>) dimensions = [0, 2, 3]
  %y = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%c, %w : tensor<1x8x8x8xf32>, tensor<8x3x3xf32>) outs(%i : tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  return %y : tensor<1x8x6x6xf32>
}

// -----

// A multiplier of two: each channel has two kernels, and the result one more dimension.

// CHECK-LABEL: func.func @multiplier
// CHECK:         linalg.depthwise_conv_2d_nhwc_hwcm {{.*}} ins({{.*}} : tensor<1x8x8x3xf32>, tensor<3x3x3x2xf32>) outs({{.*}} : tensor<1x6x6x3x2xf32>)
// CHECK:         linalg.depthwise_conv_2d_nhwc_hwcm {{.*}} ins({{.*}} : tensor<1x8x8x5xf32>, tensor<3x3x5x2xf32>) outs({{.*}} : tensor<1x6x6x5x2xf32>)
// CHECK:         tensor.concat dim(3)
func.func @multiplier(%a: tensor<1x8x8x3xf32>, %b: tensor<1x8x8x5xf32>, %w: tensor<3x3x8x2xf32>) -> tensor<1x6x6x8x2xf32> {
  %z = arith.constant 0.0 : f32
  %c = tensor.concat dim(3) %a, %b : (tensor<1x8x8x3xf32>, tensor<1x8x8x5xf32>) -> tensor<1x8x8x8xf32>
  %e = tensor.empty() : tensor<1x6x6x8x2xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x6x6x8x2xf32>) -> tensor<1x6x6x8x2xf32>
  %y = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%c, %w : tensor<1x8x8x8xf32>, tensor<3x3x8x2xf32>) outs(%i : tensor<1x6x6x8x2xf32>) -> tensor<1x6x6x8x2xf32>
  return %y : tensor<1x6x6x8x2xf32>
}

// -----

// Groups of two channels: parts of three and one make two groups together, the part of two one.

// CHECK-LABEL: func.func @grouped
// CHECK:         %[[FIRST:.*]] = tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<1x3x5x5xf32>, tensor<1x1x5x5xf32>) -> tensor<1x4x5x5xf32>
// CHECK:         tensor.expand_shape %[[FIRST]] {{.*}} output_shape [1, 2, 2, 5, 5]
// CHECK:         tensor.expand_shape %{{.*}} {{.*}} output_shape [1, 1, 2, 5, 5]
// CHECK:         linalg.conv_2d_ngchw_gfchw {{.*}} ins({{.*}} : tensor<1x2x2x5x5xf32>, tensor<2x3x2x3x3xf32>) outs({{.*}} : tensor<1x2x3x3x3xf32>)
// CHECK:         linalg.conv_2d_ngchw_gfchw {{.*}} ins({{.*}} : tensor<1x1x2x5x5xf32>, tensor<1x3x2x3x3xf32>) outs({{.*}} : tensor<1x1x3x3x3xf32>)
// CHECK:         tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<1x2x3x3x3xf32>, tensor<1x1x3x3x3xf32>) -> tensor<1x3x3x3x3xf32>
func.func @grouped(%a: tensor<1x3x5x5xf32>, %b: tensor<1x1x5x5xf32>, %c: tensor<1x2x5x5xf32>, %w: tensor<3x3x2x3x3xf32>, %i: tensor<1x3x3x3x3xf32>) -> tensor<1x3x3x3x3xf32> {
  %x = tensor.concat dim(1) %a, %b, %c : (tensor<1x3x5x5xf32>, tensor<1x1x5x5xf32>, tensor<1x2x5x5xf32>) -> tensor<1x6x5x5xf32>
  %g = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [1, 3, 2, 5, 5] : tensor<1x6x5x5xf32> into tensor<1x3x2x5x5xf32>
  %y = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%g, %w : tensor<1x3x2x5x5xf32>, tensor<3x3x2x3x3xf32>) outs(%i : tensor<1x3x3x3x3xf32>) -> tensor<1x3x3x3x3xf32>
  return %y : tensor<1x3x3x3x3xf32>
}

// -----

// A pool reads no kernel: its channels are as much apart as those of a depthwise convolution.

// CHECK-LABEL: func.func @pool
// CHECK:         linalg.pooling_nchw_max {{.*}} ins(%{{.*}}, %[[WINDOW:.*]] : tensor<1x3x8x8xf32>, tensor<2x2xf32>)
// CHECK:         linalg.pooling_nchw_max {{.*}} ins(%{{.*}}, %[[WINDOW]] : tensor<1x5x8x8xf32>, tensor<2x2xf32>)
// CHECK:         tensor.concat dim(1)
func.func @pool(%a: tensor<1x3x8x8xf32>, %b: tensor<1x5x8x8xf32>, %i: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3x8x8xf32>, tensor<1x5x8x8xf32>) -> tensor<1x8x8x8xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %y = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%c, %k : tensor<1x8x8x8xf32>, tensor<2x2xf32>) outs(%i : tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return %y : tensor<1x8x4x4xf32>
}

// -----

// Zero points are for all channels.

// CHECK-LABEL: func.func @quantised
// CHECK:         linalg.depthwise_conv_2d_nhwc_hwcm_q {{.*}} ins({{.*}} : tensor<1x6x6x2xi8>, tensor<3x3x2x2xi8>, i32, i32)
// CHECK:         linalg.depthwise_conv_2d_nhwc_hwcm_q {{.*}} ins({{.*}} : tensor<1x6x6x1xi8>, tensor<3x3x1x2xi8>, i32, i32)
// CHECK:         tensor.concat dim(3)
func.func @quantised(%a: tensor<1x6x6x2xi8>, %b: tensor<1x6x6x1xi8>, %w: tensor<3x3x3x2xi8>, %i: tensor<1x4x4x3x2xi32>) -> tensor<1x4x4x3x2xi32> {
  %zx = arith.constant -5 : i32
  %zw = arith.constant 3 : i32
  %c = tensor.concat dim(3) %a, %b : (tensor<1x6x6x2xi8>, tensor<1x6x6x1xi8>) -> tensor<1x6x6x3xi8>
  %y = linalg.depthwise_conv_2d_nhwc_hwcm_q {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%c, %w, %zx, %zw : tensor<1x6x6x3xi8>, tensor<3x3x3x2xi8>, i32, i32) outs(%i : tensor<1x4x4x3x2xi32>) -> tensor<1x4x4x3x2xi32>
  return %y : tensor<1x4x4x3x2xi32>
}
