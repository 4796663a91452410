// RUN: serenity-opt %s --serenity-schedule-tensors=annotate=true --split-input-file | FileCheck %s
// RUN: serenity-opt %s --pass-pipeline='builtin.module(builtin.module(util.func(serenity-schedule-tensors{annotate=true})))' --split-input-file | FileCheck %s --check-prefix=NESTED

// Functions of inner modules are scheduled, kernels inside executables are not. Anchored on a
// function, the pass sees the functions that the anchors name and no other.

// CHECK:      module {
// CHECK:        module @inner {
// CHECK-NEXT:     util.func private @f() attributes {serenity.peak = 0 : i64}
// CHECK:          func.func @g() attributes {serenity.peak = 0 : i64}
// CHECK:        func.func @kernel() {
// CHECK:        func.func @outer() attributes {serenity.peak = 0 : i64}

// NESTED:     module @inner {
// NESTED-NEXT:  util.func private @f() attributes {serenity.peak = 0 : i64}
// NESTED:       func.func @g() {
// NESTED:     func.func @kernel() {
// NESTED:     func.func @outer() {

module @inner {
  util.func private @f() {
    util.return
  }
  func.func @g() {
    return
  }
}
flow.executable private @exe {
  flow.executable.export public @kernel
  builtin.module {
    func.func @kernel() {
      return
    }
  }
}
func.func @outer() {
  return
}
