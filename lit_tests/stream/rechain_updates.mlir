// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution,serenity-rechain-updates)' --split-input-file | FileCheck %s

// Each value is made from the one before it and the concat names the last one first: all three
// and the result would wait for that one. Each is put in its place as soon as it is there.

// CHECK-LABEL: @last_operand_first
// CHECK: %[[A:.+]] = stream.async.dispatch @ex::@make
// CHECK-NEXT: %[[M:.+]] = stream.async.alloca
// CHECK-NEXT: %[[B:.+]] = stream.async.dispatch @ex::@step(%[[A]]
// CHECK-NEXT: %[[U:.+]] = stream.async.update %[[A]], %[[M]][%c8192 to %c12288]
// CHECK-NEXT: %[[C:.+]] = stream.async.dispatch @ex::@step(%[[B]]
// CHECK-NEXT: %[[V:.+]] = stream.async.update %[[B]], %[[U]][%c4096 to %c8192]
// CHECK: %[[W:.+]] = stream.async.update %[[C]], %[[V]][%c0 to %c4096]
// CHECK: stream.async.dispatch @ex::@end(%[[W]]
util.func public @last_operand_first(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %b = stream.async.dispatch @ex::@step(%a[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %c = stream.async.dispatch @ex::@step(%b[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %m = stream.async.alloca : !stream.resource<transient>{%c12288}
    %u0 = stream.async.update %c, %m[%c0 to %c4096] : !stream.resource<transient>{%c4096} -> %m as !stream.resource<transient>{%c12288}
    %u1 = stream.async.update %b, %u0[%c4096 to %c8192] : !stream.resource<transient>{%c4096} -> %u0 as !stream.resource<transient>{%c12288}
    %u2 = stream.async.update %a, %u1[%c8192 to %c12288] : !stream.resource<transient>{%c4096} -> %u1 as !stream.resource<transient>{%c12288}
    %j = stream.async.dispatch @ex::@end(%u2[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Dispatches that write a slice through a tie count as well, by their ranges.

// CHECK-LABEL: @dispatches_in_place
// CHECK: %[[A:.+]] = stream.async.dispatch @ex::@make
// CHECK: %[[M:.+]] = stream.async.alloca
// CHECK: %[[B:.+]] = stream.async.dispatch @ex::@step(%[[A]]
// CHECK: %[[U:.+]] = stream.async.dispatch @ex::@write(%[[A]]{{.*}}, %[[M]][%c8192 to %c12288 for %c4096]
// CHECK: %[[C:.+]] = stream.async.dispatch @ex::@step(%[[B]]
// CHECK: %[[V:.+]] = stream.async.dispatch @ex::@write(%[[B]]{{.*}}, %[[U]][%c4096 to %c8192 for %c4096]
// CHECK: %[[W:.+]] = stream.async.dispatch @ex::@write(%[[C]]{{.*}}, %[[V]][%c0 to %c4096 for %c4096]
// CHECK: stream.async.dispatch @ex::@end(%[[W]]
util.func public @dispatches_in_place(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %b = stream.async.dispatch @ex::@step(%a[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %c = stream.async.dispatch @ex::@step(%b[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %m = stream.async.alloca : !stream.resource<transient>{%c12288}
    %u0 = stream.async.dispatch @ex::@write(%c[%c0 to %c4096 for %c4096], %m[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}, !stream.resource<transient>{%c12288}) -> %m{%c12288}
    %u1 = stream.async.dispatch @ex::@write(%b[%c0 to %c4096 for %c4096], %u0[%c4096 to %c8192 for %c4096]) : (!stream.resource<transient>{%c4096}, !stream.resource<transient>{%c12288}) -> %u0{%c12288}
    %u2 = stream.async.dispatch @ex::@write(%a[%c0 to %c4096 for %c4096], %u1[%c8192 to %c12288 for %c4096]) : (!stream.resource<transient>{%c4096}, !stream.resource<transient>{%c12288}) -> %u1{%c12288}
    %j = stream.async.dispatch @ex::@end(%u2[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Named in the order in which they are made, the operands wait for nothing: the chain stays.

// CHECK-LABEL: @first_operand_first
// CHECK: %[[M:.+]] = stream.async.alloca
// CHECK: %[[U:.+]] = stream.async.update %{{.+}}, %[[M]][%c0 to %c4096]
// CHECK: %[[V:.+]] = stream.async.update %{{.+}}, %[[U]][%c4096 to %c8192]
// CHECK: %[[W:.+]] = stream.async.update %{{.+}}, %[[V]][%c8192 to %c12288]
// CHECK: stream.async.dispatch @ex::@end(%[[W]]
util.func public @first_operand_first(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %b = stream.async.dispatch @ex::@step(%a[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %c = stream.async.dispatch @ex::@step(%b[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %m = stream.async.alloca : !stream.resource<transient>{%c12288}
    %u0 = stream.async.update %a, %m[%c0 to %c4096] : !stream.resource<transient>{%c4096} -> %m as !stream.resource<transient>{%c12288}
    %u1 = stream.async.update %b, %u0[%c4096 to %c8192] : !stream.resource<transient>{%c4096} -> %u0 as !stream.resource<transient>{%c12288}
    %u2 = stream.async.update %c, %u1[%c8192 to %c12288] : !stream.resource<transient>{%c4096} -> %u1 as !stream.resource<transient>{%c12288}
    %j = stream.async.dispatch @ex::@end(%u2[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Of bytes that two updates write, the last one counts.

// CHECK-LABEL: @overlapping_slices
// CHECK: %[[M:.+]] = stream.async.alloca
// CHECK: %[[U:.+]] = stream.async.update %{{.+}}, %[[M]][%c0 to %c4096]
// CHECK: %[[V:.+]] = stream.async.update %{{.+}}, %[[U]][%c2048 to %c6144]
// CHECK: %[[W:.+]] = stream.async.update %{{.+}}, %[[V]][%c0 to %c4096]
// CHECK: stream.async.dispatch @ex::@end(%[[W]]
util.func public @overlapping_slices(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %b = stream.async.dispatch @ex::@step(%a[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %c = stream.async.dispatch @ex::@step(%b[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %m = stream.async.alloca : !stream.resource<transient>{%c12288}
    %u0 = stream.async.update %c, %m[%c0 to %c4096] : !stream.resource<transient>{%c4096} -> %m as !stream.resource<transient>{%c12288}
    %u1 = stream.async.update %b, %u0[%c2048 to %c6144] : !stream.resource<transient>{%c4096} -> %u0 as !stream.resource<transient>{%c12288}
    %u2 = stream.async.update %a, %u1[%c0 to %c4096] : !stream.resource<transient>{%c4096} -> %u1 as !stream.resource<transient>{%c12288}
    %j = stream.async.dispatch @ex::@end(%u2[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// What reads all of the buffer between two updates must not see the later one.

// CHECK-LABEL: @reader_in_the_middle
// CHECK: %[[U:.+]] = stream.async.update %{{.+}}, %{{.+}}[%c0 to %c4096]
// CHECK-NEXT: stream.async.dispatch @ex::@look(%[[U]][%c0 to %c12288 for %c12288])
// CHECK: %[[V:.+]] = stream.async.update %{{.+}}, %[[U]][%c4096 to %c8192]
// CHECK: %[[W:.+]] = stream.async.update %{{.+}}, %[[V]][%c8192 to %c12288]
// CHECK: stream.async.dispatch @ex::@join(%[[W]]
util.func public @reader_in_the_middle(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %b = stream.async.dispatch @ex::@step(%a[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %c = stream.async.dispatch @ex::@step(%b[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %m = stream.async.alloca : !stream.resource<transient>{%c12288}
    %u0 = stream.async.update %c, %m[%c0 to %c4096] : !stream.resource<transient>{%c4096} -> %m as !stream.resource<transient>{%c12288}
    %k = stream.async.dispatch @ex::@look(%u0[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<transient>{%c64}
    %u1 = stream.async.update %b, %u0[%c4096 to %c8192] : !stream.resource<transient>{%c4096} -> %u0 as !stream.resource<transient>{%c12288}
    %u2 = stream.async.update %a, %u1[%c8192 to %c12288] : !stream.resource<transient>{%c4096} -> %u1 as !stream.resource<transient>{%c12288}
    %j = stream.async.dispatch @ex::@join(%u2[%c0 to %c12288 for %c12288], %k[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c12288}, !stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// What reads one slice waits for that one only, and reads it by the buffer's newest name.

// CHECK-LABEL: @reader_of_a_slice
// CHECK: %[[U:.+]] = stream.async.update %{{.+}}, %{{.+}}[%c8192 to %c12288]
// CHECK: %[[V:.+]] = stream.async.update %{{.+}}, %[[U]][%c4096 to %c8192]
// CHECK: %[[W:.+]] = stream.async.update %{{.+}}, %[[V]][%c0 to %c4096]
// CHECK: stream.async.dispatch @ex::@look(%[[W]][%c0 to %c4096 for %c4096])
// CHECK: stream.async.dispatch @ex::@join(%[[W]]
util.func public @reader_of_a_slice(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %b = stream.async.dispatch @ex::@step(%a[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %c = stream.async.dispatch @ex::@step(%b[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %m = stream.async.alloca : !stream.resource<transient>{%c12288}
    %u0 = stream.async.update %c, %m[%c0 to %c4096] : !stream.resource<transient>{%c4096} -> %m as !stream.resource<transient>{%c12288}
    %k = stream.async.dispatch @ex::@look(%u0[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<transient>{%c64}
    %u1 = stream.async.update %b, %u0[%c4096 to %c8192] : !stream.resource<transient>{%c4096} -> %u0 as !stream.resource<transient>{%c12288}
    %u2 = stream.async.update %a, %u1[%c8192 to %c12288] : !stream.resource<transient>{%c4096} -> %u1 as !stream.resource<transient>{%c12288}
    %j = stream.async.dispatch @ex::@join(%u2[%c0 to %c12288 for %c12288], %k[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c12288}, !stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// A slice whose bounds are not known may be any.

// CHECK-LABEL: @unknown_slice
// CHECK: %[[M:.+]] = stream.async.alloca
// CHECK: %[[U:.+]] = stream.async.update %{{.+}}, %[[M]][%{{.+}} to %{{.+}}]
// CHECK: %[[V:.+]] = stream.async.update %{{.+}}, %[[U]][%c4096 to %c8192]
// CHECK: %[[W:.+]] = stream.async.update %{{.+}}, %[[V]][%c8192 to %c12288]
// CHECK: stream.async.dispatch @ex::@end(%[[W]]
util.func public @unknown_slice(%in: !stream.resource<external>, %at: index, %to: index) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %c6144 = arith.constant 6144 : index
  %c8192 = arith.constant 8192 : index
  %c12288 = arith.constant 12288 : index
  %c0_i8 = arith.constant 0 : i8
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %a = stream.async.dispatch @ex::@make(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c4096}
    %b = stream.async.dispatch @ex::@step(%a[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %c = stream.async.dispatch @ex::@step(%b[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c4096}) -> !stream.resource<transient>{%c4096}
    %m = stream.async.alloca : !stream.resource<transient>{%c12288}
    %u0 = stream.async.update %c, %m[%at to %to] : !stream.resource<transient>{%c4096} -> %m as !stream.resource<transient>{%c12288}
    %u1 = stream.async.update %b, %u0[%c4096 to %c8192] : !stream.resource<transient>{%c4096} -> %u0 as !stream.resource<transient>{%c12288}
    %u2 = stream.async.update %a, %u1[%c8192 to %c12288] : !stream.resource<transient>{%c4096} -> %u1 as !stream.resource<transient>{%c12288}
    %j = stream.async.dispatch @ex::@end(%u2[%c0 to %c12288 for %c12288]) : (!stream.resource<transient>{%c12288}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}
