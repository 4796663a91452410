// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-separate-results)' --split-input-file | FileCheck %s

// The dispatch reads all of the buffer whose first half it would write.

// CHECK-LABEL: @overwrites
// CHECK:         %[[X:.+]] = stream.async.splat
// CHECK:         %[[W:.+]] = stream.async.fill {{.*}}, %[[X]]
// CHECK:         %[[D:.+]] = stream.async.dispatch @ex::@half(%[[X]][%c0 to %c64 for %c64], %c32) : {{.*}} -> !stream.resource<transient>{%c32}
// CHECK:         %[[U:.+]] = stream.async.update %[[D]], %[[W]][%c0 to %c32]
// CHECK:         stream.async.dispatch @ex::@end(%[[U]]
stream.executable private @ex {
  stream.executable.export public @half
  builtin.module {
    func.func @half(%in: !stream.binding, %at: index, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %i = stream.binding.subspan %in[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<64xi8>>
      %o = stream.binding.subspan %out[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<32xi8>>
      return
    }
  }
}
util.func public @overwrites(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c1_i8 = arith.constant 1 : i8
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %x = stream.async.splat %c1_i8 : i8 -> !stream.resource<transient>{%c64}
    %w = stream.async.fill %c1_i8, %x[%c0 to %c32 for %c32] : i8 -> %x as !stream.resource<transient>{%c64}
    %y = stream.async.dispatch @ex::@half(%x[%c0 to %c64 for %c64], %c32, %w[%c0 to %c32 for %c32]) : (!stream.resource<transient>{%c64}, index, !stream.resource<transient>{%c64}) -> %w{%c64}
    %z = stream.async.dispatch @ex::@end(%y[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %z : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Left alone: the dispatch reads the other half.

// CHECK-LABEL: @apart
// CHECK-NOT:     stream.async.update
stream.executable private @ex {
  stream.executable.export public @half
  builtin.module {
    func.func @half(%in: !stream.binding, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %i = stream.binding.subspan %in[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<32xi8>>
      %o = stream.binding.subspan %out[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<32xi8>>
      return
    }
  }
}
util.func public @apart(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c1_i8 = arith.constant 1 : i8
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %x = stream.async.splat %c1_i8 : i8 -> !stream.resource<transient>{%c64}
    %w = stream.async.fill %c1_i8, %x[%c0 to %c32 for %c32] : i8 -> %x as !stream.resource<transient>{%c64}
    %y = stream.async.dispatch @ex::@half(%x[%c32 to %c64 for %c32], %w[%c0 to %c32 for %c32]) : (!stream.resource<transient>{%c64}, !stream.resource<transient>{%c64}) -> %w{%c64}
    %z = stream.async.dispatch @ex::@end(%y[%c0 to %c64 for %c64]) : (!stream.resource<transient>{%c64}) -> !stream.resource<external>{%c64}
    stream.yield %z : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}
