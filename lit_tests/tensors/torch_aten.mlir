// RUN: serenity-opt %s --serenity-schedule-tensors --split-input-file | FileCheck %s

// ATen ops on values are pure though MLIR does not say so of them.

// CHECK-LABEL: func.func @values
// CHECK:         torch.aten.exp
// CHECK-NEXT:    torch.aten.max
// CHECK-NEXT:    torch.aten.abs
// CHECK-NEXT:    torch.aten.max
func.func @values(%x: !torch.vtensor<[1024],f32>) -> (!torch.vtensor<[],f32>, !torch.vtensor<[],f32>) {
  %a = torch.aten.exp %x : !torch.vtensor<[1024],f32> -> !torch.vtensor<[1024],f32>
  %b = torch.aten.abs %x : !torch.vtensor<[1024],f32> -> !torch.vtensor<[1024],f32>
  %ra = torch.aten.max %a : !torch.vtensor<[1024],f32> -> !torch.vtensor<[],f32>
  %rb = torch.aten.max %b : !torch.vtensor<[1024],f32> -> !torch.vtensor<[],f32>
  return %ra, %rb : !torch.vtensor<[],f32>, !torch.vtensor<[],f32>
}

// -----

// On tensors that alias and mutate they are barriers.

// CHECK-LABEL: func.func @mutable
// CHECK:         torch.aten.exp
// CHECK-NEXT:    torch.aten.abs
// CHECK-NEXT:    torch.aten.max
// CHECK-NEXT:    torch.aten.max
func.func @mutable(%x: !torch.tensor<[1024],f32>) -> (!torch.tensor<[],f32>, !torch.tensor<[],f32>) {
  %a = torch.aten.exp %x : !torch.tensor<[1024],f32> -> !torch.tensor<[1024],f32>
  %b = torch.aten.abs %x : !torch.tensor<[1024],f32> -> !torch.tensor<[1024],f32>
  %ra = torch.aten.max %a : !torch.tensor<[1024],f32> -> !torch.tensor<[],f32>
  %rb = torch.aten.max %b : !torch.tensor<[1024],f32> -> !torch.tensor<[],f32>
  return %ra, %rb : !torch.tensor<[],f32>, !torch.tensor<[],f32>
}
