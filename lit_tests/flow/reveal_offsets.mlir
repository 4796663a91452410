// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-reveal-offsets)' | FileCheck %s

// An offset that was hidden is a constant again; what a model hides for itself stays.

// CHECK-LABEL: func.func @hidden
// CHECK:         %[[C:.*]] = arith.constant 2 : index
// CHECK:         tensor.extract_slice %arg0[%[[C]]] [2] [1]
// CHECK:         %[[B:.*]] = util.optimization_barrier %[[C]] : index
// CHECK:         tensor.extract_slice %arg0[%[[B]]] [2] [1]
func.func @hidden(%a: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = arith.constant 2 : index
  %o = util.optimization_barrier {serenity.offset} %c : index
  %s = tensor.extract_slice %a[%o] [2] [1] : tensor<4xf32> to tensor<2xf32>
  %b = util.optimization_barrier %c : index
  %t = tensor.extract_slice %a[%b] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %s, %t : tensor<2xf32>, tensor<2xf32>
}
