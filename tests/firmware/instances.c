/* Two instances of a library in two threads; prints the outputs of each, for the harness. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define NAME(suffix) PASTE(MODEL, suffix)
#ifndef CALLS
#define CALLS 1000
#endif

typedef struct {
  NAME(_context_t) context;
  unsigned char *arena;
  unsigned char first[NAME(_OUTPUT_0_BYTES)];
  int failed;
} instance_t;

static void *work(void *argument) {
  instance_t *const self = argument;
  int call;
  for (call = 0; call < CALLS && !self->failed; ++call) {
    memcpy(NAME(_input)(&self->context, 0), inputs[0], input_bytes[0]);
    self->failed = NAME(_invoke)(&self->context) != NAME(_OK);
    if (call == 0) {
      memcpy(self->first, NAME(_output)(&self->context, 0), output_bytes[0]);
    } else if (memcmp(self->first, NAME(_output)(&self->context, 0), output_bytes[0]) != 0) {
      self->failed = 1;
    }
  }
  return NULL;
}

int main(void) {
  static instance_t instances[2];
  pthread_t threads[2];
  int number;
  size_t at;
  for (number = 0; number < 2; ++number) {
    void *arena = NULL;
    instances[number].failed = posix_memalign(&arena, NAME(_ARENA_ALIGN), NAME(_ARENA_BYTES)) != 0 ||
        NAME(_init)(&instances[number].context, arena, NAME(_ARENA_BYTES)) != NAME(_OK);
    instances[number].arena = arena;
    pthread_create(&threads[number], NULL, work, &instances[number]);
  }
  for (number = 0; number < 2; ++number) {
    pthread_join(threads[number], NULL);
    printf("%c0 ", "ab"[number]);
    for (at = 0; at < output_bytes[0]; ++at) {
      printf("%02x", instances[number].first[at]);
    }
    printf("\n");
    free(instances[number].arena);
  }
  return instances[0].failed || instances[1].failed;
}
