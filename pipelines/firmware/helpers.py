"""Functions that objects call and C libraries of 1999 do not have, written into the source if needed.

LLVM turns `arith.maximumf` and `arith.minimumf`, which hand on NaN and know that -0 is less than +0,
into calls of C23's functions where the machine has no instruction for them. The definitions are
weak: a library that has them wins.
"""

from __future__ import annotations


def _extremum(name: str, pick: str, zero: str) -> str:
    return f"""\
__attribute__((weak)) float {name}(float x, float y);

__attribute__((weak)) float {name}(float x, float y) {{
  uint32_t a, b;
  if (x != x) {{
    return x;
  }}
  if (y != y) {{
    return y;
  }}
  if (x == y) {{
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    a {zero}= b;
    memcpy(&x, &a, sizeof x);
    return x;
  }}
  return x {pick} y ? x : y;
}}"""


HELPERS = {
    "fmaximumf": _extremum("fmaximumf", ">", "&"),
    "fminimumf": _extremum("fminimumf", "<", "|"),
}
"""C source of each helper, by the symbol that it defines."""
