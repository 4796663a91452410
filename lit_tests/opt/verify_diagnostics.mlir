// RUN: serenity-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// expected-error @+2 {{'func.return' op has 0 operands}}
func.func @in_a_later_line() -> i32 {
  return
}

// -----

func.func @in_this_line() -> i32 {
  return // expected-error {{has 0 operands}}
}

// -----

func.func @in_an_earlier_line() -> i32 {
  return
  // expected-error @-1 {{has 0 operands}}
}

// -----

func.func @above() -> i32 {
  return
  // expected-error @above {{has 0 operands}}
}

// -----

func.func @below() -> i32 {
  // expected-error-re @below {{has {{[0-9]+}} operands, but enclosing function (@be{{.*}}w) returns 1}}
  return
}

// -----

// expected-note @+1 {{see existing symbol definition here}}
func.func private @notes()
// expected-error @+1 {{redefinition of symbol named 'notes'}}
func.func private @notes()

// -----

// What parses is printed as ever.
// CHECK: func.func @fine
func.func @fine() {
  return
}
