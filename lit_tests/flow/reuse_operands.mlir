// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-reuse-operands)' --split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The sum overwrites the operand that dies, as what the op writes into.

// CHECK-LABEL: func.func @sum
// CHECK:         flow.dispatch.workgroups(%arg0, %[[X:.*]]) : (tensor<8xf32>, tensor<8xf32>) -> %[[X]] =
// CHECK-NEXT:      (%[[A:.*]]: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, %[[B:.*]]: !iree_tensor_ext.dispatch.tensor<readwrite:tensor<8xf32>>) {
// CHECK-DAG:       %[[LA:.*]] = iree_tensor_ext.dispatch.tensor.load %[[A]]
// CHECK-DAG:       %[[LB:.*]] = iree_tensor_ext.dispatch.tensor.load %[[B]]
// CHECK:           %[[S:.*]] = linalg.generic {{.*}} ins(%[[LA]] : tensor<8xf32>) outs(%[[LB]] : tensor<8xf32>)
// CHECK-NEXT:      ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK:             arith.subf %[[IN]], %[[OUT]]
// CHECK:           iree_tensor_ext.dispatch.tensor.store %[[S]], %[[B]]
func.func @sum(%a: tensor<8xf32>) -> tensor<8xf32> {
  %one = arith.constant 1.0 : f32
  %x = flow.tensor.splat %one : tensor<8xf32>
  %r = flow.dispatch.workgroups(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> =
      (%pa: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, %px: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, %pr: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>) {
    %la = iree_tensor_ext.dispatch.tensor.load %pa, offsets = [0], sizes = [8], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>> -> tensor<8xf32>
    %lx = iree_tensor_ext.dispatch.tensor.load %px, offsets = [0], sizes = [8], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>> -> tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%la, %lx : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %0 = arith.subf %in, %in_0 : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    iree_tensor_ext.dispatch.tensor.store %s, %pr, offsets = [0], sizes = [8], strides = [1] : tensor<8xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>
    flow.return
  }
  return %r : tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#back = affine_map<(d0) -> (7 - d0)>

// Left alone: the operand is read later, through a view; it is read backwards; it is also another operand.

// CHECK-LABEL: func.func @left_alone
// CHECK-COUNT-3: {{-> tensor<8xf32> =$}}
// CHECK-NOT:     readwrite
func.func @left_alone() -> (tensor<8xf32>, tensor<2x4xf32>, tensor<8xf32>, tensor<8xf32>) {
  %one = arith.constant 1.0 : f32
  %x = flow.tensor.splat %one : tensor<8xf32>
  %y = flow.tensor.splat %one : tensor<8xf32>
  %z = flow.tensor.splat %one : tensor<8xf32>
  %later = flow.dispatch.workgroups(%x) : (tensor<8xf32>) -> tensor<8xf32> =
      (%px: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, %pr: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>) {
    %lx = iree_tensor_ext.dispatch.tensor.load %px, offsets = [0], sizes = [8], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>> -> tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%lx : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.negf %in : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    iree_tensor_ext.dispatch.tensor.store %s, %pr, offsets = [0], sizes = [8], strides = [1] : tensor<8xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>
    flow.return
  }
  %view = flow.tensor.reshape %x : tensor<8xf32> -> tensor<2x4xf32>
  %backwards = flow.dispatch.workgroups(%y) : (tensor<8xf32>) -> tensor<8xf32> =
      (%px: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, %pr: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>) {
    %lx = iree_tensor_ext.dispatch.tensor.load %px, offsets = [0], sizes = [8], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>> -> tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#back, #id], iterator_types = ["parallel"]} ins(%lx : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8xf32>
    iree_tensor_ext.dispatch.tensor.store %s, %pr, offsets = [0], sizes = [8], strides = [1] : tensor<8xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>
    flow.return
  }
  %seen = flow.tensor.reshape %z : tensor<8xf32> -> tensor<2x4xf32>
  %twice = flow.dispatch.workgroups(%z, %seen) : (tensor<8xf32>, tensor<2x4xf32>) -> tensor<8xf32> =
      (%px: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, %pv: !iree_tensor_ext.dispatch.tensor<readonly:tensor<2x4xf32>>, %pr: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>) {
    %lx = iree_tensor_ext.dispatch.tensor.load %px, offsets = [0], sizes = [8], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>> -> tensor<8xf32>
    %lv = iree_tensor_ext.dispatch.tensor.load %pv, offsets = [0, 0], sizes = [2, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<2x4xf32>> -> tensor<2x4xf32>
    %c = arith.constant 1 : index
    %first = tensor.extract %lv[%c, %c] : tensor<2x4xf32>
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%lx : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %first : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    iree_tensor_ext.dispatch.tensor.store %s, %pr, offsets = [0], sizes = [8], strides = [1] : tensor<8xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>
    flow.return
  }
  return %later, %view, %backwards, %twice : tensor<8xf32>, tensor<2x4xf32>, tensor<8xf32>, tensor<8xf32>
}
