// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-share-padding)' --split-input-file | FileCheck %s

// The sum reads the interior of what is padded for another reader.

// CHECK-LABEL: func.func @shared
// CHECK:         %[[X:.*]] = linalg.elementwise <exp>
// CHECK-NEXT:    %[[P:.*]] = tensor.pad %[[X]] low[1, 2] high[1, 0]
// CHECK:         %[[I:.*]] = tensor.extract_slice %[[P]][1, 2] [4, 8] [1, 1]
// CHECK:         linalg.elementwise <add> ins(%[[I]], %arg0
// CHECK:         linalg.elementwise <abs> ins(%[[P]]
func.func @shared(%a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<6x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %ep = tensor.empty() : tensor<6x10xf32>
  %x = linalg.elementwise <exp> ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.elementwise <add> ins(%x, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = tensor.pad %x low[1, 2] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x8xf32> to tensor<6x10xf32>
  %y = linalg.elementwise <abs> ins(%p : tensor<6x10xf32>) outs(%ep : tensor<6x10xf32>) -> tensor<6x10xf32>
  return %s, %y : tensor<4x8xf32>, tensor<6x10xf32>
}

// -----

// Left alone: an argument is stored as it came; nothing else reads what is padded; there are two pads.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT:     tensor.extract_slice
// CHECK:         return
func.func @left_alone(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %x = linalg.elementwise <exp> ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.elementwise <abs> ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %p = tensor.pad %a low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<5xf32>
  %q = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<5xf32>
  %r = tensor.pad %y low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<5xf32>
  %s = tensor.pad %y low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %y, %p, %q, %r, %s : tensor<4xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<6xf32>
}
