/* What start-up code, runner and linker script of a bare-metal program know of each other. */
#ifndef EDGECC_BAREMETAL_H
#define EDGECC_BAREMETAL_H

#include "runner_model.h"

/* Placed by the linker script. The stack lies below all else in RAM, the arena at its end, so
   that overrunning either is a fault. */
extern uint32_t edgecc_stack_start[], edgecc_stack_end[], edgecc_ram_end[];
extern uint32_t edgecc_data_start[], edgecc_data_end[], edgecc_data_source[];
extern uint32_t edgecc_bss_start[], edgecc_bss_end[];
extern unsigned char edgecc_arena[];
extern const unsigned char edgecc_weights[];

void edgecc_main(void); /* never returns */
void edgecc_fault(const char *what, const uintptr_t *address, uintptr_t at);

/* .data and .bss as C expects them. */
static inline void edgecc_fill_memory(void) {
  volatile uint32_t *to;
  const uint32_t *from = edgecc_data_source;
  for (to = edgecc_data_start; to < edgecc_data_end;) *to++ = *from++;
  for (to = edgecc_bss_start; to < edgecc_bss_end;) *to++ = 0;
}
#endif
