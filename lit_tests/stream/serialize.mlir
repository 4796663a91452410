// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-serialize)' | FileCheck %s --check-prefix=SET
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-serialize{favor=max-concurrency})' | FileCheck %s --check-prefix=MAX
// RUN: serenity-opt %s --pass-pipeline='builtin.module(serenity-serialize,serenity-strip-serialize)' | FileCheck %s --check-prefix=STRIP

// SET: util.initializer {
// SET: util.func public @f() attributes {stream.partitioning = #stream.partitioning_config<favor-debug>}
// MAX: util.func public @f() attributes {stream.partitioning = #stream.partitioning_config<favor-max-concurrency>}
// STRIP-NOT: stream.partitioning
// STRIP: util.func public @f() {
util.initializer {
  util.return
}
util.func public @f() {
  util.return
}
