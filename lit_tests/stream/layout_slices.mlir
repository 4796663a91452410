// RUN: serenity-opt %s --serenity-layout-slices --split-input-file | FileCheck %s
// RUN: serenity-opt %s --serenity-layout-slices=alignment=256 --split-input-file | FileCheck %s --check-prefix=ALIGN

// IREE's own packing takes the slices as listed, and needs 320 bytes: the last one finds only
// gaps of 64 and 128. Their live peak is 256.

// CHECK-LABEL: @optimal
// CHECK-DAG: %[[TOTAL:.+]] = arith.constant 256 : index
// CHECK-NOT: stream.resource.pack
// CHECK: stream.resource.alloca uninitialized : !stream.resource<transient>{%[[TOTAL]]}
// ALIGN-LABEL: @optimal
// ALIGN: %[[BIG:.+]] = arith.constant 512 : index
// ALIGN: stream.resource.alloca uninitialized : !stream.resource<transient>{%[[BIG]]}
util.func public @optimal(%arg: i32) -> (index, index, index, index) {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c192 = arith.constant 192 : index
  %0:5 = stream.resource.pack slices({
    [0, 1] = %c64,
    [0, 4] = %c64,
    [1, 2] = %c128,
    [3, 4] = %c192
  }) : index
  %slab, %tp = stream.resource.alloca uninitialized : !stream.resource<transient>{%0#0} => !stream.timepoint
  %t0 = stream.cmd.execute await(%tp) => with(%slab as %s: !stream.resource<transient>{%0#0}) {
    stream.cmd.fill %arg, %s[%0#1 for %c64] : i32 -> !stream.resource<transient>{%0#0}
  } => !stream.timepoint
  %t1 = stream.resource.dealloca await(%t0) => %slab : !stream.resource<transient>{%0#0} => !stream.timepoint
  util.return %0#1, %0#2, %0#3, %0#4 : index, index, index, index
}

// -----

// A slice of no constant size: IREE packs it at run time.

// CHECK-LABEL: @dynamic
// CHECK: stream.resource.pack
util.func public @dynamic(%n: index, %arg: i32) -> index {
  %c64 = arith.constant 64 : index
  %0:3 = stream.resource.pack slices({
    [0, 1] = %n,
    [0, 4] = %c64
  }) : index
  %slab, %tp = stream.resource.alloca uninitialized : !stream.resource<transient>{%0#0} => !stream.timepoint
  %t0 = stream.cmd.execute await(%tp) => with(%slab as %s: !stream.resource<transient>{%0#0}) {
    stream.cmd.fill %arg, %s[%0#1 for %c64] : i32 -> !stream.resource<transient>{%0#0}
  } => !stream.timepoint
  util.return %0#1 : index
}

// -----

// The alignment comes from the resource configuration.

// CHECK-LABEL: @config
// CHECK-DAG: arith.constant 64 : index
// CHECK-DAG: arith.constant 48 : index
util.func public @config(%arg: i32) -> index attributes {stream.resources = #stream.resource_config<{
  max_allocation_size = 1073741824,
  min_buffer_offset_alignment = 16,
  max_buffer_range = 1073741824,
  min_buffer_range_alignment = 16,
  index_bits = 32
}>} {
  %c1 = arith.constant 1 : index
  %c48 = arith.constant 48 : index
  %0:3 = stream.resource.pack slices({
    [0, 1] = %c1,
    [0, 1] = %c48
  }) : index
  %slab, %tp = stream.resource.alloca uninitialized : !stream.resource<transient>{%0#0} => !stream.timepoint
  %t0 = stream.cmd.execute await(%tp) => with(%slab as %s: !stream.resource<transient>{%0#0}) {
    stream.cmd.fill %arg, %s[%0#1 for %c48] : i32 -> !stream.resource<transient>{%0#0}
  } => !stream.timepoint
  util.return %0#1 : index
}
