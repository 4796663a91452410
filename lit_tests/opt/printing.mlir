// RUN: serenity-opt %s | FileCheck %s
// RUN: serenity-opt - < %s | FileCheck %s
// RUN: cat %s | serenity-opt | FileCheck %s
// RUN: serenity-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: serenity-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// RUN: serenity-opt - --mlir-print-debuginfo < %s | FileCheck %s --check-prefix=STDIN
// RUN: serenity-opt %s --no-implicit-module | FileCheck %s --check-prefix=BARE
// RUN: serenity-opt %s --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELIDED
// RUN: not serenity-opt %s --pass-pipeline='builtin.module(cse)' --verify-each=maybe 2>&1 | FileCheck %s --check-prefix=SWITCH

// CHECK:         module {
// CHECK-NEXT:      func.func @f() -> tensor<4xi32>
// CHECK-NEXT:        arith.constant dense<[1, 2, 3, 4]>
// GENERIC:       "builtin.module"() ({
// GENERIC-NEXT:    "func.func"()
// LOC:           loc("{{.*}}printing.mlir":24:8)
// STDIN:         loc("-":24:8)
// BARE-NOT:      module
// BARE:          func.func @f()
// ELIDED:        arith.constant dense_resource<__elided__>
// SWITCH:        --verify-each wants true or false, not 'maybe'

func.func @f() -> tensor<4xi32> {
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %c : tensor<4xi32>
}
