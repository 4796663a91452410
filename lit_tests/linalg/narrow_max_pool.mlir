// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-narrow-max-pool)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#scalar = affine_map<(d0, d1, d2) -> ()>

// Padded with minus infinity, unsigned: padded and started with the least integer.

// CHECK-LABEL: func.func @padded
// CHECK:         %[[P:.*]] = tensor.pad %arg0 low[0, 0, 1] high[0, 0, 1]
// CHECK:           %[[Z:.*]] = arith.constant 0 : i8
// CHECK:         %[[F:.*]] = linalg.fill ins({{.*}} : i8) outs({{.*}} : tensor<1x2x4xi8>)
// CHECK:         %[[M:.*]] = linalg.generic {{.*}}"parallel", "parallel", "parallel", "reduction"]} ins(%[[P]], {{.*}}) outs(%[[F]] : tensor<1x2x4xi8>)
// CHECK:           arith.maxui
// CHECK:         %[[D:.*]] = iree_linalg_ext.dequantize_affine {{.*}}ins(%[[M]]
// CHECK:         return %[[D]]
func.func @padded(%a: tensor<1x2x8xi8>) -> tensor<1x2x4xf32> {
  %s = arith.constant 0.5 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3xf32>
  %ea = tensor.empty() : tensor<1x2x8xf32>
  %er = tensor.empty() : tensor<1x2x4xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = 0, quant_max = 255, input_unsigned> ins(%a, %s : tensor<1x2x8xi8>, f32) outs(%ea : tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %p = tensor.pad %x low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %lowest : f32
  } : tensor<1x2x8xf32> to tensor<1x2x10xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%er : tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %m = linalg.pooling_ncw_max {strides = dense<2> : vector<1xi64>, dilations = dense<1> : vector<1xi64>} ins(%p, %window : tensor<1x2x10xf32>, tensor<3xf32>) outs(%f : tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %m : tensor<1x2x4xf32>
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#scalar = affine_map<(d0, d1, d2) -> ()>

// Left alone: the first window lies in the padding, where the maximum is minus infinity.

// CHECK-LABEL: func.func @empty_window
// CHECK:         linalg.pooling_ncw_max
func.func @empty_window(%a: tensor<1x2x8xi8>) -> tensor<1x2x5xf32> {
  %s = arith.constant 0.5 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<2xf32>
  %ea = tensor.empty() : tensor<1x2x8xf32>
  %er = tensor.empty() : tensor<1x2x5xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%a, %s : tensor<1x2x8xi8>, f32) outs(%ea : tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %p = tensor.pad %x low[0, 0, 2] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %lowest : f32
  } : tensor<1x2x8xf32> to tensor<1x2x10xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%er : tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  %m = linalg.pooling_ncw_max {strides = dense<2> : vector<1xi64>, dilations = dense<1> : vector<1xi64>} ins(%p, %window : tensor<1x2x10xf32>, tensor<2xf32>) outs(%f : tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
  return %m : tensor<1x2x5xf32>
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#scalar = affine_map<(d0, d1, d2) -> ()>

// Left alone: a maximum that starts at 0 is a ReLU besides.

// CHECK-LABEL: func.func @starts_at_zero
// CHECK:         linalg.pooling_ncw_max
func.func @starts_at_zero(%a: tensor<1x2x8xi8>) -> tensor<1x2x4xf32> {
  %s = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %window = tensor.empty() : tensor<2xf32>
  %ea = tensor.empty() : tensor<1x2x8xf32>
  %er = tensor.empty() : tensor<1x2x4xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%a, %s : tensor<1x2x8xi8>, f32) outs(%ea : tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %m = linalg.pooling_ncw_max {strides = dense<2> : vector<1xi64>, dilations = dense<1> : vector<1xi64>} ins(%x, %window : tensor<1x2x8xf32>, tensor<2xf32>) outs(%f : tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %m : tensor<1x2x4xf32>
}
