// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution,serenity-rematerialize-splats)' --split-input-file | FileCheck %s

// The fill would wait, with nothing in it, while %w is there. Each consumer gets one of its own.

// CHECK-LABEL: @far_apart
// CHECK: %[[S:.+]] = stream.async.splat
// CHECK: stream.async.dispatch @ex::@mix(%{{.+}}, %[[S]][
// CHECK-NEXT: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: %[[T:.+]] = stream.async.splat
// CHECK-NEXT: stream.async.dispatch @ex::@mix(%{{.+}}, %[[T]][
// CHECK-NEXT: stream.async.dispatch @ex::@end
util.func public @far_apart(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %s = stream.async.splat %c0_i8 : i8 -> !stream.resource<transient>{%c8192}
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c64}
    %p = stream.async.dispatch @ex::@mix(%a[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %w = stream.async.dispatch @ex::@widen(%p[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c12288}
    %n = stream.async.dispatch @ex::@narrow(%w[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<transient>{%c64}
    %q = stream.async.dispatch @ex::@mix(%n[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %j = stream.async.dispatch @ex::@end(%q[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// The same where the second one writes it in place.

// CHECK-LABEL: @written_at_last
// CHECK: %[[S:.+]] = stream.async.splat
// CHECK: stream.async.dispatch @ex::@mix(%{{.+}}, %[[S]][
// CHECK-NEXT: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: %[[T:.+]] = stream.async.splat
// CHECK-NEXT: stream.async.dispatch @ex::@pad(%{{.+}}, %[[T]][{{.*}} -> %[[T]]{%c8192}
// CHECK-NEXT: stream.async.dispatch @ex::@end
util.func public @written_at_last(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %s = stream.async.splat %c0_i8 : i8 -> !stream.resource<transient>{%c8192}
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c64}
    %p = stream.async.dispatch @ex::@mix(%a[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %w = stream.async.dispatch @ex::@widen(%p[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c12288}
    %n = stream.async.dispatch @ex::@narrow(%w[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<transient>{%c64}
    %q = stream.async.dispatch @ex::@pad(%n[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> %s{%c8192}
    %j = stream.async.dispatch @ex::@end(%q[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c8192}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Two that run one after the other share one fill: a second one would save nothing.

// CHECK-LABEL: @shared_by_neighbours
// CHECK: %[[S:.+]] = stream.async.splat
// CHECK: stream.async.dispatch @ex::@mix(%{{.+}}, %[[S]][
// CHECK-NEXT: stream.async.dispatch @ex::@mix(%{{.+}}, %[[S]][
// CHECK-NEXT: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: %[[T:.+]] = stream.async.splat
// CHECK-NEXT: stream.async.dispatch @ex::@mix(%{{.+}}, %[[T]][
// CHECK-NEXT: stream.async.dispatch @ex::@end
util.func public @shared_by_neighbours(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %s = stream.async.splat %c0_i8 : i8 -> !stream.resource<transient>{%c8192}
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c64}
    %p = stream.async.dispatch @ex::@mix(%a[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %o = stream.async.dispatch @ex::@mix(%p[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %w = stream.async.dispatch @ex::@widen(%o[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c12288}
    %n = stream.async.dispatch @ex::@narrow(%w[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<transient>{%c64}
    %q = stream.async.dispatch @ex::@mix(%n[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %j = stream.async.dispatch @ex::@end(%q[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Nothing large runs between the two: the fill stays as it is.

// CHECK-LABEL: @useless
// CHECK: stream.async.splat
// CHECK-NOT: stream.async.splat
// CHECK: stream.yield
util.func public @useless(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %s = stream.async.splat %c0_i8 : i8 -> !stream.resource<transient>{%c8192}
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c64}
    %p = stream.async.dispatch @ex::@mix(%a[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %q = stream.async.dispatch @ex::@mix(%p[%c0 to %c64 for %c64], %s[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %w = stream.async.dispatch @ex::@widen(%q[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c12288}
    %n = stream.async.dispatch @ex::@narrow(%w[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<transient>{%c64}
    %j = stream.async.dispatch @ex::@end(%n[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// A clone of a fill can be a fill; the first one is not needed any more then.

// CHECK-LABEL: @clones
// CHECK-NOT: stream.async.clone
// CHECK: stream.async.dispatch @ex::@make
// CHECK-NEXT: %[[S:.+]] = stream.async.splat
// CHECK-NEXT: stream.async.dispatch @ex::@pad(%{{.+}}, %[[S]][
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: stream.async.dispatch @ex::@widen
// CHECK-NEXT: stream.async.dispatch @ex::@narrow
// CHECK-NEXT: %[[T:.+]] = stream.async.splat
// CHECK-NEXT: stream.async.dispatch @ex::@pad(%{{.+}}, %[[T]][
// CHECK-NEXT: stream.async.dispatch @ex::@end
util.func public @clones(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %s = stream.async.splat %c0_i8 : i8 -> !stream.resource<transient>{%c8192}
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c64}
    %s1 = stream.async.clone %s : !stream.resource<transient>{%c8192} -> !stream.resource<transient>{%c8192}
    %p = stream.async.dispatch @ex::@pad(%a[%c0 to %c64 for %c64], %s1[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> %s1{%c8192}
    %o = stream.async.dispatch @ex::@narrow(%p[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c8192}) -> !stream.resource<transient>{%c64}
    %w = stream.async.dispatch @ex::@widen(%o[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<transient>{%c12288}
    %n = stream.async.dispatch @ex::@narrow(%w[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<transient>{%c64}
    %s2 = stream.async.clone %s : !stream.resource<transient>{%c8192} -> !stream.resource<transient>{%c8192}
    %q = stream.async.dispatch @ex::@pad(%n[%c0 to %c64 for %c64], %s2[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c8192}) -> %s2{%c8192}
    %j = stream.async.dispatch @ex::@end(%q[%c0 to %c8192 for %c8192]) : (!stream.resource<transient>{%c8192}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}
