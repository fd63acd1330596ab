/* The runner's frames: 12 bytes of header, then a payload of bounded length. */
#include "runner.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HEADER_BYTES 12

unsigned char *request;
size_t request_room;

uint32_t get32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void put(unsigned char *at, uint64_t value, int bytes) {
  for (; bytes--; value >>= 8) *at++ = (unsigned char)(value & 0xFF);
}

/* 1 when all came, 0 when the input ended. */
static int read_all(void *to, size_t n) {
  unsigned char *at = to;
  while (n) {
    ssize_t got = read(STDIN_FILENO, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    at += got;
    n -= (size_t)got;
  }
  return 1;
}

static void write_all(const void *from, size_t n) {
  const unsigned char *at = from;
  while (n) {
    ssize_t put_ = write(STDOUT_FILENO, at, n);
    if (put_ < 0 && errno == EINTR) continue;
    if (put_ <= 0) _exit(EXIT_FRAME); /* nobody listens any more */
    at += put_;
    n -= (size_t)put_;
  }
}

void answer(unsigned type, unsigned status, const void *payload, size_t n) {
  unsigned char header[HEADER_BYTES] = {'E', 'C', 'C', '1', 0, 0, 0, 0, 0, 0, 0, 0};
  header[4] = (unsigned char)type;
  header[5] = (unsigned char)status;
  put(header + 8, n, 4);
  write_all(header, sizeof header);
  write_all(payload, n);
}

void refuse(unsigned type, const char *why) { answer(type, 1, why, strlen(why)); }

void refuse_number(unsigned type, const char *what, uint64_t needed, uint64_t have) {
  struct text text = {0, {0}};
  add(&text, what);
  add(&text, " (needed ");
  add_number(&text, needed);
  add(&text, ", available ");
  add_number(&text, have);
  add(&text, ")");
  answer(type, 1, text.at, text.length);
}

/* Passes over a payload that cannot be right, so that the next frame is found. */
static int skip(uint32_t length) {
  unsigned char unwanted[4096];
  while (length) {
    uint32_t part = length < sizeof unwanted ? length : (uint32_t)sizeof unwanted;
    if (!read_all(unwanted, part)) return 0;
    length -= part;
  }
  return 1;
}

int next_frame(void) {
  unsigned char header[HEADER_BYTES];
  uint32_t length;
  if (!read_all(header, sizeof header)) return 0;
  length = get32(header + 8);
  if (memcmp(header, "ECC1", 4) != 0) {
    refuse(header[4], "not a frame of runner protocol 1: wrong magic");
    _exit(EXIT_FRAME); /* where the next frame begins cannot be known */
  }
  if (header[5] || header[6] || header[7]) {
    refuse(header[4], "status and reserved must be 0 in a request");
    return skip(length);
  }
  if (length > request_room) {
    refuse_number(header[4], "payload too long: bytes", length, request_room);
    return skip(length);
  }
  if (!read_all(request, length)) return 0;
  serve(header[4], length);
  return 1;
}
