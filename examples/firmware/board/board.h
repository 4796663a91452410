/* What a program needs of a board: text out, an end, a count of instructions, the stack. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

void board_write(const char *text);
void board_exit(int status) __attribute__((noreturn));

/* Instructions (QEMU with -icount shift=0) since the last board_count_start; on Arm to within 40. */
void board_count_start(void);
uint32_t board_count(void);

/* Fill the unused stack, and later find out how much of it was used since. */
void board_paint_stack(void);
size_t board_stack_used(void);

#endif
