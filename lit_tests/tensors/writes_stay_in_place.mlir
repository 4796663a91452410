// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-tensors{annotate=true})' --split-input-file | FileCheck %s

// Writing before the other reader ran would need less (12288 bytes: %part is gone when %twice comes),
// but the write would not be in place then.

// CHECK-LABEL: func.func @reader_before_write
// CHECK-SAME:    serenity.peak = 14336
// CHECK:         [[WIDE:%.+]] = linalg.elementwise <exp>
// CHECK:         linalg.broadcast ins([[WIDE]]
// CHECK:         tensor.insert_slice {{.*}} into [[WIDE]]
func.func @reader_before_write(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<2x1024xf32>) {
  %empty = tensor.empty() : tensor<1024xf32>
  %wide = linalg.elementwise <exp> ins(%x : tensor<1024xf32>) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %other = linalg.elementwise <abs> ins(%wide : tensor<1024xf32>) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %part = tensor.extract_slice %other[0] [512] [1] : tensor<1024xf32> to tensor<512xf32>
  %two = tensor.empty() : tensor<2x1024xf32>
  %twice = linalg.broadcast ins(%wide : tensor<1024xf32>) outs(%two : tensor<2x1024xf32>) dimensions = [0]
  %written = tensor.insert_slice %part into %wide[8] [512] [1] : tensor<512xf32> into tensor<1024xf32>
  return %written, %twice : tensor<1024xf32>, tensor<2x1024xf32>
}

// -----

// Here the old value is returned as well: the insertion brings a buffer of its own.

// CHECK-LABEL: func.func @old_value_survives
// CHECK-SAME:    serenity.peak = 8192
func.func @old_value_survives(%x: tensor<1024xf32>, %s: tensor<8xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
  %empty = tensor.empty() : tensor<1024xf32>
  %wide = linalg.elementwise <exp> ins(%x : tensor<1024xf32>) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %written = tensor.insert_slice %s into %wide[8] [8] [1] : tensor<8xf32> into tensor<1024xf32>
  return %wide, %written : tensor<1024xf32>, tensor<1024xf32>
}

// -----

// The caller owns arguments: they cost nothing and are never overwritten.

// CHECK-LABEL: func.func @argument
// CHECK-SAME:    serenity.peak = 4096
func.func @argument(%x: tensor<1024xf32>, %s: tensor<8xf32>) -> tensor<1024xf32> {
  %written = tensor.insert_slice %s into %x[8] [8] [1] : tensor<8xf32> into tensor<1024xf32>
  return %written : tensor<1024xf32>
}
