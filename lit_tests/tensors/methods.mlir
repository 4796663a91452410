// RUN: serenity-opt %s --serenity-schedule-tensors=method=default --verify-diagnostics | FileCheck %s
// RUN: serenity-opt %s --serenity-schedule-tensors=method=dp --verify-diagnostics | FileCheck %s
// RUN: serenity-opt %s --serenity-schedule-tensors=method=dp+dc --verify-diagnostics | FileCheck %s
// RUN: serenity-opt %s --serenity-schedule-tensors=method=dp+asb --verify-diagnostics | FileCheck %s
// RUN: serenity-opt %s --serenity-schedule-tensors=method=dp+dc+asb --verify-diagnostics | FileCheck %s
// RUN: not serenity-opt %s --serenity-schedule-tensors=method=fastest 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: serenity-schedule-tensors: no scheduling method 'fastest'

// CHECK-LABEL: func.func @reordered
// CHECK:         tosa.abs
// CHECK-NEXT:    tensor.extract_slice
// CHECK-NEXT:    tosa.exp
// CHECK-NEXT:    tensor.extract_slice
// CHECK-NEXT:    tosa.concat
// expected-remark @+1 {{from 8,224 to 4,160 bytes (minimal)}}
func.func @reordered(%x: tensor<1024xf32>) -> tensor<16xf32> {
  %a = tosa.abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = tosa.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %ra = tensor.extract_slice %a[0] [8] [1] : tensor<1024xf32> to tensor<8xf32>
  %rb = tensor.extract_slice %b[0] [8] [1] : tensor<1024xf32> to tensor<8xf32>
  %both = tosa.concat %ra, %rb axis(0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %both : tensor<16xf32>
}
