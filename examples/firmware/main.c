/* A program around a firmware library: one picture in, the scores out. */
#include "board.h"
#include "net.h"
#include "picture.h"

#include <string.h>

static unsigned char arena[net_ARENA_BYTES] __attribute__((aligned(net_ARENA_ALIGN)));

static void write_number(const char *label, int value) {
  char text[12];
  int at = 11;
  unsigned rest = value < 0 ? 0u - (unsigned)value : (unsigned)value;
  text[at] = 0;
  do {
    text[--at] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (value < 0) {
    text[--at] = '-';
  }
  board_write(label);
  board_write(text + at);
  board_write("\n");
}

int main(void) {
  net_context_t context;
  const signed char *scores;
  net_status_t status = net_init(&context, arena, sizeof arena);
  size_t index;
  if (status == net_OK) {
    memcpy(net_input(&context, 0), picture, net_INPUT_0_BYTES);
    board_paint_stack();
    status = net_invoke(&context);
  }
  if (status != net_OK) {
    board_write(net_status_string(status));
    board_write("\n");
    return 1;
  }
  scores = net_output(&context, 0);
  for (index = 0; index < net_OUTPUT_0_BYTES; ++index) {
    write_number("score ", scores[index]);
  }
  write_number("arena ", (int)net_ARENA_BYTES);
  write_number("stack ", (int)board_stack_used());
  return 0;
}
