// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-update-in-place)' --split-input-file | FileCheck %s

// The sum takes the place of the summand that lies in a padded tensor; a pad by the same constant reads
// more of that tensor, anything else its interior.

// CHECK-LABEL: func.func @residual
// CHECK:         %[[P:.*]] = tensor.pad %arg0 low[1] high[1]
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<6xi8>) {
// CHECK:           %[[I:.*]] = tensor.extract_slice %[[P]][1] [4] [1]
// CHECK:           %[[S:.*]] = linalg.elementwise <add> ins(%[[I]], %arg1
// CHECK:           %[[U:.*]] = tensor.insert_slice %[[S]] into %[[P]][1] [4] [1]
// CHECK:           flow.return %[[U]] : tensor<6xi8>
// CHECK-DAG:     %[[A:.*]] = tensor.extract_slice %[[R]][1] [5] [1]
// CHECK-DAG:     %[[B:.*]] = tensor.extract_slice %[[R]][1] [4] [1]
// CHECK:         return %[[A]], %[[B]]
func.func @residual(%a: tensor<4xi8>, %b: tensor<4xi8>) -> (tensor<5xi8>, tensor<4xi8>) {
  %level = arith.constant -5 : i8
  %e = tensor.empty() : tensor<4xi8>
  %p = tensor.pad %a low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %level : i8
  } : tensor<4xi8> to tensor<6xi8>
  %r = flow.dispatch.region -> (tensor<4xi8>) {
    %x = tensor.extract_slice %p[1] [4] [1] : tensor<6xi8> to tensor<4xi8>
    %s = linalg.elementwise <add> ins(%x, %b : tensor<4xi8>, tensor<4xi8>) outs(%e : tensor<4xi8>) -> tensor<4xi8>
    flow.return %s : tensor<4xi8>
  }
  %q = tensor.pad %r low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %level : i8
  } : tensor<4xi8> to tensor<5xi8>
  return %q, %r : tensor<5xi8>, tensor<4xi8>
}

// -----

// What is put into a filled tensor of its own is put into the operand's, where the same constant is around both.

// CHECK-LABEL: func.func @padded
// CHECK:         %[[P:.*]] = tensor.pad
// CHECK-NOT:     linalg.fill
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<6xi8>) {
// CHECK:           tensor.insert_slice %{{.*}} into %[[P]][1] [4] [1]
// CHECK:         return %[[R]]
func.func @padded(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<6xi8> {
  %level = arith.constant -5 : i8
  %e = tensor.empty() : tensor<4xi8>
  %p = tensor.pad %a low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %level : i8
  } : tensor<4xi8> to tensor<6xi8>
  %ef = tensor.empty() : tensor<6xi8>
  %f = linalg.fill ins(%level : i8) outs(%ef : tensor<6xi8>) -> tensor<6xi8>
  %r = flow.dispatch.region -> (tensor<6xi8>) {
    %x = tensor.extract_slice %p[1] [4] [1] : tensor<6xi8> to tensor<4xi8>
    %s = linalg.elementwise <add> ins(%x, %b : tensor<4xi8>, tensor<4xi8>) outs(%e : tensor<4xi8>) -> tensor<4xi8>
    %u = tensor.insert_slice %s into %f[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
    flow.return %u : tensor<6xi8>
  }
  return %r : tensor<6xi8>
}

// -----

#id = affine_map<(d0) -> (d0)>
#first = affine_map<(d0) -> (0)>

// Left alone: the operand is read later; every element of the result reads the first of the operand.

// CHECK-LABEL: func.func @left_alone
// CHECK-COUNT-2: flow.return %{{.*}} : tensor<4xi8>
func.func @left_alone(%a: tensor<4xi8>, %b: tensor<4xi8>) -> (tensor<4xi8>, tensor<6xi8>, tensor<4xi8>) {
  %level = arith.constant -5 : i8
  %e = tensor.empty() : tensor<4xi8>
  %p = tensor.pad %a low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %level : i8
  } : tensor<4xi8> to tensor<6xi8>
  %r = flow.dispatch.region -> (tensor<4xi8>) {
    %x = tensor.extract_slice %p[1] [4] [1] : tensor<6xi8> to tensor<4xi8>
    %s = linalg.elementwise <add> ins(%x, %b : tensor<4xi8>, tensor<4xi8>) outs(%e : tensor<4xi8>) -> tensor<4xi8>
    flow.return %s : tensor<4xi8>
  }
  %q = tensor.pad %b low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %level : i8
  } : tensor<4xi8> to tensor<6xi8>
  %t = flow.dispatch.region -> (tensor<4xi8>) {
    %x = tensor.extract_slice %q[1] [4] [1] : tensor<6xi8> to tensor<4xi8>
    %s = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
    ^bb0(%in: i8, %out: i8):
      linalg.yield %in : i8
    } -> tensor<4xi8>
    flow.return %s : tensor<4xi8>
  }
  return %r, %p, %t : tensor<4xi8>, tensor<6xi8>, tensor<4xi8>
}
