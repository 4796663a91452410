// RUN: not serenity-opt %s --split-input-file 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERR --input-file=%t.err
// RUN: not serenity-opt %s 2>&1 | FileCheck %s --check-prefix=WHOLE

// Each piece is processed alone, and one that fails does not stop the next.

// CHECK:      func.func @f()
// CHECK:      // -----
// CHECK-NOT:  func.func @wrong
// CHECK:      // -----
// CHECK:      func.func @f()
func.func @f() {
  return
}

// -----

// Lines are those of the whole file.

// ERR: split_input.mlir:22:{{[0-9]+}}: error: use of undeclared SSA value name
func.func @wrong() -> i32 {
  return %undeclared : i32
// ERR-NEXT: {{^}}  return %undeclared : i32
// ERR-NEXT: {{^}}         ^
}

// -----

// WHOLE: error: use of undeclared SSA value name
func.func @f() {
  return
}
