// RUN: serenity-opt %s --serenity-schedule-tensors=annotate=true --split-input-file | FileCheck %s

// The constant costs nothing, though it is wide, and stands before its first user afterwards.

// CHECK-LABEL: func.func @branches
// CHECK-SAME:    serenity.peak = 1026
func.func @branches(%x: tensor<1024xi8>) -> tensor<2xi8> {
  %scale = "tosa.const"() <{values = dense<2> : tensor<1024xi8>}> : () -> tensor<1024xi8>
  %a = tosa.abs %x : (tensor<1024xi8>) -> tensor<1024xi8>
  %b = tosa.maximum %x, %scale : (tensor<1024xi8>, tensor<1024xi8>) -> tensor<1024xi8>
  // CHECK:      tosa.abs
  // CHECK-NEXT: tosa.reduce_max
  // CHECK-NEXT: [[SCALE:%.+]] = tosa.const
  // CHECK-NEXT: tosa.maximum %{{.+}}, [[SCALE]]
  // CHECK-NEXT: tosa.reduce_max
  %ra = tosa.reduce_max %a axis(0) : (tensor<1024xi8>) -> tensor<1xi8>
  %rb = tosa.reduce_max %b axis(0) : (tensor<1024xi8>) -> tensor<1xi8>
  %both = tosa.concat %ra, %rb axis(0) : (tensor<1xi8>, tensor<1xi8>) -> tensor<2xi8>
  return %both : tensor<2xi8>
}
