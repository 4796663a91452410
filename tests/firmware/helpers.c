/* fmaximumf and fminimumf of C23: NaN goes through, and -0 is less than +0. */
#include <math.h>
#include <stdio.h>

static int is(float value, float expected) {
  return isnan(expected) ? isnan(value) : value == expected && !signbit(value) == !signbit(expected);
}

int main(void) {
  static const struct {
    float x, y, most, least;
  } cases[] = {
      {1.0f, 2.0f, 2.0f, 1.0f},     {2.0f, 1.0f, 2.0f, 1.0f},
      {-1.0f, -2.0f, -1.0f, -2.0f}, {0.0f, -0.0f, 0.0f, -0.0f},
      {-0.0f, 0.0f, 0.0f, -0.0f},   {-0.0f, -0.0f, -0.0f, -0.0f},
      {NAN, 1.0f, NAN, NAN},        {1.0f, NAN, NAN, NAN},
      {INFINITY, NAN, NAN, NAN},    {INFINITY, -INFINITY, INFINITY, -INFINITY},
      {3.5f, 3.5f, 3.5f, 3.5f},     {-3.5f, -3.5f, -3.5f, -3.5f},
  };
  unsigned at;
  for (at = 0; at < sizeof cases / sizeof *cases; ++at) {
    if (!is(fmaximumf(cases[at].x, cases[at].y), cases[at].most) ||
        !is(fminimumf(cases[at].x, cases[at].y), cases[at].least)) {
      printf("case %u\n", at);
      return 1;
    }
  }
  return 0;
}
