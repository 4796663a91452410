// MLIR's passes and ours in one pipeline, in the order of the text, nested and not.

// RUN: serenity-opt %s --pass-pipeline='builtin.module(cse,func.func(serenity-schedule-tensors{annotate=true},canonicalize),symbol-dce)' --mlir-print-ir-after-all -o %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=FINAL --input-file=%t.mlir

// CHECK: IR Dump After {{.*}}cse
// CHECK: IR Dump After ScheduleTensorsPass: serenity-schedule-tensors{time-limit=10.0 annotate=true method=default}
// CHECK: func.func @f() attributes {serenity.peak = 0 : i64}
// CHECK: IR Dump After ScheduleTensorsPass
// CHECK: func.func private @unused() attributes {serenity.peak = 0 : i64}
// CHECK: IR Dump After {{.*}}canonicalize
// CHECK: IR Dump After {{.*}}symbol-dce

// FINAL:     func.func @f() attributes {serenity.peak = 0 : i64}
// FINAL-NOT: @unused

// Single passes as flags, in the order of the flags.
// RUN: serenity-opt %s --cse -serenity-schedule-tensors='annotate=true time-limit=2' --mlir-print-ir-before-all 2>&1 | FileCheck %s --check-prefix=FLAGS
// FLAGS: IR Dump Before {{.*}}cse
// FLAGS: IR Dump Before ScheduleTensorsPass: serenity-schedule-tensors{time-limit=2.0 annotate=true method=default}

func.func @f() {
  return
}
func.func private @unused() {
  return
}
