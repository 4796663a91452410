// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-compute-in-stripes{stripes=2})' --split-input-file | FileCheck %s

// A depthwise convolution: each half of the channels is padded alone, and takes the place of that half.

#taken = affine_map<(c, x, k) -> (c, x + k)>
#kernel = affine_map<(c, x, k) -> (c, k)>
#sum = affine_map<(c, x, k) -> (c, x)>

// CHECK-LABEL: func.func @depthwise
// CHECK:         %[[E:.*]] = linalg.elementwise <exp>
// CHECK:         %[[H:.*]] = tensor.extract_slice %[[E]][%{{.*}}, 0] [2, 8] [1, 1]
// CHECK:         %[[P:.*]] = tensor.pad %[[H]] low[0, 1] high[0, 1]
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<2x8xf32>) {
// CHECK:           %[[W:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}, 0] [2, 3] [1, 1]
// CHECK:           linalg.generic {{.*}} ins(%[[P]], %[[W]] : tensor<2x10xf32>, tensor<2x3xf32>)
// CHECK:         %[[I:.*]] = tensor.insert_slice %[[R]] into %[[E]][0, 0] [2, 8] [1, 1]
// CHECK:         %[[H2:.*]] = tensor.extract_slice %[[I]][%{{.*}}, 0] [2, 8] [1, 1]
// CHECK:         %[[P2:.*]] = tensor.pad %[[H2]]
// CHECK:         %[[R2:.*]] = flow.dispatch.region
// CHECK:         %[[I2:.*]] = tensor.insert_slice %[[R2]] into %[[I]][2, 0] [2, 8] [1, 1]
// CHECK:         return %[[I2]]
func.func @depthwise(%a: tensor<4x8xf32>, %w: tensor<4x3xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %x = linalg.elementwise <exp> ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x8xf32> to tensor<4x10xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#taken, #kernel, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<4x10xf32>, tensor<4x3xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A window slides along the stripes: each is padded at its own end alone, and two overlap by two elements.
// What it stores is no one piece of memory: its dispatch stores it where it belongs.

#taken = affine_map<(o, x, c, k) -> (c, x * 2 + k)>
#kernel = affine_map<(o, x, c, k) -> (o, c, k)>
#sum = affine_map<(o, x, c, k) -> (o, x)>

// CHECK-LABEL: func.func @window
// CHECK:         %[[A:.*]] = tensor.extract_slice %arg0[0, %{{.*}}] [3, 5] [1, 1]
// CHECK:         tensor.pad %[[A]] low[0, 1] high[0, 0]
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<5x4xf32>) {
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : tensor<5x2xf32>)
// CHECK:           %[[I:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, %{{.*}}] [5, 2] [1, 1]
// CHECK:           flow.return %[[I]]
// CHECK:         %[[C:.*]] = arith.constant 3 : index
// CHECK:         %[[O:.*]] = util.optimization_barrier {serenity.offset} %[[C]]
// CHECK:         %[[B:.*]] = tensor.extract_slice %arg0[0, %[[O]]] [3, 5] [1, 1]
// CHECK:         tensor.pad %[[B]] low[0, 0] high[0, 1]
func.func @window(%a: tensor<3x8xf32>) -> tensor<5x4xf32> {
  %w = arith.constant dense<2.0> : tensor<5x3x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x4xf32>
  %p = tensor.pad %a low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<3x8xf32> to tensor<3x10xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>
  %r = linalg.generic {indexing_maps = [#taken, #kernel, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : tensor<3x10xf32>, tensor<5x3x4xf32>) outs(%f : tensor<5x4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// -----

// A product that feeds a pool: what it makes is there by halves of the channels.

#row = affine_map<(o, x, c) -> (c, x)>
#weight = affine_map<(o, x, c) -> (o, c)>
#sum = affine_map<(o, x, c) -> (o, x)>
#all = affine_map<(c, x) -> (c, x)>
#each = affine_map<(c, x) -> (c)>

// CHECK-LABEL: func.func @cascade
// CHECK:         %[[M:.*]] = flow.dispatch.region -> (tensor<2x8xf32>)
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<2xf32>) {
// CHECK:           linalg.generic {{.*}} ins(%[[M]] : tensor<2x8xf32>)
// CHECK:         %[[I:.*]] = tensor.insert_slice %[[R]] into %{{.*}}[0] [2] [1]
// CHECK:         %[[M2:.*]] = flow.dispatch.region -> (tensor<2x8xf32>)
// CHECK:         %[[R2:.*]] = flow.dispatch.region -> (tensor<2xf32>)
// CHECK:         tensor.insert_slice %[[R2]] into %[[I]][2] [2] [1]
func.func @cascade(%a: tensor<3x8xf32>, %w: tensor<4x3xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = linalg.generic {indexing_maps = [#row, #weight, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<3x8xf32>, tensor<4x3xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %g = tensor.empty() : tensor<4xf32>
  %h = linalg.fill ins(%low : f32) outs(%g : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#all, #each], iterator_types = ["parallel", "reduction"]} ins(%m : tensor<4x8xf32>) outs(%h : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A sum of integers over what a product makes: half after half of it is added up. Of floats it would be
// another sum, and is left alone.

#row = affine_map<(o, x, c) -> (c, x)>
#weight = affine_map<(o, x, c) -> (o, c)>
#sum = affine_map<(o, x, c) -> (o, x)>
#all = affine_map<(x, c) -> (c, x)>
#each = affine_map<(x, c) -> (x)>

// CHECK-LABEL: func.func @accumulate
// CHECK:         %[[M:.*]] = flow.dispatch.region -> (tensor<2x8xi32>)
// CHECK:         %[[S:.*]] = flow.dispatch.region -> (tensor<8xi32>) {
// CHECK:           linalg.generic {{.*}} ins(%[[M]] : tensor<2x8xi32>)
// CHECK:         %[[M2:.*]] = flow.dispatch.region -> (tensor<2x8xi32>)
// CHECK:         %[[T:.*]] = flow.dispatch.region -> (tensor<8xi32>) {
// CHECK:           linalg.generic {{.*}} ins(%[[M2]] : tensor<2x8xi32>) outs(%[[S]] : tensor<8xi32>)
// CHECK:         return %[[T]]
func.func @accumulate(%a: tensor<3x8xi32>, %w: tensor<4x3xi32>) -> tensor<8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %m = linalg.generic {indexing_maps = [#row, #weight, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<3x8xi32>, tensor<4x3xi32>) outs(%f : tensor<4x8xi32>) {
  ^bb0(%in: i32, %in_0: i32, %out: i32):
    %0 = arith.muli %in, %in_0 : i32
    %1 = arith.addi %out, %0 : i32
    linalg.yield %1 : i32
  } -> tensor<4x8xi32>
  %g = tensor.empty() : tensor<8xi32>
  %h = linalg.fill ins(%zero : i32) outs(%g : tensor<8xi32>) -> tensor<8xi32>
  %r = linalg.generic {indexing_maps = [#all, #each], iterator_types = ["parallel", "reduction"]} ins(%m : tensor<4x8xi32>) outs(%h : tensor<8xi32>) {
  ^bb0(%in: i32, %out: i32):
    %0 = arith.addi %out, %in : i32
    linalg.yield %0 : i32
  } -> tensor<8xi32>
  return %r : tensor<8xi32>
}

// -----

// Left alone: it computes with the position; an argument cannot be overwritten and is not padded; something
// else reads the product.

#row = affine_map<(o, x, c) -> (c, x)>
#weight = affine_map<(o, x, c) -> (o, c)>
#sum = affine_map<(o, x, c) -> (o, x)>
#all = affine_map<(x, c) -> (c, x)>
#each = affine_map<(x, c) -> (x)>

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT:     flow.dispatch.region
// CHECK:         return
func.func @left_alone(%a: tensor<4x8xi32>, %w: tensor<4x4xi32>) -> (tensor<4x8xi32>, tensor<8xi32>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %m = linalg.generic {indexing_maps = [#row, #weight, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<4x8xi32>, tensor<4x4xi32>) outs(%f : tensor<4x8xi32>) {
  ^bb0(%in: i32, %in_0: i32, %out: i32):
    %0 = arith.muli %in, %in_0 : i32
    %1 = arith.addi %out, %0 : i32
    linalg.yield %1 : i32
  } -> tensor<4x8xi32>
  %g = tensor.empty() : tensor<8xi32>
  %h = linalg.fill ins(%zero : i32) outs(%g : tensor<8xi32>) -> tensor<8xi32>
  %r = linalg.generic {indexing_maps = [#all, #each], iterator_types = ["parallel", "reduction"]} ins(%m : tensor<4x8xi32>) outs(%h : tensor<8xi32>) {
  ^bb0(%in: i32, %out: i32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i32
    %0 = arith.addi %out, %c : i32
    linalg.yield %0 : i32
  } -> tensor<8xi32>
  return %m, %r : tensor<4x8xi32>, tensor<8xi32>
}

// -----

// Another block reads the product, and may do so more than once.

// CHECK-LABEL: func.func @in_a_loop
// CHECK-NOT:     flow.dispatch.region
// CHECK:         return
func.func @in_a_loop(%x: tensor<16x32xf32>, %c: i1) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %a = arith.constant dense<0.5> : tensor<32x64xf32>
  %b = arith.constant dense<0.25> : tensor<64x16xf32>
  %e = tensor.empty() : tensor<16x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x64xf32>) -> tensor<16x64xf32>
  %p = linalg.matmul ins(%x, %a : tensor<16x32xf32>, tensor<32x64xf32>) outs(%f : tensor<16x64xf32>) -> tensor<16x64xf32>
  %g = tensor.empty() : tensor<16x16xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<16x16xf32>) -> tensor<16x16xf32>
  cf.br ^next
^next:
  %q = linalg.matmul ins(%p, %b : tensor<16x64xf32>, tensor<64x16xf32>) outs(%h : tensor<16x16xf32>) -> tensor<16x16xf32>
  cf.cond_br %c, ^next, ^end
^end:
  return %q : tensor<16x16xf32>
}

// -----

// Left alone: how much is padded is no constant.

#taken = affine_map<(c, x, k) -> (c, x + k)>
#kernel = affine_map<(c, x, k) -> (c, k)>
#sum = affine_map<(c, x, k) -> (c, x)>

// CHECK-LABEL: func.func @padded_to_size
// CHECK-NOT:     flow.dispatch.region
// CHECK:         return
func.func @padded_to_size(%a: tensor<4x?xf32>, %n: index) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<2.0> : tensor<4x3xf32>
  %p = tensor.pad %a low[0, 1] high[0, %n] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x?xf32> to tensor<4x10xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#taken, #kernel, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %w : tensor<4x10xf32>, tensor<4x3xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A bias is spread in the shape of each stripe, in the dispatch of its reduction; no reshape is left between.

#taken = affine_map<(g, o, x, i, k) -> (g, i, x + k)>
#kernel = affine_map<(g, o, x, i, k) -> (g, o, i, k)>
#sum = affine_map<(g, o, x, i, k) -> (g, o, x)>
#channel = affine_map<(c, x) -> (c)>
#all = affine_map<(c, x) -> (c, x)>

// CHECK-LABEL: func.func @grouped
// CHECK:         flow.dispatch.region -> (tensor<1x3x8xf32>)
// CHECK:           %[[B:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<1x3xf32>) outs(%{{.*}} : tensor<1x3x8xf32>)
// CHECK:           linalg.generic {{.*}} outs(%[[B]] : tensor<1x3x8xf32>)
// CHECK:         tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0] [1, 3, 8] [1, 1, 1]
func.func @grouped(%a: tensor<2x5x8xf32>) -> tensor<2x3x8xf32> {
  %w = arith.constant dense<2.0> : tensor<2x3x5x3xf32>
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<2x5x8xf32> to tensor<2x5x10xf32>
  %e = tensor.empty() : tensor<6x8xf32>
  %s = linalg.generic {indexing_maps = [#channel, #all], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<6xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x8xf32>
  %f = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %r = linalg.generic {indexing_maps = [#taken, #kernel, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : tensor<2x5x10xf32>, tensor<2x3x5x3xf32>) outs(%f : tensor<2x3x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x8xf32>
  return %r : tensor<2x3x8xf32>
}

// -----

// What starts from another tensor is not stored into the whole by its own dispatch.

#taken = affine_map<(o, x, c, k) -> (c, x + k)>
#kernel = affine_map<(o, x, c, k) -> (o, c, k)>
#sum = affine_map<(o, x, c, k) -> (o, x)>

// CHECK-LABEL: func.func @added_up
// CHECK:         %[[R:.*]] = flow.dispatch.region -> (tensor<5x4xf32>)
// CHECK:         tensor.insert_slice %[[R]] into %{{.*}}[0, 0] [5, 4] [1, 1]
func.func @added_up(%a: tensor<3x8xf32>, %y: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %w = arith.constant dense<2.0> : tensor<5x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<3x8xf32> to tensor<3x10xf32>
  %r = linalg.generic {indexing_maps = [#taken, #kernel, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : tensor<3x10xf32>, tensor<5x3x3xf32>) outs(%y : tensor<5x8xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<5x8xf32>
  return %r : tensor<5x8xf32>
}
