/* What a bare-metal program says, how it ends, and faults in words: over semihosting. */
#include "baremetal.h"
#include "semihost.h"

static intptr_t said = -1;

size_t edgecc_length(const char *text) {
  size_t n = 0;
  while (text[n]) n++;
  return n;
}

/* QEMU's own streams where it can: they end, and block, as those of any program. */
intptr_t edgecc_open(const char *name, uintptr_t how) {
  const char *const names[] = {name, ":tt"};
  size_t i;
  for (i = 0; i < 2; i++) {
    uintptr_t block[3];
    intptr_t stream;
    block[0] = (uintptr_t)names[i];
    block[1] = how;
    block[2] = edgecc_length(names[i]);
    stream = semihost(SYS_OPEN, block);
    if (stream >= 0) return stream;
    if (how == OPEN_APPEND) how = OPEN_WRITE;
  }
  return -1;
}

void edgecc_leave(int code) {
  uintptr_t block[2];
  block[0] = APPLICATION_EXIT;
  block[1] = (uintptr_t)code;
  for (;;) semihost(SYS_EXIT_EXTENDED, block);
}

/* 1 when all was moved, 0 when the other end is gone. */
int edgecc_move(int operation, intptr_t stream, uintptr_t at, size_t n) {
  while (n) {
    uintptr_t block[3];
    size_t left;
    block[0] = (uintptr_t)stream;
    block[1] = at;
    block[2] = n;
    left = (size_t)semihost(operation, block); /* bytes that were not moved */
    if (left >= n) return 0;
    at += n - left;
    n = left;
  }
  return 1;
}

void edgecc_say(const char *text) {
  if (said < 0) said = edgecc_open("/dev/stderr", OPEN_APPEND);
  edgecc_move(SYS_WRITE, said, (uintptr_t)text, edgecc_length(text));
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
