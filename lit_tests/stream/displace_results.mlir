// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-execution,serenity-displace-results)' --split-input-file | FileCheck %s

// The wide value is there while the first operand is written: placed, that keeps all 16384 bytes
// of the buffer as well; apart, only its own 4096.

// CHECK-LABEL: @wide_first
// CHECK: %[[W:.+]] = stream.async.dispatch @ex::@widen
// CHECK-NEXT: %[[N:.+]] = stream.async.dispatch @ex::@narrow(%[[W]][%c0 to %c65536 for %c65536]) : {{.*}} -> !stream.resource<transient>{%c4096}
// CHECK: %[[U:.+]] = stream.async.update %[[N]], %{{.+}}[%c0 to %c4096]
// CHECK: stream.async.dispatch @ex::@end
stream.executable private @ex {
  stream.executable.export public @narrow
  builtin.module {
    func.func @narrow(%in: !stream.binding, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %i = stream.binding.subspan %in[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<65536xi8>>
      %o = stream.binding.subspan %out[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<4096xi8>>
      return
    }
  }
}
util.func public @wide_first(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %c16384 = arith.constant 16384 : index
  %c65536 = arith.constant 65536 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %w = stream.async.dispatch @ex::@widen(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c65536}
    %m = stream.async.alloca : !stream.resource<transient>{%c16384}
    %u = stream.async.dispatch @ex::@narrow(%w[%c0 to %c65536 for %c65536], %m[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c65536}, !stream.resource<transient>{%c16384}) -> %m{%c16384}
    %j = stream.async.dispatch @ex::@end(%u[%c0 to %c16384 for %c16384]) : (!stream.resource<transient>{%c16384}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}

// -----

// Left alone: the function reads what was in the slice before.

// CHECK-LABEL: @accumulates
// CHECK: stream.async.dispatch @ex::@narrow({{.*}} -> %{{.+}}{%c16384}
stream.executable private @ex {
  stream.executable.export public @narrow
  builtin.module {
    func.func @narrow(%in: !stream.binding, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %i = stream.binding.subspan %in[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<65536xi8>>
      %o = stream.binding.subspan %out[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<4096xi8>>
      return
    }
  }
}
util.func public @accumulates(%in: !stream.resource<external>) -> !stream.resource<external> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %c16384 = arith.constant 16384 : index
  %c65536 = arith.constant 65536 : index
  %out, %tp = stream.async.execute with(%in as %arg: !stream.resource<external>{%c64}) -> !stream.resource<external>{%c64} {
    %w = stream.async.dispatch @ex::@widen(%arg[%c0 to %c64 for %c64]) : (!stream.resource<external>{%c64}) -> !stream.resource<transient>{%c65536}
    %m = stream.async.alloca : !stream.resource<transient>{%c16384}
    %u = stream.async.dispatch @ex::@narrow(%w[%c0 to %c65536 for %c65536], %m[%c0 to %c4096 for %c4096]) : (!stream.resource<transient>{%c65536}, !stream.resource<transient>{%c16384}) -> %m{%c16384}
    %j = stream.async.dispatch @ex::@end(%u[%c0 to %c16384 for %c16384]) : (!stream.resource<transient>{%c16384}) -> !stream.resource<external>{%c64}
    stream.yield %j : !stream.resource<external>{%c64}
  } => !stream.timepoint
  %r = stream.timepoint.await %tp => %out : !stream.resource<external>{%c64}
  util.return %r : !stream.resource<external>
}
