// RUN: serenity-opt %s --serenity-schedule-tensors --split-input-file --verify-diagnostics | FileCheck %s

// expected-remark @+1 {{@reordered: live peak of the graph's tensors, results included, from 8,224 to 4,160 bytes (minimal); the artefact's bytes differ}}
func.func @reordered(%x: tensor<1024xf32>) -> tensor<16xf32> {
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %ra = tensor.extract_slice %a[0] [8] [1] : tensor<1024xf32> to tensor<8xf32>
  %rb = tensor.extract_slice %b[0] [8] [1] : tensor<1024xf32> to tensor<8xf32>
  %both = tosa.concat %ra, %rb axis(0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %both : tensor<16xf32>
}

// -----

// A declaration has no body, and so no remark.
func.func private @declared(tensor<1024xf32>) -> tensor<1024xf32>

// expected-remark @+1 {{@as_good_as_any: live peak of the graph's tensors, results included, stays at 8,192 bytes (minimal)}}
func.func @as_good_as_any(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  // A constant would move to its user if anything moved.
  // CHECK:      tosa.const
  // CHECK-NEXT: tosa.abs
  // CHECK-NEXT: tosa.maximum
  %unmoved = "tosa.const"() <{values = dense<2.0> : tensor<1024xf32>}> : () -> tensor<1024xf32>
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.maximum %a, %unmoved : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %b : tensor<1024xf32>
}

// -----

// A function with a value of unknown size is left alone, whatever else is in it.

// CHECK-LABEL: func.func @dynamic
// CHECK:         tosa.abs
// CHECK-NEXT:    tosa.exp
// CHECK-NEXT:    tensor.extract_slice
func.func @dynamic(%x: tensor<?xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-remark @+1 {{leaves @dynamic alone: value %0 of type tensor<?xf32> has no constant size}}
  %a = tosa.abs %x : (tensor<?xf32>) -> tensor<?xf32>
  %b = tosa.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  %ra = tensor.extract_slice %a[0] [8] [1] : tensor<?xf32> to tensor<8xf32>
  %rb = tensor.extract_slice %b[0] [8] [1] : tensor<?xf32> to tensor<8xf32>
  return %ra, %rb : tensor<8xf32>, tensor<8xf32>
}

// -----

// An argument of unknown size is the caller's, and of no concern.

// expected-remark @+1 {{@dynamic_argument: live peak of the graph's tensors, results included, stays at 32 bytes}}
func.func @dynamic_argument(%x: tensor<?xf32>) -> tensor<8xf32> {
  %a = tensor.extract_slice %x[0] [8] [1] : tensor<?xf32> to tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

// expected-remark-re @+1 {{leaves @blocks alone: its body has {{[23]}} blocks}}
func.func @blocks(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  cf.cond_br %c, ^bb1(%x : tensor<8xf32>), ^bb2(%x : tensor<8xf32>)
^bb1(%y: tensor<8xf32>):
  return %y : tensor<8xf32>
^bb2(%z: tensor<8xf32>):
  return %z : tensor<8xf32>
}
