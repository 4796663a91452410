// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-commute-quantize)' --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// The same scale on every side: the integers are concatenated and nothing is left of the rest.

// CHECK-LABEL: func.func @same_scale
// CHECK-NEXT:    %[[C:.*]] = tensor.concat dim(0) %arg0, %arg1 : (tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<5x4xi8>
// CHECK-NEXT:    return %[[C]]
func.func @same_scale(%a: tensor<2x4xi8>, %b: tensor<3x4xi8>) -> tensor<5x4xi8> {
  %s = arith.constant 0.5 : f32
  %z = arith.constant 3 : i64
  %ea = tensor.empty() : tensor<2x4xf32>
  %eb = tensor.empty() : tensor<3x4xf32>
  %ec = tensor.empty() : tensor<5x4xi8>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #scalar, #id], quant_min = -128, quant_max = 127> ins(%a, %s, %z : tensor<2x4xi8>, f32, i64) outs(%ea : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #scalar, #id], quant_min = -128, quant_max = 127> ins(%b, %s, %z : tensor<3x4xi8>, f32, i64) outs(%eb : tensor<3x4xf32>) -> tensor<3x4xf32>
  %c = tensor.concat dim(0) %x, %y : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#id, #scalar, #scalar, #id], quant_min = -128, quant_max = 127> ins(%c, %s, %z : tensor<5x4xf32>, f32, i64) outs(%ec : tensor<5x4xi8>) -> tensor<5x4xi8>
  return %q : tensor<5x4xi8>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Different scales: each branch is requantised before the concat; a float branch is quantised there.

// CHECK-LABEL: func.func @requantise
// CHECK:         %[[X:.*]] = iree_linalg_ext.dequantize_affine
// CHECK:         %[[A:.*]] = iree_linalg_ext.quantize_affine {{.*}}ins(%[[X]]
// CHECK:         %[[B:.*]] = iree_linalg_ext.quantize_affine {{.*}}ins(%arg1
// CHECK:         %[[C:.*]] = tensor.concat dim(0) %[[A]], %[[B]] : (tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<5x4xi8>
// CHECK-NEXT:    return %[[C]]
func.func @requantise(%a: tensor<2x4xi8>, %y: tensor<3x4xf32>) -> tensor<5x4xi8> {
  %s = arith.constant 0.5 : f32
  %t = arith.constant 0.75 : f32
  %ea = tensor.empty() : tensor<2x4xf32>
  %ec = tensor.empty() : tensor<5x4xi8>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%a, %s : tensor<2x4xi8>, f32) outs(%ea : tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = tensor.concat dim(0) %x, %y : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%c, %t : tensor<5x4xf32>, f32) outs(%ec : tensor<5x4xi8>) -> tensor<5x4xi8>
  return %q : tensor<5x4xi8>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Zero is the zero point of unsigned storage, whose bits print with a sign; a transpose follows.

// CHECK-LABEL: func.func @pad_and_transpose
// CHECK:         %[[P:.*]] = tensor.pad %arg0 low[1, 0] high[0, 2]
// CHECK:           %[[Z:.*]] = arith.constant -56 : i8
// CHECK:           tensor.yield %[[Z]] : i8
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[P]] : tensor<3x6xi8>) outs({{.*}} : tensor<6x3xi8>) permutation = [1, 0]
// CHECK:         %[[D:.*]] = iree_linalg_ext.dequantize_affine {{.*}}input_unsigned{{.*}}ins(%[[T]]
// CHECK:         return %[[D]]
func.func @pad_and_transpose(%a: tensor<2x4xi8>) -> tensor<6x3xf32> {
  %s = arith.constant 0.5 : f32
  %z = arith.constant 200 : i64
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<2x4xf32>
  %et = tensor.empty() : tensor<6x3xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #scalar, #id], quant_min = 0, quant_max = 255, input_unsigned> ins(%a, %s, %z : tensor<2x4xi8>, f32, i64) outs(%ea : tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = tensor.pad %x low[1, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x4xf32> to tensor<3x6xf32>
  %t = linalg.transpose ins(%p : tensor<3x6xf32>) outs(%et : tensor<6x3xf32>) permutation = [1, 0]
  return %t : tensor<6x3xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Left alone: 0.3 is no multiple of the scale, and the result is used as f32.

// CHECK-LABEL: func.func @inexact_padding
// CHECK:         %[[P:.*]] = tensor.pad {{.*}}
// CHECK:         } : tensor<2x4xf32> to tensor<3x4xf32>
// CHECK:         return %[[P]]
func.func @inexact_padding(%a: tensor<2x4xi8>) -> tensor<3x4xf32> {
  %s = arith.constant 0.5 : f32
  %v = arith.constant 0.3 : f32
  %ea = tensor.empty() : tensor<2x4xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%a, %s : tensor<2x4xi8>, f32) outs(%ea : tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = tensor.pad %x low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<2x4xf32> to tensor<3x4xf32>
  return %p : tensor<3x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Left alone: two scales, and a result that is used as f32.

// CHECK-LABEL: func.func @two_scales_to_float
// CHECK:         tensor.concat dim(0) {{.*}} -> tensor<4x4xf32>
func.func @two_scales_to_float(%a: tensor<2x4xi8>) -> tensor<4x4xf32> {
  %s = arith.constant 0.5 : f32
  %t = arith.constant 0.75 : f32
  %ea = tensor.empty() : tensor<2x4xf32>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%a, %s : tensor<2x4xi8>, f32) outs(%ea : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -128, quant_max = 127> ins(%a, %t : tensor<2x4xi8>, f32) outs(%ea : tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = tensor.concat dim(0) %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Left alone: quantising clamps to 7 bits what the storage may hold in 8.

// CHECK-LABEL: func.func @clamps
// CHECK:         iree_linalg_ext.dequantize_affine
// CHECK:         iree_linalg_ext.quantize_affine
func.func @clamps(%a: tensor<2x4xi8>) -> tensor<2x4xi8> {
  %s = arith.constant 0.5 : f32
  %ea = tensor.empty() : tensor<2x4xf32>
  %ec = tensor.empty() : tensor<2x4xi8>
  %x = iree_linalg_ext.dequantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -64, quant_max = 63> ins(%a, %s : tensor<2x4xi8>, f32) outs(%ea : tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#id, #scalar, #id], quant_min = -64, quant_max = 63> ins(%x, %s : tensor<2x4xf32>, f32) outs(%ec : tensor<2x4xi8>) -> tensor<2x4xi8>
  return %q : tensor<2x4xi8>
}
