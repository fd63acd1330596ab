/* What a bare-metal program says, and how it ends: over semihosting. */
#include "baremetal.h"
#include "semihost.h"

static intptr_t said = -1;

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
