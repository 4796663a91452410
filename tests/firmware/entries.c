/* Two entries of one library on one arena, with the profile hook: checks results, prints each call of the hook. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char arena[net_ARENA_BYTES] __attribute__((aligned(net_ARENA_ALIGN)));
static const float weights[4] = {0.5f, -1.5f, 2.5f, 3.5f};

void net_profile(size_t command, const char *what, int begin) {
  printf("%s %u %s\n", begin ? "begin" : "end", (unsigned)command, what);
}

static int wrong(const float *found, float x, float y, int product) {
  int row, column;
  for (row = 0; row < 64; ++row) {
    for (column = 0; column < 4; ++column) {
      float expected = product ? x * y * weights[column] : x + weights[column];
      if (found[4 * row + column] != expected) {
        return 1;
      }
    }
  }
  return 0;
}

static void set(float *to, float value) {
  int at;
  for (at = 0; at < 256; ++at) {
    to[at] = value;
  }
}

int main(void) {
  net_context_t context;
  int turn;
  if (net_init(&context, arena, sizeof arena) != net_OK) {
    return 1;
  }
  for (turn = 1; turn < 4; ++turn) {
    set(net_add_input(&context, 0), (float)turn);
    if (net_add_invoke(&context) != net_OK || wrong(net_add_output(&context, 0), (float)turn, 0, 0)) {
      return 2;
    }
    set(net_scale_up_input(&context, 0), (float)turn);
    set(net_scale_up_input(&context, 1), 3.0f);
    if (net_scale_up_invoke(&context) != net_OK || wrong(net_scale_up_output(&context, 0), (float)turn, 3.0f, 1)) {
      return 3;
    }
  }
  return 0;
}
