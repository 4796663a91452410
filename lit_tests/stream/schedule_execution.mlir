// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution)' --split-input-file | FileCheck %s

// Two wide-then-narrow branches, stored breadth first: the second wide buffer waits until the
// first is gone.

// CHECK-LABEL: @depth_first
// CHECK: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: stream.async.dispatch @ex::@join
util.func public @depth_first(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %w0 = stream.async.dispatch @ex::@widen(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %w1 = stream.async.dispatch @ex::@widen(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %n0 = stream.async.dispatch @ex::@narrow(%w0[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c64}
    %n1 = stream.async.dispatch @ex::@narrow(%w1[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c64}
    %j = stream.async.dispatch @ex::@join(%n0[%c0 to %c64 for %c64], %n1[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// A fill belongs right before its one consumer.

// CHECK-LABEL: @late_splat
// CHECK: stream.async.dispatch @ex::@wide
// CHECK-NEXT: stream.async.dispatch @ex::@shrink
// CHECK-NEXT: stream.async.splat
// CHECK-NEXT: stream.async.dispatch @ex::@pad
util.func public @late_splat(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c0_i8 = arith.constant 0 : i8
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %p = stream.async.splat %c0_i8 : i8 -> !stream.resource<transient>{%c4096}
    %w = stream.async.dispatch @ex::@wide(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %n = stream.async.dispatch @ex::@shrink(%w[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c64}
    %q = stream.async.dispatch @ex::@pad(%n[%c0 to %c64 for %c64], %p[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c4096}) -> %p{%c4096}
    %j = stream.async.dispatch @ex::@end(%q[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// The reader of %b and the update of %b in place have no SSA edge between them: running the
// update first would be cheaper by far, and wrong.

// CHECK-LABEL: @write_after_read
// CHECK: stream.async.dispatch @ex::@read
// CHECK: stream.async.update
util.func public @write_after_read(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %b = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c64}
    %wide = stream.async.dispatch @ex::@read(%b[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c4096}
    %u = stream.async.update %arg, %b[%c0 to %c64] : !stream.resource<external>{%c64} -> %b as !stream.resource<transient>{%c64}
    %v = stream.async.dispatch @ex::@widen(%u[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c4096}
    %n = stream.async.dispatch @ex::@narrow(%v[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c64}
    %j = stream.async.dispatch @ex::@join(%wide[%c0 to %c4096 for %c4096], %n[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c4096}, !stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Two captured operands may be one storage: the write through one waits for readers of the
// other, although writing first would let %big go before %wide comes.

// CHECK-LABEL: @captured_alias
// CHECK: stream.async.dispatch @ex::@read
// CHECK: stream.async.dispatch @ex::@overwrite
util.func public @captured_alias(%x: !stream.resource<external>, %y: !stream.resource<external>) -> (!stream.resource<external>, !stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %out:2, %tp = stream.async.execute with(%x as %argx: !stream.resource<external>{%c64}, %y as %argy: !stream.resource<external>{%c64}) -> (%x{%c64}, !stream.resource<external>{%c64}) {
    %big = stream.async.dispatch @ex::@make(%argy[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %wide = stream.async.dispatch @ex::@read(%argy[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %w = stream.async.dispatch @ex::@overwrite(%argx[%c0 to %c64 for %c64], %big[%c0 to %c4096 for %c4096]) : (!stream.resource<external>{%c64}, !stream.resource<transient>{%c4096}) -> %argx{%c64}
    %j = stream.async.dispatch @ex::@end(%wide[%c0 to %c4096 for %c4096], %w[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c4096}, !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %w, %j : !stream.resource<external>{%c64}, !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r:2 = stream.timepoint.await %tp => %out#0, %out#1 : !stream.resource<external>{%c64}, !stream.resource<external>{%c64}
  util.return %r#0, %r#1 : !stream.resource<external>, !stream.resource<external>
}

// -----

// A call may do anything: nothing crosses it, however much that would save.

// CHECK-LABEL: util.func public @barrier
// CHECK: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@make
// CHECK-NEXT: stream.async.call @unknown
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
stream.async.func private @unknown(%arg0: !stream.resource<*>, %arg1: index) -> (!stream.resource<*>)
util.func public @barrier(%in: !stream.resource<external>) -> (!stream.resource<external>, !stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %out:2, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> (!stream.resource<external>{%c64}, !stream.resource<external>{%c64}) {
    %w0 = stream.async.dispatch @ex::@widen(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %big = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %k = stream.async.call @unknown(%big[%c0 to %c4096 for %c4096], %c64) : (!stream.resource<transient>{%c4096}, index) -> !stream.resource<external>{%c64}
    %n0 = stream.async.dispatch @ex::@narrow(%w0[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<external>{%c64}
    stream.yield %n0, %k : !stream.resource<external>{%c64}, !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r:2 = stream.timepoint.await %tp => %out#0, %out#1 : !stream.resource<external>{%c64}, !stream.resource<external>{%c64}
  util.return %r#0, %r#1 : !stream.resource<external>, !stream.resource<external>
}

// -----

// Waves of concurrent ops are flattened and ordered like the rest.

// CHECK-LABEL: @flatten
// CHECK-NOT: stream.async.concurrent
// CHECK: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: stream.async.dispatch @ex::@join
util.func public @flatten(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %w:2 = stream.async.concurrent with(%arg as %inner: !stream.resource<external>{%c64}) -> (!stream.resource<transient>{%c4096}, !stream.resource<transient>{%c4096}) {
      %w0 = stream.async.dispatch @ex::@widen(%inner[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
      %w1 = stream.async.dispatch @ex::@widen(%inner[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
      stream.yield %w0, %w1 : !stream.resource<transient>{%c4096}, !stream.resource<transient>{%c4096}
    }
    %n:2 = stream.async.concurrent with(%w#0 as %wide0: !stream.resource<transient>{%c4096}, %w#1 as %wide1: !stream.resource<transient>{%c4096}) -> (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c64}) {
      %n0 = stream.async.dispatch @ex::@narrow(%wide0[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c64}
      %n1 = stream.async.dispatch @ex::@narrow(%wide1[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c64}
      stream.yield %n0, %n1 : !stream.resource<transient>{%c64}, !stream.resource<transient>{%c64}
    }
    %j = stream.async.dispatch @ex::@join(%n#0[%c0 to %c64 for %c64], %n#1[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Callers own %in: nothing is gained by reading it early. In one arena, its last reader goes first.

// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution{io=arena})' --split-input-file | FileCheck %s --check-prefix=ARENA

// CHECK-LABEL: @input_dies_early
// CHECK: stream.async.dispatch @ex::@first
// ARENA-LABEL: @input_dies_early
// ARENA: stream.async.dispatch @ex::@shrink
// ARENA: stream.async.dispatch @ex::@first
util.func public @input_dies_early(%view: !hal.buffer_view) -> !hal.buffer_view {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c4096 = arith.constant 4096 : index
  %c0_i8 = arith.constant 0 : i8
  %in = stream.tensor.import %view : !hal.buffer_view -> tensor<4096xi8> in !stream.resource<external>{%c4096}
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c4096}) -> !stream.resource<external>{%c64} {
    %z = stream.async.splat %c0_i8 : i8 -> !stream.resource<transient>{%c64}
    %w = stream.async.dispatch @ex::@first(%z[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c4096}
    %n = stream.async.dispatch @ex::@second(%w[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c64}
    %s = stream.async.dispatch @ex::@shrink(%arg[%c0 to %c4096 for %c4096]) : (!stream.resource<external>{%c4096}) -> !stream.resource<transient>{%c128}
    %j = stream.async.dispatch @ex::@join(%n[%c0 to %c64 for %c64], %s[%c0 to %c128 for %c128]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c128}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  %e = stream.tensor.export %r : tensor<64xi8> in !stream.resource<external>{%c64} -> !hal.buffer_view
  util.return %e : !hal.buffer_view
}
