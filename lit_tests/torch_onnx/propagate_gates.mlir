// RUN: serenity-opt %s --serenity-propagate-gates | FileCheck %s
// RUN: serenity-opt %s --serenity-propagate-gates -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The sum ties both convolutions; what is returned stays.

// REMARK: serenity-propagate-gates: 2 channels of '{{.*}}' kept: '{{.*}}' is an output of the network

// CHECK-LABEL: func.func @residual
func.func @residual(%x: !torch.vtensor<[1,3,4,4],f32>) -> !torch.vtensor<[1,2,4,4],f32> attributes {torch.onnx_meta.opset_version = 21 : si64} {
  // CHECK: onnx.Constant{{.*}}serenity.groups = array<i64: 0>
  %w0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<4x3x1x1xf32>} : () -> !torch.vtensor<[4,3,1,1],f32>
  %w1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<4x4x1x1xf32>} : () -> !torch.vtensor<[4,4,1,1],f32>
  %w2 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<2x4x1x1xf32>} : () -> !torch.vtensor<[2,4,1,1],f32>
  // CHECK: onnx.Conv{{.*}}serenity.channels = 4 : i64, serenity.groups = array<i64: 0>
  %a = torch.operator "onnx.Conv"(%x, %w0) : (!torch.vtensor<[1,3,4,4],f32>, !torch.vtensor<[4,3,1,1],f32>) -> !torch.vtensor<[1,4,4,4],f32>
  // CHECK: onnx.Conv{{.*}}serenity.channels = 4 : i64, serenity.groups = array<i64: 0>
  %b = torch.operator "onnx.Conv"(%a, %w1) : (!torch.vtensor<[1,4,4,4],f32>, !torch.vtensor<[4,4,1,1],f32>) -> !torch.vtensor<[1,4,4,4],f32>
  // CHECK: onnx.Add{{.*}}serenity.groups = array<i64: 0>
  %c = torch.operator "onnx.Add"(%a, %b) : (!torch.vtensor<[1,4,4,4],f32>, !torch.vtensor<[1,4,4,4],f32>) -> !torch.vtensor<[1,4,4,4],f32>
  // CHECK-NOT: serenity.groups
  // CHECK: return
  %d = torch.operator "onnx.Conv"(%c, %w2) : (!torch.vtensor<[1,4,4,4],f32>, !torch.vtensor<[2,4,1,1],f32>) -> !torch.vtensor<[1,2,4,4],f32>
  return %d : !torch.vtensor<[1,2,4,4],f32>
}
