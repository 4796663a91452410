// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-centre-weights)' --split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// CHECK-LABEL: func.func @centred
// CHECK:         %[[W:.*]] = arith.constant dense<[-128, 127, 0, 2]> : tensor<4xi8>
// CHECK:         iree_linalg_ext.dequantize_affine <indexing_maps = [{{.*}}], quant_min = -128, quant_max = 127> ins(%[[W]], %{{.*}} : tensor<4xi8>, f32)
func.func @centred() -> tensor<4xf32> {
  %w = arith.constant dense<[0, -1, -128, -126]> : tensor<4xi8>
  %s = arith.constant 0.5 : f32
  %z = arith.constant 128 : i64
  %e = tensor.empty() : tensor<4xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #scalar, #id], quant_min = 0, quant_max = 255, input_unsigned> ins(%w, %s, %z : tensor<4xi8>, f32, i64) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// Left alone: 255 - 100 is more than 8 bits hold with a sign.

// CHECK-LABEL: func.func @does_not_fit
// CHECK:         dense<[0, -1, -128, -126]>
// CHECK:         iree_linalg_ext.dequantize_affine {{.*}}input_unsigned
func.func @does_not_fit() -> tensor<4xf32> {
  %w = arith.constant dense<[0, -1, -128, -126]> : tensor<4xi8>
  %s = arith.constant 0.5 : f32
  %z = arith.constant 100 : i64
  %e = tensor.empty() : tensor<4xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #scalar, #id], quant_min = 0, quant_max = 255, input_unsigned> ins(%w, %s, %z : tensor<4xi8>, f32, i64) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// Signed, one value for all elements.

// CHECK-LABEL: func.func @splat
// CHECK:         arith.constant dense<-15> : tensor<4xi8>
func.func @splat() -> tensor<4xf32> {
  %w = arith.constant dense<-5> : tensor<4xi8>
  %s = arith.constant 0.5 : f32
  %z = arith.constant 10 : i64
  %e = tensor.empty() : tensor<4xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #scalar, #id], quant_min = -128, quant_max = 127> ins(%w, %s, %z : tensor<4xi8>, f32, i64) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
