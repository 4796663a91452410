// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-tensors{annotate=true})' --split-input-file | FileCheck %s

// Two wide branches that are reduced: depth first, one wide tensor lives at a time.

// CHECK-LABEL: func.func @branches
// CHECK-SAME:    serenity.peak = 4160
func.func @branches(%x: tensor<1024xf32>) -> tensor<16xf32> {
  %wide = tensor.empty() : tensor<1024xf32>
  // CHECK:      linalg.elementwise {{.*}}serenity.live_bytes = 4096 : i64
  // CHECK-NEXT: tensor.extract_slice {{.*}}serenity.live_bytes = 4128 : i64
  // CHECK-NEXT: linalg.elementwise
  // CHECK-NEXT: tensor.extract_slice {{.*}}serenity.live_bytes = 4160 : i64
  %a = linalg.elementwise <exp> ins(%x : tensor<1024xf32>) outs(%wide : tensor<1024xf32>) -> tensor<1024xf32>
  %b = linalg.elementwise <abs> ins(%x : tensor<1024xf32>) outs(%wide : tensor<1024xf32>) -> tensor<1024xf32>
  %ra = tensor.extract_slice %a[0] [8] [1] : tensor<1024xf32> to tensor<8xf32>
  %rb = tensor.extract_slice %b[0] [8] [1] : tensor<1024xf32> to tensor<8xf32>
  // The second insertion overwrites the first one's result: 64 bytes and one slice of 32.
  // CHECK:      tensor.insert_slice {{.*}}serenity.live_bytes = 128 : i64
  // CHECK-NEXT: tensor.insert_slice {{.*}}serenity.live_bytes = 96 : i64
  %out = tensor.empty() : tensor<16xf32>
  %lower = tensor.insert_slice %ra into %out[0] [8] [1] : tensor<8xf32> into tensor<16xf32>
  %both = tensor.insert_slice %rb into %lower[8] [8] [1] : tensor<8xf32> into tensor<16xf32>
  return %both : tensor<16xf32>
}

// -----

// A matmul accumulates into its `outs`: the fill and both products are one buffer of 1024 bytes.

// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    serenity.peak = 1024
func.func @accumulate(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %one = linalg.matmul ins(%x, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%fill : tensor<16x16xf32>) -> tensor<16x16xf32>
  %two = linalg.matmul ins(%x, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%one : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %two : tensor<16x16xf32>
}

// -----

// The destination is also an input: overwriting it while it is read is not ours to promise.

// CHECK-LABEL: func.func @destination_is_read
// CHECK-SAME:    serenity.peak = 2048
func.func @destination_is_read(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %empty = tensor.empty() : tensor<16x16xf32>
  %copy = linalg.copy ins(%x : tensor<16x16xf32>) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %square = linalg.matmul ins(%copy, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%copy : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %square : tensor<16x16xf32>
}

// -----

// A view keeps what it shows alive and costs nothing itself.

// CHECK-LABEL: func.func @view
// CHECK-SAME:    serenity.peak = 8192
func.func @view(%x: tensor<1024xf32>) -> tensor<32x32xf32> {
  %empty = tensor.empty() : tensor<1024xf32>
  %a = linalg.elementwise <exp> ins(%x : tensor<1024xf32>) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: tensor.expand_shape {{.*}}serenity.live_bytes = 4096 : i64
  %square = tensor.expand_shape %a [[0, 1]] output_shape [32, 32] : tensor<1024xf32> into tensor<32x32xf32>
  %other = tensor.empty() : tensor<32x32xf32>
  %b = linalg.elementwise <abs> ins(%square : tensor<32x32xf32>) outs(%other : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %b : tensor<32x32xf32>
}

// -----

// A splat that is only written into is storage of its users, each of which brings its own: it does
// not live from one to the next, and moves with what it is made of.

// CHECK-LABEL: func.func @shared_splat
// CHECK-SAME:    serenity.peak = 8224
func.func @shared_splat(%x: tensor<32x32xf32>) -> tensor<16xf32> {
  // CHECK:      tensor.empty
  // CHECK-NEXT: linalg.elementwise
  // CHECK-NEXT: arith.constant
  // CHECK-NEXT: tensor.empty
  // CHECK-NEXT: linalg.fill ins
  // CHECK-NEXT: linalg.matmul
  // CHECK-NEXT: tensor.extract_slice
  // CHECK-NEXT: linalg.matmul
  // CHECK-NEXT: tensor.extract_slice
  %zero = arith.constant 0.0 : f32
  %other = tensor.empty() : tensor<32x32xf32>
  %empty = tensor.empty() : tensor<32x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = linalg.elementwise <abs> ins(%x : tensor<32x32xf32>) outs(%other : tensor<32x32xf32>) -> tensor<32x32xf32>
  %a = linalg.matmul ins(%x, %y : tensor<32x32xf32>, tensor<32x32xf32>) outs(%fill : tensor<32x32xf32>) -> tensor<32x32xf32>
  %b = linalg.matmul ins(%y, %x : tensor<32x32xf32>, tensor<32x32xf32>) outs(%fill : tensor<32x32xf32>) -> tensor<32x32xf32>
  %ra = tensor.extract_slice %a[0, 0] [1, 8] [1, 1] : tensor<32x32xf32> to tensor<8xf32>
  %rb = tensor.extract_slice %b[0, 0] [1, 8] [1, 1] : tensor<32x32xf32> to tensor<8xf32>
  %out = tensor.empty() : tensor<16xf32>
  %lower = tensor.insert_slice %ra into %out[0] [8] [1] : tensor<8xf32> into tensor<16xf32>
  %both = tensor.insert_slice %rb into %lower[8] [8] [1] : tensor<8xf32> into tensor<16xf32>
  return %both : tensor<16xf32>
}

// -----

// A splat that is read is a tensor like any other.

// CHECK-LABEL: func.func @splat_is_read
// CHECK-SAME:    serenity.peak = 8192
func.func @splat_is_read(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %a = linalg.elementwise <add> ins(%x, %fill : tensor<1024xf32>, tensor<1024xf32>) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  return %a : tensor<1024xf32>
}
