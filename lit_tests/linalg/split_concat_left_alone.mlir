// RUN: serenity-opt %s --serenity-split-concat-depthwise-conv --serenity-split-concat-conv='exact=true' --split-input-file --verify-diagnostics | FileCheck %s

// What looks like a place for a split and is none, or none that keeps results to the bit.

// CHECK-COUNT-12: tensor.concat
// CHECK-NOT:      tensor.concat

func.func @height(%a: tensor<1x8x4x8xf32>, %b: tensor<1x8x4x8xf32>, %w: tensor<4x8x3x3xf32>, %i: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %c = tensor.concat dim(2) %a, %b : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>) -> tensor<1x8x8x8xf32>
  // expected-remark @+1 {{serenity-split-concat-conv leaves linalg.conv_2d_nchw_fchw alone: the concatenation is along dimension 2, over which a window slides}}
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%c, %w : tensor<1x8x8x8xf32>, tensor<4x8x3x3xf32>) outs(%i : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

func.func @batch(%a: tensor<1x8x8x8xf32>, %b: tensor<1x8x8x8xf32>, %w: tensor<4x8x3x3xf32>, %i: tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32> {
  %c = tensor.concat dim(0) %a, %b : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<2x8x8x8xf32>
  // expected-remark @+1 {{alone: the concatenation is along dimension 0, which another operand does not have}}
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%c, %w : tensor<2x8x8x8xf32>, tensor<4x8x3x3xf32>) outs(%i : tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  return %y : tensor<2x4x6x6xf32>
}

// -----

func.func @group(%a: tensor<1x3x5x5xf32>, %b: tensor<1x5x5x5xf32>, %w: tensor<2x3x4x3x3xf32>, %i: tensor<1x2x3x3x3xf32>) -> tensor<1x2x3x3x3xf32> {
  %x = tensor.concat dim(1) %a, %b : (tensor<1x3x5x5xf32>, tensor<1x5x5x5xf32>) -> tensor<1x8x5x5xf32>
  %g = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [1, 2, 4, 5, 5] : tensor<1x8x5x5xf32> into tensor<1x2x4x5x5xf32>
  // expected-remark @+1 {{serenity-split-concat-depthwise-conv leaves linalg.conv_2d_ngchw_gfchw alone: a boundary lies inside a group of 4}}
  %y = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%g, %w : tensor<1x2x4x5x5xf32>, tensor<2x3x4x3x3xf32>) outs(%i : tensor<1x2x3x3x3xf32>) -> tensor<1x2x3x3x3xf32>
  return %y : tensor<1x2x3x3x3xf32>
}

// -----

func.func @padded_channels(%a: tensor<1x3x8x8xf32>, %b: tensor<1x4x8x8xf32>, %w: tensor<4x8x3x3xf32>, %i: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %z = arith.constant 0.0 : f32
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x7x8x8xf32>
  %p = tensor.pad %c low[0, 0, 0, 0] high[0, 1, 0, 0] {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
    tensor.yield %z : f32
  } : tensor<1x7x8x8xf32> to tensor<1x8x8x8xf32>
  // expected-remark @+1 {{alone: padding lies along the concatenation, dimension 1}}
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%p, %w : tensor<1x8x8x8xf32>, tensor<4x8x3x3xf32>) outs(%i : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// -----

func.func @padding_by_position(%a: tensor<1x3xf32>, %b: tensor<1x4xf32>, %w: tensor<7x4xf32>, %i: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3xf32>, tensor<1x4xf32>) -> tensor<1x7xf32>
  %p = tensor.pad %c low[0, 0] high[1, 0] {
  ^bb0(%i0: index, %i1: index):
    %n = arith.index_cast %i1 : index to i32
    %f = arith.sitofp %n : i32 to f32
    tensor.yield %f : f32
  } : tensor<1x7xf32> to tensor<2x7xf32>
  // expected-remark @+1 {{alone: what pads the concatenation depends on the position}}
  %y = linalg.matmul ins(%p, %w : tensor<2x7xf32>, tensor<7x4xf32>) outs(%i : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

func.func @channels_last_flattened(%a: tensor<1x3x3x2xf32>, %b: tensor<1x3x3x1xf32>, %w: tensor<27x4xf32>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c = tensor.concat dim(3) %a, %b : (tensor<1x3x3x2xf32>, tensor<1x3x3x1xf32>) -> tensor<1x3x3x3xf32>
  %f = tensor.collapse_shape %c [[0], [1, 2, 3]] : tensor<1x3x3x3xf32> into tensor<1x27xf32>
  // expected-remark @+1 {{alone: a reshape folds the concatenation's dimension with an outer one}}
  %y = linalg.matmul ins(%f, %w : tensor<1x27xf32>, tensor<27x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

func.func @dynamic(%a: tensor<1x?xf32>, %b: tensor<1x4xf32>, %w: tensor<?x4xf32>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x?xf32>, tensor<1x4xf32>) -> tensor<1x?xf32>
  // expected-remark @+1 {{alone: the sizes that are concatenated along dimension 1 are not constant}}
  %y = linalg.matmul ins(%c, %w : tensor<1x?xf32>, tensor<?x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

func.func @position(%a: tensor<1x3xf32>, %b: tensor<1x4xf32>, %w: tensor<7x4xf32>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3xf32>, tensor<1x4xf32>) -> tensor<1x7xf32>
  %e = tensor.empty() : tensor<1x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (n, c)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<1x7xf32>) outs(%e : tensor<1x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %at = linalg.index 1 : index
    %n = arith.index_cast %at : index to i32
    %f = arith.sitofp %n : i32 to f32
    %m = arith.mulf %in, %f : f32
    linalg.yield %m : f32
  } -> tensor<1x7xf32>
  // expected-remark @+1 {{alone: an op between computes with the position along the concatenation}}
  %y = linalg.matmul ins(%r, %w : tensor<1x7xf32>, tensor<7x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

func.func @own_position(%a: tensor<3xf32>, %b: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> {
  %c = tensor.concat dim(0) %a, %b : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  // expected-remark @+1 {{alone: its body computes with the position along the concatenation}}
  %y = linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> ()>], iterator_types = ["reduction"]} ins(%c : tensor<7xf32>) outs(%i : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %at = linalg.index 0 : index
    %n = arith.index_cast %at : index to i32
    %f = arith.sitofp %n : i32 to f32
    %m = arith.mulf %in, %f : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @no_sum(%a: tensor<1x3xf32>, %b: tensor<1x4xf32>, %i: tensor<1xf32>) -> tensor<1xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3xf32>, tensor<1x4xf32>) -> tensor<1x7xf32>
  // expected-remark @+1 {{alone: the concatenation is along dimension 1, which it reduces by something else than a sum}}
  %y = linalg.reduce ins(%c : tensor<1x7xf32>) outs(%i : tensor<1xf32>) dimensions = [1] (%in: f32, %out: f32) {
    %m = arith.maximumf %in, %out : f32
    linalg.yield %m : f32
  }
  return %y : tensor<1xf32>
}

// -----

func.func @floats(%a: tensor<1x3xf32>, %b: tensor<1x4xf32>, %w: tensor<7x4xf32>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3xf32>, tensor<1x4xf32>) -> tensor<1x7xf32>
  // expected-remark @+1 {{serenity-split-concat-conv leaves linalg.matmul alone: it would reassociate a sum of floats}}
  %y = linalg.matmul ins(%c, %w : tensor<1x7xf32>, tensor<7x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

#same = affine_map<(n, c) -> (n, c)>
#scalar = affine_map<(n, c) -> ()>
func.func @dequantised(%a: tensor<1x3xi8>, %b: tensor<1x4xi8>, %w: tensor<7x4xi8>, %i: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %s = arith.constant 0.5 : f32
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3xi8>, tensor<1x4xi8>) -> tensor<1x7xi8>
  %ex = tensor.empty() : tensor<1x7xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#same, #scalar, #same], quant_min = -128, quant_max = 127> ins(%c, %s : tensor<1x7xi8>, f32) outs(%ex : tensor<1x7xf32>) -> tensor<1x7xf32>
  %ew = tensor.empty() : tensor<7x4xf32>
  %v = iree_linalg_ext.dequantize_affine <indexing_maps = [#same, #scalar, #same], quant_min = -128, quant_max = 127> ins(%w, %s : tensor<7x4xi8>, f32) outs(%ew : tensor<7x4xf32>) -> tensor<7x4xf32>
  // expected-remark @+1 {{alone: all that it multiplies is dequantised, and IREE sums that in integers only as a whole}}
  %y = linalg.matmul ins(%x, %v : tensor<1x7xf32>, tensor<7x4xf32>) outs(%i : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

// Sums of integers stay exact, and are split.

func.func @integers(%a: tensor<1x3xi32>, %b: tensor<1x4xi32>, %w: tensor<7x4xi32>, %i: tensor<1x4xi32>) -> tensor<1x4xi32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<1x3xi32>, tensor<1x4xi32>) -> tensor<1x7xi32>
  %y = linalg.matmul ins(%c, %w : tensor<1x7xi32>, tensor<7x4xi32>) outs(%i : tensor<1x4xi32>) -> tensor<1x4xi32>
  return %y : tensor<1x4xi32>
}
