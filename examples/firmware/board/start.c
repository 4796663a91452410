/* Start-up: from reset to main, with the FPU on and memory as C wants it. */
#include "board.h"

#include <string.h>

extern unsigned char _data_start[], _data_end[], _data_load[], _bss_start[], _bss_end[];
extern unsigned char _stack_limit[], _stack_top[];

int main(void);

static void run(void) {
  memcpy(_data_start, _data_load, (size_t)(_data_end - _data_start));
  memset(_bss_start, 0, (size_t)(_bss_end - _bss_start));
  board_exit(main());
}

#if defined(__arm__)

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define SYST_MOST 0xFFFFFFu
#ifndef BOARD_HZ
#define BOARD_HZ 25000000u /* of SysTick on MPS2 */
#endif

static volatile uint32_t wraps;

static void reset(void) {
  CPACR |= 0xFu << 20; /* full access to the FPU */
  __asm__ volatile("dsb\nisb" ::: "memory");
  run();
}

static void fault(void) {
  board_write("fault\n");
  board_exit(2);
}

static void tick(void) {
  ++wraps;
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))(uintptr_t)_stack_top, reset, fault, fault, fault, fault, fault, fault,
    fault, fault, fault, fault, fault, fault, fault, tick};

void board_count_start(void) {
  wraps = 0;
  SYST_RVR = SYST_MOST;
  SYST_CVR = 0;
  SYST_CSR = 7; /* processor clock, interrupt, on */
}

uint32_t board_count(void) {
  uint32_t now = SYST_CVR;
  uint64_t ticks = (uint64_t)wraps * (SYST_MOST + 1u) + SYST_MOST - now;
  return (uint32_t)(ticks * 1000u / (BOARD_HZ / 1000000u)); /* a nanosecond each */
}

static unsigned char *stack_pointer(void) {
  unsigned char *sp;
  __asm__ volatile("mov %0, sp" : "=r"(sp));
  return sp;
}

#elif defined(__riscv)

__attribute__((naked, section(".vectors"), used)) void _start(void) {
  __asm__ volatile(
      ".option push\n.option norelax\n.option arch, +zicsr\n"
      "la gp, __global_pointer$\n"
      "la sp, _stack_top\n"
      "la t0, board_fault\n"
      "csrw mtvec, t0\n"
      "li t0, 0x6000\n"
      "csrs mstatus, t0\n" /* the FPU on, where there is one */
      ".option pop\n"
      "j board_main\n");
}

__attribute__((used, aligned(4))) void board_fault(void) {
  board_write("fault\n");
  board_exit(2);
}

__attribute__((used)) void board_main(void) {
  run();
}

static uint32_t started;

static uint32_t retired(void) {
  uint32_t count;
  __asm__ volatile(".option push\n.option arch, +zicsr\ncsrr %0, minstret\n.option pop" : "=r"(count));
  return count;
}

void board_count_start(void) {
  started = retired();
}

uint32_t board_count(void) {
  return retired() - started;
}

static unsigned char *stack_pointer(void) {
  unsigned char *sp;
  __asm__ volatile("mv %0, sp" : "=r"(sp));
  return sp;
}

#endif

#define PAINT 0xC5
#define MARGIN 128 /* of what runs while the stack is painted */

static unsigned char *painted_to;

void board_paint_stack(void) {
  unsigned char *at;
  painted_to = stack_pointer() - MARGIN;
  for (at = _stack_limit; at < painted_to; ++at) {
    *(volatile unsigned char *)at = PAINT;
  }
}

size_t board_stack_used(void) {
  unsigned char *at = _stack_limit;
  while (at < painted_to && *at == PAINT) {
    ++at;
  }
  return (size_t)(painted_to + MARGIN - at);
}
