/* Runs a firmware library on given inputs and prints what came out, on the host and on boards.
 *
 * Compiled with -DMODEL=<name>, -include <name>.h and -include of the inputs:
 *   static const unsigned char *const inputs[], and sizes through <name>_INPUT_<n>_BYTES.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef HOST
#include <stdio.h>
#include <stdlib.h>
static void board_write(const char *text) { fputs(text, stdout); }
#else
#include "board.h"
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define NAME(suffix) PASTE(MODEL, suffix)

#define GUARD 256u
#define ARENA NAME(_ARENA_BYTES)

static unsigned char memory[ARENA + 2 * GUARD] __attribute__((aligned(256)));

static void write_hex(const char *label, const unsigned char *data, size_t bytes) {
  static const char digits[] = "0123456789abcdef";
  char line[129];
  size_t at = 0, in_line = 0;
  while (at < bytes) {
    line[in_line++] = digits[data[at] >> 4];
    line[in_line++] = digits[data[at] & 15];
    ++at;
    if (in_line == 128 || at == bytes) {
      line[in_line] = 0;
      board_write(label);
      board_write(line);
      board_write("\n");
      in_line = 0;
    }
  }
}

static void write_number(const char *label, uint32_t value) {
  char text[12];
  int at = 11;
  text[at] = 0;
  do {
    text[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  board_write(label);
  board_write(text + at);
  board_write("\n");
}

static int fail(const char *what) {
  board_write("failed: ");
  board_write(what);
  board_write("\n");
  return 1;
}

/* One call on memory painted with `paint`; the most bytes of the arena that were written. */
static int once(unsigned char paint, uint32_t *used, const char *label) {
  NAME(_context_t) context;
  unsigned char *const arena = memory + GUARD;
  size_t index;
  memset(memory, paint, sizeof memory);
  if (NAME(_init)(&context, arena, ARENA) != NAME(_OK)) {
    return fail("init");
  }
#ifdef EXTERNAL
  for (index = 0; index < NAME(_INPUT_COUNT); ++index) {
    if (NAME(_bind_input)(&context, index, inputs[index]) != NAME(_OK)) {
      return fail("bind_input");
    }
  }
  if (NAME(_invoke)(&context) != NAME(_ERROR_NOT_READY)) {
    return fail("an output is not bound");
  }
  for (index = 0; index < NAME(_OUTPUT_COUNT); ++index) {
    if (NAME(_bind_output)(&context, index, outputs[index]) != NAME(_OK)) {
      return fail("bind_output");
    }
  }
#else
  for (index = 0; index < NAME(_INPUT_COUNT); ++index) {
    memcpy(NAME(_input)(&context, index), inputs[index], input_bytes[index]);
  }
#endif
#ifndef HOST
  board_paint_stack();
  board_count_start();
#endif
  if (NAME(_invoke)(&context) != NAME(_OK)) {
    return fail("invoke");
  }
#ifndef HOST
  write_number("instructions ", board_count());
  write_number("stack ", (uint32_t)board_stack_used());
#endif
  for (index = 0; index < NAME(_OUTPUT_COUNT); ++index) {
    char name[] = "a0 ";
    name[0] = label[0];
    name[1] = (char)('0' + index);
    write_hex(name, NAME(_output)(&context, index), output_bytes[index]);
  }
  for (index = 0; index < GUARD; ++index) {
    if (memory[index] != paint || arena[ARENA + index] != paint) {
      return fail("bytes outside of the arena were written");
    }
  }
  for (index = ARENA; index > 0 && arena[index - 1] == paint; --index) {
  }
  *used = index > *used ? (uint32_t)index : *used;
  return 0;
}

static int refusals(void) {
  NAME(_context_t) context;
  memset(&context, 0, sizeof context);
  if (NAME(_invoke)(&context) != NAME(_ERROR_NOT_READY)) {
    return fail("invoke before init");
  }
  if (ARENA && NAME(_init)(&context, memory, ARENA - 1) != NAME(_ERROR_ARENA_BYTES)) {
    return fail("an arena that is too small");
  }
  if (NAME(_init)(&context, memory + 1, ARENA + 1) != NAME(_ERROR_ALIGNMENT)) {
    return fail("an arena that is not aligned");
  }
  if (NAME(_init)(&context, NULL, ARENA) != NAME(_ERROR_ARGUMENT) ||
      NAME(_init)(NULL, memory, ARENA) != NAME(_ERROR_ARGUMENT) ||
      NAME(_input)(&context, NAME(_INPUT_COUNT)) != NULL || NAME(_output)(&context, NAME(_OUTPUT_COUNT)) != NULL) {
    return fail("arguments that are none");
  }
  return 0;
}

int main(void) {
  uint32_t used = 0;
  if (refusals() || once(0xA5, &used, "a") || once(0x5A, &used, "b")) {
    return 1;
  }
  write_number("arena ", used);
  return 0;
}
