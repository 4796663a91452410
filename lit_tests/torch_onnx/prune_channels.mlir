// RUN: serenity-opt %s --serenity-prune-channels --split-input-file | FileCheck %s
// RUN: serenity-opt %s --serenity-prune-channels --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A filter, the bias and the input channel of the next convolution leave together.

// CHECK-LABEL: func.func @chain
func.func @chain(%x: !torch.vtensor<[1,1,4,4],f32>) -> !torch.vtensor<[1,1,4,4],f32> attributes {torch.onnx_meta.opset_version = 21 : si64} {
  // CHECK-DAG: dense<{{\[}}{{\[}}{{\[}}{{\[}}1.000000e+00]]], {{\[}}{{\[}}{{\[}}3.000000e+00]]]]> : tensor<2x1x1x1xf32>
  // CHECK-DAG: dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32>
  // CHECK-DAG: tensor<1x2x1x1xf32>
  %w0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]]]> : tensor<3x1x1x1xf32>} : () -> !torch.vtensor<[3,1,1,1],f32>
  %b0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<[4.0, 5.0, 6.0]> : tensor<3xf32>} : () -> !torch.vtensor<[3],f32>
  %w1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<7.0> : tensor<1x3x1x1xf32>} : () -> !torch.vtensor<[1,3,1,1],f32>
  // CHECK: onnx.Conv{{.*}} -> !torch.vtensor<[1,2,4,4],f32>
  // CHECK-NOT: serenity.gate
  %a = torch.operator "onnx.Conv"(%x, %w0, %b0) {serenity.gate = array<i1: true, false, true>} : (!torch.vtensor<[1,1,4,4],f32>, !torch.vtensor<[3,1,1,1],f32>, !torch.vtensor<[3],f32>) -> !torch.vtensor<[1,3,4,4],f32>
  // CHECK: onnx.Relu{{.*}} -> !torch.vtensor<[1,2,4,4],f32>
  %r = torch.operator "onnx.Relu"(%a) : (!torch.vtensor<[1,3,4,4],f32>) -> !torch.vtensor<[1,3,4,4],f32>
  // CHECK: onnx.Conv{{.*}} -> !torch.vtensor<[1,1,4,4],f32>
  %y = torch.operator "onnx.Conv"(%r, %w1) : (!torch.vtensor<[1,3,4,4],f32>, !torch.vtensor<[1,3,1,1],f32>) -> !torch.vtensor<[1,1,4,4],f32>
  return %y : !torch.vtensor<[1,1,4,4],f32>
}

// -----

// Sigmoid makes 0.5 of a masked channel: the next bias takes it up, and there was none.

// CHECK-LABEL: func.func @folds
func.func @folds(%x: !torch.vtensor<[1,1,4,4],f32>) -> !torch.vtensor<[1,1,4,4],f32> attributes {torch.onnx_meta.opset_version = 21 : si64} {
  %w0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<2x1x1x1xf32>} : () -> !torch.vtensor<[2,1,1,1],f32>
  // CHECK-DAG: dense<3.500000e+00> : tensor<1xf32>
  %w1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<7.0> : tensor<1x2x1x1xf32>} : () -> !torch.vtensor<[1,2,1,1],f32>
  %a = torch.operator "onnx.Conv"(%x, %w0) {serenity.gate = array<i1: true, false>} : (!torch.vtensor<[1,1,4,4],f32>, !torch.vtensor<[2,1,1,1],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  %s = torch.operator "onnx.Sigmoid"(%a) : (!torch.vtensor<[1,2,4,4],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  // CHECK: onnx.Conv"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) :
  %y = torch.operator "onnx.Conv"(%s, %w1) : (!torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[1,2,1,1],f32>) -> !torch.vtensor<[1,1,4,4],f32>
  return %y : !torch.vtensor<[1,1,4,4],f32>
}

// -----

// The other summand goes on: the channel stays, with a filter of zeros.

// REMARK: serenity-prune-channels: channels 1 of '{{.*}}' stay, set to zero: node '{{.*}}' (Conv) reads it, and it is not constant there

// CHECK-LABEL: func.func @one_summand
func.func @one_summand(%x: !torch.vtensor<[1,1,4,4],f32>) -> !torch.vtensor<[1,1,4,4],f32> attributes {torch.onnx_meta.opset_version = 21 : si64} {
  // CHECK-DAG: dense<{{\[}}{{\[}}{{\[}}{{\[}}1.000000e+00]]], {{\[}}{{\[}}{{\[}}0.000000e+00]]]]>
  %w0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<2x1x1x1xf32>} : () -> !torch.vtensor<[2,1,1,1],f32>
  %w1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<2.0> : tensor<2x1x1x1xf32>} : () -> !torch.vtensor<[2,1,1,1],f32>
  %w2 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<7.0> : tensor<1x2x1x1xf32>} : () -> !torch.vtensor<[1,2,1,1],f32>
  %a = torch.operator "onnx.Conv"(%x, %w0) {serenity.gate = array<i1: true, false>} : (!torch.vtensor<[1,1,4,4],f32>, !torch.vtensor<[2,1,1,1],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  %b = torch.operator "onnx.Conv"(%x, %w1) : (!torch.vtensor<[1,1,4,4],f32>, !torch.vtensor<[2,1,1,1],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  // CHECK: onnx.Add{{.*}} -> !torch.vtensor<[1,2,4,4],f32>
  %c = torch.operator "onnx.Add"(%a, %b) : (!torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[1,2,4,4],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  %y = torch.operator "onnx.Conv"(%c, %w2) : (!torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[1,2,1,1],f32>) -> !torch.vtensor<[1,1,4,4],f32>
  return %y : !torch.vtensor<[1,1,4,4],f32>
}

// -----

// No constant of an activation can be zeroed: what cannot leave is multiplied.

// CHECK-LABEL: func.func @in_the_open
func.func @in_the_open(%x: !torch.vtensor<[1,2,4,4],f32>) -> (!torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[1,2,4,4],f32>) attributes {torch.onnx_meta.opset_version = 21 : si64} {
  // CHECK: %[[RELU:.*]] = torch.operator "onnx.Relu"
  // CHECK: %[[MASK:.*]] = torch.operator "onnx.Constant"() {torch.onnx.value = dense<{{\[}}{{\[}}{{\[}}{{\[}}1.000000e+00]], {{\[}}{{\[}}0.000000e+00]]]]>
  // CHECK: %[[GATED:.*]] = torch.operator "onnx.Mul"(%[[RELU]], %[[MASK]])
  // CHECK: %[[NEG:.*]] = torch.operator "onnx.Neg"(%[[GATED]])
  // CHECK: return %[[GATED]], %[[NEG]]
  %r = torch.operator "onnx.Relu"(%x) {serenity.gate = array<i1: true, false>} : (!torch.vtensor<[1,2,4,4],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  %n = torch.operator "onnx.Neg"(%r) : (!torch.vtensor<[1,2,4,4],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  return %r, %n : !torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[1,2,4,4],f32>
}

// -----

// The bias of a product takes up what a masked column becomes; its factor goes into the bias.

// CHECK-LABEL: func.func @product
func.func @product(%x: !torch.vtensor<[1,3],f32>) -> !torch.vtensor<[1,1],f32> attributes {torch.onnx_meta.opset_version = 21 : si64} {
  // CHECK-DAG: dense<5.500000e+00> : tensor<1xf32>
  %w0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<3x2xf32>} : () -> !torch.vtensor<[3,2],f32>
  %w1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<7.0> : tensor<2x1xf32>} : () -> !torch.vtensor<[2,1],f32>
  %b1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<1xf32>} : () -> !torch.vtensor<[1],f32>
  %h = torch.operator "onnx.Gemm"(%x, %w0) {serenity.gate = array<i1: true, false>} : (!torch.vtensor<[1,3],f32>, !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[1,2],f32>
  %s = torch.operator "onnx.Sigmoid"(%h) : (!torch.vtensor<[1,2],f32>) -> !torch.vtensor<[1,2],f32>
  // CHECK: onnx.Gemm{{.*}}torch.onnx.beta = 1.000000e+00 : f32
  %y = torch.operator "onnx.Gemm"(%s, %w1, %b1) {torch.onnx.beta = 2.0 : f32} : (!torch.vtensor<[1,2],f32>, !torch.vtensor<[2,1],f32>, !torch.vtensor<[1],f32>) -> !torch.vtensor<[1,1],f32>
  return %y : !torch.vtensor<[1,1],f32>
}
