// RUN: serenity-opt %s --allow-unregistered-dialect | FileCheck %s
// RUN: not serenity-opt %s 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK:   "nobody.knows"()
// REFUSED: error: operation being parsed with an unregistered dialect
"nobody.knows"() : () -> ()
