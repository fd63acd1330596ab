/* What start-up code, runner and linker script of a bare-metal program know of each other. */
#ifndef EDGECC_BAREMETAL_H
#define EDGECC_BAREMETAL_H

#include <stddef.h>
#include <stdint.h>

#define EDGECC_EXIT_FAULT 86

#ifdef __cplusplus
extern "C" {
#endif

/* Placed by the linker script. The stack lies below all else in RAM, the arena at its end, so
   that overrunning either is a fault. */
extern uint32_t edgecc_stack_start[], edgecc_stack_end[], edgecc_ram_end[];
extern uint32_t edgecc_data_start[], edgecc_data_end[], edgecc_data_source[];
extern uint32_t edgecc_bss_start[], edgecc_bss_end[];
extern unsigned char edgecc_arena[], edgecc_arena_end[];
extern const unsigned char edgecc_weights[];

void edgecc_main(void); /* never returns */

/* Streams by a host's name for them, or the debugger's console; -1 for none. */
intptr_t edgecc_open(const char *name, uintptr_t how);
int edgecc_move(int operation, intptr_t stream, uintptr_t at, size_t n); /* 1 when all was */
size_t edgecc_length(const char *text);
void edgecc_say(const char *text); /* to people */
void edgecc_say_number(uint32_t number, uint32_t base);
void edgecc_leave(int code);
void edgecc_fault(const char *what, const uintptr_t *address, uintptr_t at);

/* .data and .bss as C expects them. */
static inline void edgecc_fill_memory(void) {
  volatile uint32_t *to;
  const uint32_t *from = edgecc_data_source;
  for (to = edgecc_data_start; to < edgecc_data_end;) *to++ = *from++;
  for (to = edgecc_bss_start; to < edgecc_bss_end;) *to++ = 0;
}

#ifdef __cplusplus
}
#endif
#endif
