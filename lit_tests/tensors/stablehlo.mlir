// RUN: serenity-opt %s --serenity-schedule-tensors=annotate=true --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @branches
// CHECK-SAME:    serenity.peak = 8320
func.func @branches(%x: tensor<1024xf64>) -> tensor<16xf64> {
  %a = stablehlo.exponential %x : tensor<1024xf64>
  %b = stablehlo.abs %x : tensor<1024xf64>
  // CHECK:      stablehlo.exponential
  // CHECK-NEXT: stablehlo.slice
  // CHECK-NEXT: stablehlo.abs
  // CHECK-NEXT: stablehlo.slice
  %ra = stablehlo.slice %a [0:8] : (tensor<1024xf64>) -> tensor<8xf64>
  %rb = stablehlo.slice %b [0:8] : (tensor<1024xf64>) -> tensor<8xf64>
  %both = stablehlo.concatenate %ra, %rb, dim = 0 : (tensor<8xf64>, tensor<8xf64>) -> tensor<16xf64>
  return %both : tensor<16xf64>
}

// -----

// A custom call that has side effects is not crossed.

// CHECK-LABEL: func.func @effects
// CHECK:         stablehlo.exponential
// CHECK-NEXT:    stablehlo.abs
// CHECK-NEXT:    stablehlo.custom_call
// CHECK-NEXT:    stablehlo.slice
// CHECK-NEXT:    stablehlo.slice
func.func @effects(%x: tensor<1024xf64>) -> (tensor<8xf64>, tensor<8xf64>) {
  %a = stablehlo.exponential %x : tensor<1024xf64>
  %b = stablehlo.abs %x : tensor<1024xf64>
  stablehlo.custom_call @log(%x) {has_side_effect = true} : (tensor<1024xf64>) -> ()
  %ra = stablehlo.slice %a [0:8] : (tensor<1024xf64>) -> tensor<8xf64>
  %rb = stablehlo.slice %b [0:8] : (tensor<1024xf64>) -> tensor<8xf64>
  return %ra, %rb : tensor<8xf64>, tensor<8xf64>
}

// -----

// Random numbers come in the order of the file.

// CHECK-LABEL: func.func @random
// CHECK:         stablehlo.rng
// CHECK:         stablehlo.rng
// CHECK:         stablehlo.slice
// CHECK:         stablehlo.slice
func.func @random(%low: tensor<f64>, %high: tensor<f64>) -> (tensor<8xf64>, tensor<8xf64>) {
  %shape = stablehlo.constant dense<1024> : tensor<1xi64>
  %a = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<1024xf64>
  %b = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<1024xf64>
  %ra = stablehlo.slice %a [0:8] : (tensor<1024xf64>) -> tensor<8xf64>
  %rb = stablehlo.slice %b [0:8] : (tensor<1024xf64>) -> tensor<8xf64>
  return %ra, %rb : tensor<8xf64>, tensor<8xf64>
}
