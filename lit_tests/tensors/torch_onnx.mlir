// RUN: serenity-opt %s --serenity-schedule-tensors=annotate=true --split-input-file | FileCheck %s

// What `iree-import-onnx` writes. The int8 tensors count one byte an element, the f32 ones four.

// CHECK-LABEL: func.func @branches
// CHECK-SAME:    serenity.peak = 4160
func.func @branches(%x: !torch.vtensor<[1,1024],f32>) -> !torch.vtensor<[1,16],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  // CHECK:      onnx.Exp
  // CHECK-SAME:   serenity.live_bytes = 4096 : i64
  // CHECK:      onnx.Slice
  // CHECK-NEXT: onnx.Abs
  // CHECK-NEXT: onnx.Slice
  // CHECK-NEXT: onnx.Concat
  %first = torch.operator "onnx.Constant"() {torch.onnx.value = dense<0> : tensor<1xsi64>} : () -> !torch.vtensor<[1],si64>
  %last = torch.operator "onnx.Constant"() {torch.onnx.value = dense<8> : tensor<1xsi64>} : () -> !torch.vtensor<[1],si64>
  %axis = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1> : tensor<1xsi64>} : () -> !torch.vtensor<[1],si64>
  %a = torch.operator "onnx.Exp"(%x) : (!torch.vtensor<[1,1024],f32>) -> !torch.vtensor<[1,1024],f32>
  %b = torch.operator "onnx.Abs"(%x) : (!torch.vtensor<[1,1024],f32>) -> !torch.vtensor<[1,1024],f32>
  %ra = torch.operator "onnx.Slice"(%a, %first, %last, %axis) : (!torch.vtensor<[1,1024],f32>, !torch.vtensor<[1],si64>, !torch.vtensor<[1],si64>, !torch.vtensor<[1],si64>) -> !torch.vtensor<[1,8],f32>
  %rb = torch.operator "onnx.Slice"(%b, %first, %last, %axis) : (!torch.vtensor<[1,1024],f32>, !torch.vtensor<[1],si64>, !torch.vtensor<[1],si64>, !torch.vtensor<[1],si64>) -> !torch.vtensor<[1,8],f32>
  %both = torch.operator "onnx.Concat"(%ra, %rb) {torch.onnx.axis = 1 : si64} : (!torch.vtensor<[1,8],f32>, !torch.vtensor<[1,8],f32>) -> !torch.vtensor<[1,16],f32>
  return %both : !torch.vtensor<[1,16],f32>
}

// -----

// Reshape shows what is there; a bool counts a byte, a quantised element its storage.

// CHECK-LABEL: func.func @element_types
// CHECK-SAME:    serenity.peak = 2048
func.func @element_types(%x: !torch.vtensor<[1024],ui8>) -> !torch.vtensor<[1024],i1> {
  // CHECK: onnx.Cast{{.*}}serenity.live_bytes = 1024 : i64
  %a = torch.operator "onnx.Cast"(%x) {torch.onnx.to = 3 : si64} : (!torch.vtensor<[1024],ui8>) -> !torch.vtensor<[1024],si8>
  %shape = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1024> : tensor<1xsi64>} : () -> !torch.vtensor<[1],si64>
  // CHECK: onnx.Reshape{{.*}}serenity.live_bytes = 1024 : i64
  %b = torch.operator "onnx.Reshape"(%a, %shape) : (!torch.vtensor<[1024],si8>, !torch.vtensor<[1],si64>) -> !torch.vtensor<[1024],si8>
  %c = torch.operator "onnx.Cast"(%b) {torch.onnx.to = 9 : si64} : (!torch.vtensor<[1024],si8>) -> !torch.vtensor<[1024],i1>
  return %c : !torch.vtensor<[1024],i1>
}

// -----

// Random numbers come in the order of the file: nothing crosses them, so both wide ones live at once.

// CHECK-LABEL: func.func @random
// CHECK:         onnx.RandomUniformLike
// CHECK-NEXT:    onnx.RandomUniformLike
// CHECK-NEXT:    onnx.ReduceMax
// CHECK-NEXT:    onnx.ReduceMax
func.func @random(%x: !torch.vtensor<[1024],f32>) -> !torch.vtensor<[1],f32> {
  %a = torch.operator "onnx.RandomUniformLike"(%x) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1024],f32>
  %b = torch.operator "onnx.RandomUniformLike"(%x) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1024],f32>
  %ra = torch.operator "onnx.ReduceMax"(%a) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1],f32>
  %rb = torch.operator "onnx.ReduceMax"(%b) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1],f32>
  %sum = torch.operator "onnx.Add"(%ra, %rb) : (!torch.vtensor<[1],f32>, !torch.vtensor<[1],f32>) -> !torch.vtensor<[1],f32>
  return %sum : !torch.vtensor<[1],f32>
}

// -----

// A branch captures %a: it reads it like an operand does, so %a is live until then.

// CHECK-LABEL: func.func @captured
// CHECK:         onnx.Exp
// CHECK:         onnx.If
// CHECK:         onnx.ReduceMax{{.*}}serenity.live_bytes = 4104 : i64
// CHECK:         onnx.Abs
// CHECK:         onnx.ReduceMax
// CHECK:         onnx.Add
func.func @captured(%x: !torch.vtensor<[1024],f32>, %c: !torch.vtensor<[],i1>) -> !torch.vtensor<[1],f32> {
  %a = torch.operator "onnx.Exp"(%x) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1024],f32>
  %b = torch.operator "onnx.Abs"(%x) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1024],f32>
  %ra = torch.operator "onnx.If"(%c) : (!torch.vtensor<[],i1>) -> !torch.vtensor<[1],f32> {
    %t = torch.operator "onnx.ReduceMax"(%a) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1],f32>
    torch.operator_terminator %t : !torch.vtensor<[1],f32>
  }, {
    %t = torch.operator "onnx.ReduceMin"(%a) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1],f32>
    torch.operator_terminator %t : !torch.vtensor<[1],f32>
  }
  %ma = torch.operator "onnx.ReduceMax"(%a) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1],f32>
  %rb = torch.operator "onnx.ReduceMax"(%b) : (!torch.vtensor<[1024],f32>) -> !torch.vtensor<[1],f32>
  %s = torch.operator "onnx.Add"(%ra, %rb) : (!torch.vtensor<[1],f32>, !torch.vtensor<[1],f32>) -> !torch.vtensor<[1],f32>
  %sum = torch.operator "onnx.Add"(%s, %ma) : (!torch.vtensor<[1],f32>, !torch.vtensor<[1],f32>) -> !torch.vtensor<[1],f32>
  return %sum : !torch.vtensor<[1],f32>
}
