// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-preserve-values)' --split-input-file | FileCheck %s

// The first value is overwritten, and yielded as it was for a branch to read.

// CHECK-LABEL: @yields_both
// CHECK:         %[[X:.+]] = stream.async.splat
// CHECK:         %[[C:.+]] = stream.async.clone %[[X]]
// CHECK:         %[[Y:.+]] = stream.async.fill {{.*}}, %[[C]][
// CHECK:         stream.yield %[[X]], %[[Y]]
util.func public @yields_both() -> (!stream.resource<external>, !stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %c1_i8 = arith.constant 1 : i8
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %out:2, %tp = stream.async.execute with() -> (!stream.resource<external>{%c64}, !stream.resource<external>{%c64}) {
    %x = stream.async.splat %c1_i8 : i8 -> !stream.resource<external>{%c64}
    %y = stream.async.fill %c1_i8, %x[%c0 to %c32 for %c32] : i8 -> %x as !stream.resource<external>{%c64}
    stream.yield %x, %y : !stream.resource<external>{%c64}, !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r:2 = stream.timepoint.await %tp => %out#0, %out#1 : !stream.resource<external>{%c64}, !stream.resource<external>{%c64}
  util.return %r#0, %r#1 : !stream.resource<external>, !stream.resource<external>
}

// -----

// Left alone: the operand is overwritten, and nobody reads it any more.

// CHECK-LABEL: @last_use
// CHECK-NOT:     stream.async.clone
util.func public @last_use(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c1_i8 = arith.constant 1 : i8
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> %in{%c64} {
    %y = stream.async.fill %c1_i8, %arg[%c0 to %c32 for %c32] : i8 -> %arg as !stream.resource<external>{%c64}
    stream.yield %y : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// The operand is overwritten, and returned as it was.

// CHECK-LABEL: @returned_too
// CHECK:         stream.async.execute with(%{{.+}} as %[[A:.+]]: {{.*}}) -> !stream.resource<external>{%c64} {
// CHECK:         %[[C:.+]] = stream.async.clone %[[A]]
// CHECK:         stream.async.fill {{.*}}, %[[C]][
util.func public @returned_too(%in: !stream.resource<external>) -> (!stream.resource<external>, !stream.resource<external>) {
  %c0 = arith.constant 0 : index
  %c1_i8 = arith.constant 1 : i8
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> %in{%c64} {
    %y = stream.async.fill %c1_i8, %arg[%c0 to %c32 for %c32] : i8 -> %arg as !stream.resource<external>{%c64}
    stream.yield %y : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r, %in : !stream.resource<external>, !stream.resource<external>
}
