/* Arithmetic of a runner: a checksum, and cycles in nanoseconds. */
#include "line.h"

uint32_t edgecc_crc32(const unsigned char *data, size_t n) {
  uint32_t crc = 0xFFFFFFFFu, nibbles[16], i, k;
  for (i = 0; i < 16; i++) {
    nibbles[i] = i;
    for (k = 0; k < 4; k++) nibbles[i] = nibbles[i] >> 1 ^ (nibbles[i] & 1 ? 0xEDB88320u : 0);
  }
  while (n--) {
    crc ^= *data++;
    crc = crc >> 4 ^ nibbles[crc & 15];
    crc = crc >> 4 ^ nibbles[crc & 15];
  }
  return ~crc;
}

/* 64 by 32 bits without the compiler's support library: `*value` becomes the remainder. */
static uint64_t quotient(uint64_t *value, uint32_t by) {
  uint64_t left = *value, rest = 0, found = 0;
  int i;
  for (i = 0; i < 64; i++) {
    rest = rest << 1 | left >> 63;
    left <<= 1;
    found <<= 1;
    if (rest >= by) {
      rest -= by;
      found |= 1;
    }
  }
  *value = rest;
  return found;
}

void edgecc_put_ns(unsigned char *at, uint64_t cycles, uint32_t clock_hz) {
  uint64_t ns = quotient(&cycles, clock_hz);
  int i;
  for (i = 0; i < 9; i++) {
    cycles = (cycles << 3) + (cycles << 1);
    ns = (ns << 3) + (ns << 1) + quotient(&cycles, clock_hz);
  }
  for (i = 0; i < 8; i++, ns >>= 8) at[i] = (unsigned char)ns;
}
