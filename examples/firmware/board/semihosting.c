/* Semihosting: the emulator's console and exit status. */
#include "board.h"

#define SYS_WRITE0 0x04
#define SYS_EXIT_EXTENDED 0x20
#define ADP_STOPPED_APPLICATION_EXIT 0x20026

static long call(long number, const void *argument) {
#if defined(__arm__)
  register long r0 __asm__("r0") = number;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
#elif defined(__riscv)
  register long a0 __asm__("a0") = number;
  register const void *a1 __asm__("a1") = argument;
  /* The three instructions that mark a semihosting call must be uncompressed and in one page. */
  __asm__ volatile(
      ".balign 16\n.option push\n.option norvc\n"
      "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop\n"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
#else
#error "no semihosting for this machine"
#endif
}

void board_write(const char *text) {
  call(SYS_WRITE0, text);
}

void board_exit(int status) {
  struct {
    unsigned long reason, status;
  } block = {ADP_STOPPED_APPLICATION_EXIT, (unsigned long)status};
  for (;;) {
    call(SYS_EXIT_EXTENDED, &block);
  }
}
