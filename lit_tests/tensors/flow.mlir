// RUN: serenity-opt %s --serenity-schedule-tensors=annotate=true --split-input-file | FileCheck %s

// Dispatches on `util.func`; the immutable global is a constant, the last dispatch writes into its operand.

util.global private @weights : tensor<1024xf32>
// CHECK-LABEL: util.func public @branches
// CHECK-SAME:    serenity.peak = 4160
util.func public @branches(%x: tensor<1024xf32>) -> tensor<16xf32> {
  %w = util.global.load immutable @weights : tensor<1024xf32>
  %a = flow.dispatch @exe::@wide(%x, %w) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %b = flow.dispatch @exe::@wide(%x, %x) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK:      flow.dispatch @exe::@wide
  // CHECK-NEXT: flow.dispatch @exe::@narrow
  // CHECK:      flow.dispatch @exe::@wide
  // CHECK-NEXT: flow.dispatch @exe::@narrow
  %ra = flow.dispatch @exe::@narrow(%a) : (tensor<1024xf32>) -> tensor<8xf32>
  %rb = flow.dispatch @exe::@narrow(%b) : (tensor<1024xf32>) -> tensor<8xf32>
  // CHECK: flow.dispatch @exe::@join{{.*}}serenity.live_bytes = 128 : i64
  %both = flow.dispatch @exe::@join(%ra, %rb) : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  // CHECK: flow.dispatch @exe::@scale{{.*}}serenity.live_bytes = 64 : i64
  %scaled = flow.dispatch @exe::@scale(%both) : (tensor<16xf32>) -> %both
  util.return %scaled : tensor<16xf32>
}

// -----

// Workload operands come before the arguments that ties count from.

// CHECK-LABEL: util.func public @workload
// CHECK-SAME:    serenity.peak = 96
util.func public @workload(%n: index, %x: tensor<8xf32>) -> tensor<16xf32> {
  %a = flow.dispatch @exe::@grow(%x) : (tensor<8xf32>) -> tensor<16xf32>
  %s = flow.dispatch @exe::@same(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: flow.dispatch @exe::@scale{{.*}}serenity.live_bytes = 96 : i64
  %b = flow.dispatch @exe::@scale[%n, %n](%s, %a) : (tensor<8xf32>, tensor<16xf32>) -> %a
  util.return %b : tensor<16xf32>
}

// -----

// `flow.tensor.update` writes in place, a reshape shows its operand.

// CHECK-LABEL: util.func public @update
// CHECK-SAME:    serenity.peak = 96
util.func public @update(%x: tensor<8xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0 : index
  %a = flow.dispatch @exe::@grow(%x) : (tensor<8xf32>) -> tensor<16xf32>
  %s = flow.dispatch @exe::@same(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: flow.tensor.update {{.*}}serenity.live_bytes = 96 : i64
  %u = flow.tensor.update %s, %a[%zero] : tensor<8xf32> -> %a as tensor<16xf32>
  // CHECK: flow.tensor.reshape {{.*}}serenity.live_bytes = 64 : i64
  %v = flow.tensor.reshape %u : tensor<16xf32> -> tensor<4x4xf32>
  util.return %v : tensor<4x4xf32>
}

// -----

// Calls and loads of globals that may change are barriers.

util.global private mutable @state : tensor<1024xf32>
// CHECK-LABEL: util.func public @state
// CHECK:         flow.dispatch @exe::@wide
// CHECK-NEXT:    flow.dispatch @exe::@wide
// CHECK-NEXT:    util.global.load @state
// CHECK-NEXT:    flow.dispatch @exe::@narrow
// CHECK-NEXT:    flow.dispatch @exe::@narrow
util.func public @state_is_read(%x: tensor<1024xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = flow.dispatch @exe::@wide(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = flow.dispatch @exe::@wide(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %s = util.global.load @state : tensor<1024xf32>
  %ra = flow.dispatch @exe::@narrow(%a) : (tensor<1024xf32>) -> tensor<8xf32>
  %rb = flow.dispatch @exe::@narrow(%b) : (tensor<1024xf32>) -> tensor<8xf32>
  util.return %ra, %rb : tensor<8xf32>, tensor<8xf32>
}

// -----

// A tied result of another size than its operand brings a buffer of its own.

// CHECK-LABEL: util.func public @tied_to_another_size
// CHECK-SAME:    serenity.peak = 96
util.func public @tied_to_another_size(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = flow.dispatch @exe::@grow(%x) : (tensor<8xf32>) -> tensor<16xf32>
  %b = flow.dispatch @exe::@shrink(%a) : (tensor<16xf32>) -> %a as tensor<8xf32>
  util.return %b : tensor<8xf32>
}

// -----

// Buffer views are the caller's on the way in; on the way out they show the result, which stays live.

// CHECK-LABEL: util.func public @buffer_views
// CHECK-SAME:    serenity.peak = 4128
util.func public @buffer_views(%view: !hal.buffer_view) -> !hal.buffer_view {
  %x = hal.tensor.import %view : !hal.buffer_view -> tensor<1024xf32>
  %a = flow.dispatch @exe::@narrow(%x) : (tensor<1024xf32>) -> tensor<8xf32>
  %out = hal.tensor.export %a : tensor<8xf32> -> !hal.buffer_view
  // CHECK: flow.dispatch @exe::@wide{{.*}}serenity.live_bytes = 4128 : i64
  %b = flow.dispatch @exe::@wide(%a) : (tensor<8xf32>) -> tensor<1024xf32>
  util.return %out : !hal.buffer_view
}
