// A failure leaves an output file as it was, and nothing beside it.

// RUN: rm -rf %t && mkdir %t && echo before > %t/out.mlir
// RUN: not serenity-opt %s -o %t/out.mlir --pass-pipeline='func.func(serenity-schedule-tensors)'
// RUN: FileCheck %s --check-prefix=BEFORE --input-file=%t/out.mlir
// RUN: ls -A %t | FileCheck %s --check-prefix=ONE
// RUN: serenity-opt %s -o %t/out.mlir
// RUN: FileCheck %s --input-file=%t/out.mlir
// RUN: ls -A %t | FileCheck %s --check-prefix=ONE
// RUN: not serenity-opt %s -o %t/no/such/folder.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: serenity-opt %s -o /dev/null

// BEFORE:  before
// CHECK:   func.func @f
// ONE:     out.mlir
// ONE-NOT: {{.}}
// FOLDER:  no/such/folder.mlir: cannot be written: No such file or directory

func.func @f() {
  return
}
