// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-locate-dispatches)' --mlir-print-debuginfo | FileCheck %s
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-locate-dispatches,serenity-strip-dispatch-locations)' \
// RUN:   --mlir-print-debuginfo | FileCheck %s --check-prefix=STRIP

// The dispatch is where its ops are; what IREE shares with other dispatches does not count, and a fused
// location counts by its parts. A dispatch without such ops stays where it is. Where the result goes into a concat in place, the dispatch does that too.

// CHECK: flow.dispatch.workgroups
// CHECK: flow.return
// CHECK-NEXT: } loc(#[[ALL:loc[0-9]+]])
// CHECK: flow.dispatch.workgroups
// CHECK: flow.return
// CHECK-NEXT: } loc(#[[COPIES:loc[0-9]+]])
// CHECK-DAG: #[[CONV:loc[0-9]+]] = loc("conv"
// CHECK-DAG: #[[RELU:loc[0-9]+]] = loc("relu"
// CHECK-DAG: #[[BIAS:loc[0-9]+]] = loc("bias"
// CHECK-DAG: #[[COPY:loc[0-9]+]] = loc("copy"
// CHECK-DAG: #[[SHARED:loc[0-9]+]] = loc("shared"
// CHECK-DAG: #[[CONCAT:loc[0-9]+]] = loc("concat"
// CHECK-DAG: #[[OWN1:loc[0-9]+]] = loc("serenity.nodes"(#[[SHARED]]))
// CHECK-DAG: #[[OWN2:loc[0-9]+]] = loc("serenity.nodes"(#[[COPY]]))
// CHECK-DAG: #[[ALL]] = loc(fused<"serenity.nodes">[#[[OWN1]], #[[CONV]], #[[BIAS]], #[[RELU]]])
// CHECK-DAG: #[[COPIES]] = loc(fused<"serenity.nodes">[#[[OWN2]], #[[COPY]], #[[CONCAT]]])

// STRIP: flow.dispatch.workgroups
// STRIP: flow.return
// STRIP-NEXT: } loc(#{{loc[0-9]+}})
// STRIP: flow.dispatch.workgroups
// STRIP: flow.return
// STRIP-NEXT: } loc(#[[TWO:loc[0-9]+]])
// STRIP-NOT: serenity.nodes
// STRIP: #[[TWO]] = loc("copy"
// STRIP-NOT: serenity.nodes

util.func public @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  %0 = flow.dispatch.workgroups(%x) : (tensor<4xf32>) -> tensor<4xf32> =
      (%in: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>>, %out: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>) {
    %zero = arith.constant 0.0 : f32 loc("elsewhere")
    %a = iree_tensor_ext.dispatch.tensor.load %in, offsets = [0], sizes = [4], strides = [1]
      : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>> -> tensor<4xf32> loc("before")
    %e = tensor.empty() : tensor<4xf32> loc("elsewhere")
    %c = math.absf %a : tensor<4xf32> loc("conv")
    %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%c : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%i: f32, %o: f32):
      %s = arith.addf %i, %zero : f32 loc(fused["conv", "bias"])
      %m = arith.maximumf %s, %zero : f32 loc("relu")
      linalg.yield %m : f32 loc("elsewhere")
    } -> tensor<4xf32> loc("elsewhere")
    iree_tensor_ext.dispatch.tensor.store %r, %out, offsets = [0], sizes = [4], strides = [1]
      : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>> loc("elsewhere")
    flow.return
  } loc("shared")
  %1 = flow.dispatch.workgroups(%x) : (tensor<4xf32>) -> tensor<4xf32> =
      (%in: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>>, %out: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>>) {
    %a = iree_tensor_ext.dispatch.tensor.load %in, offsets = [0], sizes = [4], strides = [1]
      : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>> -> tensor<4xf32> loc("before")
    iree_tensor_ext.dispatch.tensor.store %a, %out, offsets = [0], sizes = [4], strides = [1]
      : tensor<4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4xf32>> loc("after")
    flow.return
  } loc("copy")
  %c0 = arith.constant 0 : index
  %whole = tensor.empty() : tensor<2x4xf32>
  %row = flow.tensor.reshape %1 : tensor<4xf32> -> tensor<1x4xf32>
  %2 = flow.tensor.update %row, %whole[%c0, %c0] : tensor<1x4xf32> -> %whole as tensor<2x4xf32> loc("concat")
  util.return %0, %2 : tensor<4xf32>, tensor<2x4xf32>
}
