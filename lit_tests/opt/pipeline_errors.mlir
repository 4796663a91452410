// A pipeline that is wrong ends with status 2, shows where, and says what was meant. No IR comes out.

// RUN: not serenity-opt %s --pass-pipeline='builtin.module(cse,serenity-schedule-tensor)' 2>&1 | FileCheck %s --check-prefix=NAME
// NAME:      serenity-opt: error: --pass-pipeline:20: no pass 'serenity-schedule-tensor'
// NAME-NEXT:   builtin.module(cse,serenity-schedule-tensor)
// NAME-NEXT: {{^}}                     ^
// NAME-NEXT:   hint: did you mean 'serenity-schedule-tensors'?
// NAME-NOT:  module

// RUN: not serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-tensors{time_limit=3})' 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: --pass-pipeline:16: serenity-schedule-tensors: no option 'time_limit'
// OPTION: hint: did you mean 'time-limit'? its options are annotate, method, time-limit

// RUN: not serenity-opt %s --pass-pipeline='builtin.module(serenity-schedule-tensors{time-limit=soon})' 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: option 'time-limit' wants a number, not 'soon'

// RUN: not serenity-opt %s --pass-pipeline='builtin.module(func.func(cse,no-such-pass))' 2>&1 | FileCheck %s --check-prefix=NATIVE
// NATIVE:      --pass-pipeline:30: 'no-such-pass' does not refer to a registered pass
// NATIVE-NEXT:   builtin.module(func.func(cse,no-such-pass))
// NATIVE-NEXT: {{^}}                               ^

// RUN: not serenity-opt %s --pass-pipeline='builtin.module(canonicalize{max-iteration=3})' 2>&1 | FileCheck %s --check-prefix=NATIVE-OPTION
// NATIVE-OPTION: --pass-pipeline:16: no such option max-iteration

// RUN: not serenity-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: --pass-pipeline:15: '(' is not closed

// RUN: not serenity-opt %s --pass-pipeline='cse' 2>&1 | FileCheck %s --check-prefix=ANCHOR
// ANCHOR: 'cse' stands alone where a pipeline begins with its anchor
// ANCHOR: hint: write builtin.module(cse)

// RUN: not serenity-opt %s --pass-pipeline='func.func(serenity-schedule-tensors)' 2>&1 | FileCheck %s --check-prefix=ROOT
// ROOT: <unknown>:0: error: a pipeline on 'func.func' cannot run on a 'builtin.module'

// RUN: not serenity-opt %s --split-input-fil 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: hint: did you mean '--split-input-file'?

// RUN: not serenity-opt %s --cse --pass-pipeline='builtin.module(cse)' 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: '--cse' and --pass-pipeline are two pipelines

// RUN: not serenity-opt %s.absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: pipeline_errors.mlir.absent: cannot be read: No such file or directory

func.func @f() {
  return
}
