// What was announced and did not come is an error, and so is what came unannounced.

// RUN: not serenity-opt %s --split-input-file --verify-diagnostics 2>&1 >/dev/null | FileCheck %s
// RUN: not serenity-opt %s --split-input-file --verify-diagnostics=only-expected 2>&1 >/dev/null | FileCheck %s --check-prefix=ONLY

// ONLY-NOT: unexpected

// CHECK: verify_diagnostics_mismatch.mlir:13:3: error: unexpected error: 'func.return' op has 0 operands
// CHECK: verify_diagnostics_mismatch.mlir:11:1: error: expected error "has 7 operands" was not produced
// ONLY:  verify_diagnostics_mismatch.mlir:11:1: error: expected error "has 7 operands" was not produced
// expected-error @+2 {{has 7 operands}}
func.func @other_words() -> i32 {
  return
}

// -----

// A warning is not an error.
// CHECK: error: unexpected error: 'func.return' op has 0 operands
// CHECK: error: expected warning "has 0 operands" was not produced
// expected-warning @+2 {{has 0 operands}}
func.func @other_kind() -> i32 {
  return
}

// -----

// CHECK: error: expected remark "nothing" was not produced
// ONLY:  error: expected remark "nothing" was not produced
// expected-remark @+1 {{nothing}}
func.func @silence() {
  return
}
