/* Numbers and faults of a bare-metal program in words, however they are said. */
#include "baremetal.h"

size_t edgecc_length(const char *text) {
  size_t n = 0;
  while (text[n]) n++;
  return n;
}

void edgecc_say_number(uint32_t number, uint32_t base) {
  char digits[12], *at = digits + 11;
  *at = 0;
  do *--at = "0123456789abcdef"[number % base];
  while (number /= base);
  edgecc_say(at);
}

static void say_place(uintptr_t address) {
  uintptr_t start = (uintptr_t)edgecc_arena, end = (uintptr_t)edgecc_arena_end;
  if (address >= end && address - end < 0x100000u) {
    edgecc_say(": access past the end of the arena: byte ");
    edgecc_say_number((uint32_t)(address - start), 10);
    edgecc_say(" of ");
    edgecc_say_number((uint32_t)(end - start), 10);
  } else if ((uintptr_t)edgecc_stack_start - address < 0x100000u) {
    edgecc_say(": the stack overflowed");
  } else {
    edgecc_say(" at address 0x");
    edgecc_say_number((uint32_t)address, 16);
  }
}

void edgecc_fault(const char *what, const uintptr_t *address, uintptr_t at) {
  edgecc_say("runner: ");
  edgecc_say(what);
  if (address != NULL) say_place(*address);
  edgecc_say(", at instruction 0x");
  edgecc_say_number((uint32_t)at, 16);
  edgecc_say("\n");
  edgecc_leave(EDGECC_EXIT_FAULT);
}
