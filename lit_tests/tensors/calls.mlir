// RUN: serenity-opt %s --serenity-schedule-tensors --allow-unregistered-dialect --split-input-file | FileCheck %s

// Nothing crosses a call, an op that nobody registered, or control flow that holds one.

// CHECK-LABEL: func.func @call
// CHECK:         tosa.abs
// CHECK-NEXT:    tosa.exp
// CHECK-NEXT:    call @log
// CHECK-NEXT:    tosa.reduce_max
func.func @call(%x: tensor<1024xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  call @log() : () -> ()
  %ra = tosa.reduce_max %a axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  %rb = tosa.reduce_max %b axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  return %ra, %rb : tensor<1xf32>, tensor<1xf32>
}
func.func private @log()

// -----

// CHECK-LABEL: func.func @unregistered
// CHECK:         tosa.abs
// CHECK-NEXT:    tosa.exp
// CHECK-NEXT:    "nobody.knows"
// CHECK-NEXT:    tosa.reduce_max
func.func @unregistered(%x: tensor<1024xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  "nobody.knows"() : () -> ()
  %ra = tosa.reduce_max %a axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  %rb = tosa.reduce_max %b axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  return %ra, %rb : tensor<1xf32>, tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @effect_in_a_branch
// CHECK:         tosa.abs
// CHECK-NEXT:    tosa.exp
// CHECK-NEXT:    scf.if
// CHECK:         tosa.reduce_max
func.func @effect_in_a_branch(%x: tensor<1024xf32>, %c: i1) -> (tensor<1xf32>, tensor<1xf32>) {
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  scf.if %c {
    "nobody.knows"() : () -> ()
  }
  %ra = tosa.reduce_max %a axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  %rb = tosa.reduce_max %b axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  return %ra, %rb : tensor<1xf32>, tensor<1xf32>
}

// -----

// A branch without effects moves like any other op, after what it captures.

// CHECK-LABEL: func.func @pure_branch
// CHECK:         tosa.abs
// CHECK-NEXT:    scf.if
// CHECK:         tosa.exp
// CHECK-NEXT:    tosa.reduce_max
func.func @pure_branch(%x: tensor<1024xf32>, %c: i1, %d: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %rb = tosa.reduce_max %b axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  %ra = scf.if %c -> tensor<1xf32> {
    %m = tosa.reduce_max %a axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
    scf.yield %m : tensor<1xf32>
  } else {
    scf.yield %d : tensor<1xf32>
  }
  return %ra, %rb : tensor<1xf32>, tensor<1xf32>
}
