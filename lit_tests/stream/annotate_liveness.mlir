// RUN: serenity-opt %s --serenity-annotate-liveness | FileCheck %s

// 4096 for the wide result; 64 more, rounded up from 1, while it is read.

// CHECK-LABEL: @f
// CHECK: dispatch @ex::@widen
// CHECK-SAME: serenity.live_bytes = 4096 : i64
// CHECK: dispatch @ex::@narrow
// CHECK-SAME: serenity.live_bytes = 4160 : i64, serenity.peak_op
// CHECK: dispatch @ex::@end
// CHECK-SAME: serenity.live_bytes = 64 : i64
// CHECK: serenity.peak = 4160 : i64
util.func public @f(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %w = stream.async.dispatch @ex::@widen(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %n = stream.async.dispatch @ex::@narrow(%w[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c1}
    %j = stream.async.dispatch @ex::@end(%n[%c0 to %c1 for %c1]) : (!stream.resource<transient>{%c1}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}
