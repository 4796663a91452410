// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-pad-on-read)' --split-input-file | FileCheck %s

#window = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
#kernel = affine_map<(d0, d1, d2) -> (d0, d2)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

// A pad is an op in the region of the convolution that reads it, guarded along the one dimension that is
// padded; who reads the interior reads the tensor itself.

// CHECK-LABEL: func.func @pad
// CHECK-NOT:     tensor.pad
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<4x8xi32>) {
// CHECK:           %[[P:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x10xi8>)
// CHECK:             %[[C:.*]] = linalg.index 0
// CHECK:             %[[J:.*]] = linalg.index 1
// CHECK:             %[[I:.*]] = arith.subi %[[J]], %{{.*}} : index
// CHECK:             %[[G:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : index
// CHECK:             %[[V:.*]] = scf.if %[[G]] -> (i8) {
// CHECK:               %[[E:.*]] = tensor.extract %arg0[%[[C]], %[[I]]] : tensor<4x8xi8>
// CHECK:               scf.yield %[[E]]
// CHECK:             } else {
// CHECK:               scf.yield %{{.*}}
// CHECK:             linalg.yield %[[V]]
// CHECK:           %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %arg1 : tensor<4x10xi8>, tensor<4x3xi8>)
// CHECK:           flow.return %[[S]]
// CHECK:         return %[[R]], %arg0
func.func @pad(%a: tensor<4x8xi8>, %w: tensor<4x3xi8>, %f: tensor<4x8xi32>) -> (tensor<4x8xi32>, tensor<4x8xi8>) {
  %level = arith.constant 7 : i8
  %p = tensor.pad %a low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %level : i8
  } : tensor<4x8xi8> to tensor<4x10xi8>
  %s = tensor.extract_slice %p[0, 1] [4, 8] [1, 1] : tensor<4x10xi8> to tensor<4x8xi8>
  %r = linalg.generic {indexing_maps = [#window, #kernel, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<4x10xi8>, tensor<4x3xi8>) outs(%f : tensor<4x8xi32>) {
  ^bb0(%in: i8, %in_0: i8, %out: i32):
    %0 = arith.extsi %in : i8 to i32
    %1 = arith.extsi %in_0 : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %out, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<4x8xi32>
  return %r, %s : tensor<4x8xi32>, tensor<4x8xi8>
}

// -----

// A region that stores into the interior of a filled tensor stores what it computes alone; its reader
// is a pool, which reads beyond both ends.

// CHECK-LABEL: func.func @region
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<1x1x8xf32>) {
// CHECK:           %[[E:.*]] = linalg.elementwise <exp>
// CHECK-NEXT:      flow.return %[[E]]
// CHECK:         flow.dispatch.region -> (tensor<1x1x8xf32>) {
// CHECK:           %[[P:.*]] = linalg.generic
// CHECK:             tensor.extract %[[R]]
// CHECK:           %[[M:.*]] = linalg.pooling_ncw_max {{.*}} ins(%[[P]], %{{.*}} : tensor<1x1x10xf32>
// CHECK:           flow.return %[[M]]
func.func @region(%a: tensor<1x1x8xf32>, %f: tensor<1x1x8xf32>) -> tensor<1x1x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %ea = tensor.empty() : tensor<1x1x8xf32>
  %ep = tensor.empty() : tensor<1x1x10xf32>
  %window = tensor.empty() : tensor<3xf32>
  %around = linalg.fill ins(%low : f32) outs(%ep : tensor<1x1x10xf32>) -> tensor<1x1x10xf32>
  %r = flow.dispatch.region -> (tensor<1x1x10xf32>) {
    %x = linalg.elementwise <exp> ins(%a : tensor<1x1x8xf32>) outs(%ea : tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
    %u = tensor.insert_slice %x into %around[0, 0, 1] [1, 1, 8] [1, 1, 1] : tensor<1x1x8xf32> into tensor<1x1x10xf32>
    flow.return %u : tensor<1x1x10xf32>
  }
  %m = linalg.pooling_ncw_max {strides = dense<1> : vector<1xi64>, dilations = dense<1> : vector<1xi64>} ins(%r, %window : tensor<1x1x10xf32>, tensor<3xf32>) outs(%f : tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  return %m : tensor<1x1x8xf32>
}

// -----

// Left alone: something else than a reduction reads the padding.

// CHECK-LABEL: func.func @left_alone
// CHECK:         tensor.pad
func.func @left_alone(%a: tensor<8xf32>) -> tensor<10xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<10xf32>
  %p = tensor.pad %a low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<10xf32>
  %x = linalg.elementwise <exp> ins(%p : tensor<10xf32>) outs(%e : tensor<10xf32>) -> tensor<10xf32>
  return %x : tensor<10xf32>
}

// -----

#sum = affine_map<(d0, d1) -> (d0 + d1)>
#tap = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0)>

// Two in a row: the first region stores what the second reads, and neither is padded.

// CHECK-LABEL: func.func @in_a_row
// CHECK-NOT:     tensor.pad
// CHECK:         %[[A:.*]] = flow.dispatch.region -> (tensor<8xf32>) {
// CHECK-NOT:       tensor.insert_slice
// CHECK:         %[[B:.*]] = flow.dispatch.region -> (tensor<8xf32>) {
// CHECK:           tensor.extract %[[A]]
// CHECK:         return %[[B]]
func.func @in_a_row(%a: tensor<8xf32>, %w: tensor<3xf32>, %f: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<10xf32>
  %r = linalg.generic {indexing_maps = [#sum, #tap, #out], iterator_types = ["parallel", "reduction"]} ins(%p, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %q = tensor.pad %r low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<10xf32>
  %s = linalg.generic {indexing_maps = [#sum, #tap, #out], iterator_types = ["parallel", "reduction"]} ins(%q, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}
