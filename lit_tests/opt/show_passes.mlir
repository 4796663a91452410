// RUN: serenity-opt --show-passes | FileCheck %s

// CHECK:      serenity-schedule-tensors
// CHECK-NEXT:   Reorders the ops of each function body
// CHECK-NEXT:   time-limit=<float> {{.*}} (default 10.0)
// CHECK-NEXT:   annotate=<bool> {{.*}} (default false)
