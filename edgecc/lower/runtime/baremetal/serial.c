/* The runner's line over a UART, what it says and how it ends (docs/architecture.md, Serial line).

   The workstation asks and the chip answers, one packet each; a packet that was lost or damaged is
   not answered and comes again, and a repeated one gets the same answer again. So the chip needs no
   clock and no interrupts, and noise cannot stop it. */
#include "baremetal.h"
#include "line.h"
#include "uart.h"

#define SYNC_0 0xEC
#define SYNC_1 0x1A
#define HEAD_BYTES 4 /* kind, number, length */
#define ROOM 256
#define SAID_ROOM 200

enum { RESET = 'R', DATA = 'D', ASK = 'A' };
enum { READY = 'r', TAKEN = 't', BUSY = 'b', SENT = 's', SAID = 'w', ENDED = 'e', NONE = 'n' };

void edgecc_reset(void);
void *memcpy(void *to, const void *from, size_t n);

static const char identity[] = EDGECC_IDENTITY;
static const uint32_t setup[][3] = {EDGECC_SETUP{0, 0, 0}}; /* address, bits to clear, to set */
static unsigned char packet[HEAD_BYTES + ROOM + 4], answered[2 + HEAD_BYTES + ROOM + 4];
static unsigned char inbox[ROOM], said[SAID_ROOM];
static const unsigned char *outbox;
static size_t answered_bytes, unread, read_at, unsent, said_bytes;
static int is_used, has_ended;
static unsigned char exit_code;

static unsigned char next_byte(void) {
  while (!uart_has_byte()) {
  }
  return uart_get();
}

/* Into `packet`; noise and damaged packets are passed over. */
static size_t next_packet(void) {
  for (;;) {
    unsigned char byte;
    size_t i, length;
    if (next_byte() != SYNC_0) continue;
    do byte = next_byte();
    while (byte == SYNC_0);
    if (byte != SYNC_1) continue;
    for (i = 0; i < HEAD_BYTES; i++) packet[i] = next_byte();
    length = (size_t)packet[2] | (size_t)packet[3] << 8;
    if (length > ROOM) continue;
    for (; i < HEAD_BYTES + length + 4; i++) packet[i] = next_byte();
    i = HEAD_BYTES + length; /* with its checksum behind it, the remainder is always this */
    if (edgecc_crc32(packet, i + 4) == 0x2144DF1Cu) return length;
  }
}

static void transmit(void) {
  size_t i;
  for (i = 0; i < answered_bytes; i++) {
    while (uart_is_full()) {
    }
    uart_put(answered[i]);
  }
}

static void answer(unsigned char kind, const void *payload, size_t n) {
  unsigned char *at = answered + 2;
  uint32_t crc;
  int i;
  answered[0] = SYNC_0;
  answered[1] = SYNC_1;
  at[0] = kind;
  at[1] = packet[1];
  at[2] = (unsigned char)n;
  at[3] = (unsigned char)(n >> 8);
  if (n) memcpy(at + HEAD_BYTES, payload, n);
  crc = edgecc_crc32(at, HEAD_BYTES + n);
  for (i = 0; i < 4; i++) at[HEAD_BYTES + n + (size_t)i] = (unsigned char)(crc >> 8 * i);
  answered_bytes = 2 + HEAD_BYTES + n + 4;
  transmit();
}

/* A program that has served begins anew; the answer is given by the fresh one. */
static void restart(void) {
#if defined(__arm__)
  uint32_t exception;
  __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
  if (exception) *word_at(0xE000ED0Cu) = 0x05FA0004u; /* AIRCR: reset, the way out of a fault */
  while (exception) {
  }
#endif
  edgecc_reset();
}

static void take(size_t length) {
  if (unread) {
    answer(BUSY, NULL, 0);
    return;
  }
  memcpy(inbox, packet + HEAD_BYTES, length);
  read_at = 0;
  unread = length;
  answer(TAKEN, NULL, 0);
}

static void give(void) {
  size_t part = unsent < ROOM ? unsent : ROOM;
  if (said_bytes) {
    answer(SAID, said, said_bytes);
    said_bytes = 0;
  } else if (part) {
    answer(SENT, outbox, part);
    outbox += part;
    unsent -= part;
  } else if (has_ended) {
    answer(ENDED, &exit_code, 1);
  } else {
    answer(NONE, NULL, 0);
  }
}

static void serve(void) {
  size_t length = next_packet();
  if (packet[0] == RESET) {
    if (is_used) restart();
    answer(READY, identity, sizeof identity - 1);
    answered_bytes = 0;
    return;
  }
  is_used = 1;
  if (answered_bytes && packet[1] == answered[3]) {
    transmit();
  } else if (packet[0] == DATA) {
    take(length);
  } else {
    give();
  }
}

int edgecc_line_open(void) {
  size_t i;
  for (i = 0; setup[i][0]; i++) {
    volatile uint32_t *at = word_at(setup[i][0]);
    *at = (*at & ~setup[i][1]) | setup[i][2];
    (void)*at; /* a clock that was just switched on takes a moment */
  }
  uart_open();
  return 1;
}

int edgecc_receive(void *to, size_t n) {
  unsigned char *at = to;
  while (n) {
    size_t part = unread < n ? unread : n;
    if (!part) {
      serve();
      continue;
    }
    memcpy(at, inbox + read_at, part);
    read_at += part;
    unread -= part;
    at += part;
    n -= part;
  }
  return 1;
}

int edgecc_deliver(const void *from, size_t n) {
  outbox = from;
  unsent = n;
  while (unsent) serve();
  return 1;
}

void edgecc_say(const char *text) {
  while (*text && said_bytes < SAID_ROOM) said[said_bytes++] = (unsigned char)*text++;
}

void edgecc_leave(int code) {
  exit_code = (unsigned char)code;
  unsent = 0;
  has_ended = 1;
  for (;;) serve();
}

#if defined(EDGECC_CORE_HZ)
/* Source: Armv7-M Architecture Reference Manual, C1.6.5 and C1.8; the lock is the Cortex-M7's */
uint32_t edgecc_cycles(void) { return *word_at(0xE0001004u); }

uint32_t edgecc_clock_hz(void) {
  uint32_t before, i;
  *word_at(0xE000EDFCu) |= 1u << 24;
  *word_at(0xE0001FB0u) = 0xC5ACCE55u;
  *word_at(0xE0001000u) |= 1;
  before = edgecc_cycles();
  for (i = 0; i < 100; i++) (void)*word_at(0xE000EDFCu);
  return edgecc_cycles() == before ? 0 : EDGECC_CORE_HZ;
}
#else
uint32_t edgecc_clock_hz(void) { return 0; }

uint32_t edgecc_cycles(void) { return 0; }
#endif
