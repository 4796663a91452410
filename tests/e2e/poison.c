/* Fills allocations of chosen sizes with a byte that is no zero, and large as a float (0xA5 would be
 * 3e-16), so that whoever relies on fresh memory being zero, or on what an earlier run left there, is
 * found out.
 *
 * Preloaded into a Python process, which sets `poison_low` and `poison_high` (bytes, inclusive)
 * and reads `poisoned_bytes`. */
#include <stddef.h>
#include <string.h>

extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_malloc(size_t size);

size_t poison_low = 0;
size_t poison_high = 0;
size_t poisoned_bytes = 0;

static void *poison(void *block, size_t size) {
  if (block && poison_high && size >= poison_low && size <= poison_high) {
    memset(block, 0x7F, size);
    poisoned_bytes += size;
  }
  return block;
}

void *malloc(size_t size) { return poison(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) { return poison(__libc_calloc(count, size), count * size); }
