// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution)' | FileCheck %s
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution{method=dp})' | FileCheck %s
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution{method=dp+dc})' | FileCheck %s
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution{method=dp+asb})' | FileCheck %s
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution{method=dp+dc+asb})' | FileCheck %s
// RUN: not serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution{method=dc})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: serenity-schedule-execution: no scheduling method 'dc': methods are default, dp, dp+dc, dp+asb, dp+dc+asb

// Each method finds that one branch is to be narrowed before the other one is widened.

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
