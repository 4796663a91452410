# RUN: %{python} %s | FileCheck %s
"""The pass from Python: what it reports, and what it leaves."""

from serenity_mlir.dialect_passes.diagnostics import collecting
from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.dialect_passes.tensors.schedule_tensors import ScheduleTensorsPass

BRANCHES = """
func.func @f(%x: tensor<1024xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %ra = tosa.reduce_max %a axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  %rb = tosa.reduce_max %b axis(0) : (tensor<1024xf32>) -> tensor<1xf32>
  return %ra, %rb : tensor<1xf32>, tensor<1xf32>
}
func.func @g(%x: tensor<?xf32>) -> tensor<?xf32> {
  %a = tosa.abs %x : (tensor<?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}
"""

module = ir.Module.parse(BRANCHES, make_context())
pass_ = ScheduleTensorsPass(time_limit=5)

# CHECK: serenity-schedule-tensors{time-limit=5 annotate=false method=default}
print(pass_)
# CHECK: remark -:2:1 serenity-schedule-tensors: @f: live peak
# CHECK: remark -:10:8 serenity-schedule-tensors leaves @g alone
with collecting(lambda diagnostic: print(diagnostic.severity, diagnostic.place, diagnostic.message)):
    first, second = pass_.apply(module.operation)
# CHECK: f 4 8196 4104 4104 True
print(first.function, first.ops, first.file_peak, first.final_peak, first.lower_bound, first.optimal)
# CHECK: g False value %0 of type tensor<?xf32> has no constant size
print(second.function, second.optimal, second.refusal)
# CHECK:      tosa.abs
# CHECK-NEXT: tosa.reduce_max
# CHECK-NEXT: tosa.exp
print(module)
