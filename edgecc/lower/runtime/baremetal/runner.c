/* Runs one model on a chip without an operating system: runner protocol 1.1 over semihosting.
   There is no clock that could be trusted everywhere: RUN and PROFILE are refused, and whoever
   emulates the chip counts instructions. Nothing that arrives is trusted.

   Compiled with INPUT_ROOM: the bytes of all inputs together. */
#include "baremetal.h"
#include "runner_model.h"
#include "semihost.h"

#define HEADER_BYTES 12
#define RUNS_AT_ONCE 1000000u
#define UNTOUCHED 0xA5A5A5A5u

enum { HELLO = 1, SET_INPUT, RUN, RUN_UNTIMED, GET_OUTPUT, PROFILE, STATUS, PIN, QUIT };

void *memcpy(void *to, const void *from, size_t n);

static const struct edgecc_model *const model = &edgecc_model;
static unsigned char inputs[INPUT_ROOM + 1]; /* copies: a run may overwrite those in the arena */
static intptr_t in, out;
static uint32_t stack_used;
static int has_run;

static int read_all(void *to, size_t n) { return edgecc_move(SYS_READ, in, (uintptr_t)to, n); }

static void write_all(const void *from, size_t n) {
  if (!edgecc_move(SYS_WRITE, out, (uintptr_t)from, n)) edgecc_leave(EXIT_FRAME);
}

static uint32_t get32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void answer(unsigned type, unsigned status, const void *payload, size_t n) {
  unsigned char header[HEADER_BYTES] = {'E', 'C', 'C', '1', 0, 0, 0, 0, 0, 0, 0, 0};
  int i;
  header[4] = (unsigned char)type;
  header[5] = (unsigned char)status;
  for (i = 0; i < 4; i++) header[8 + i] = (unsigned char)(n >> 8 * i);
  write_all(header, sizeof header);
  write_all(payload, n);
}

static void refuse(unsigned type, const char *why) { answer(type, 1, why, edgecc_length(why)); }

static int skip(uint32_t n) {
  unsigned char unwanted[64];
  while (n) {
    uint32_t part = n < sizeof unwanted ? n : (uint32_t)sizeof unwanted;
    if (!read_all(unwanted, part)) return 0;
    n -= part;
  }
  return 1;
}

static unsigned char *copy_of(int32_t index) {
  unsigned char *at = inputs;
  int32_t i;
  for (i = 0; i < index; i++) at += model->input_bytes(i);
  return at;
}

static int set_input(uint32_t length) {
  unsigned char number[4];
  uint32_t index;
  if (length < 4) {
    refuse(SET_INPUT, "SET_INPUT without an index");
    return skip(length);
  }
  if (!read_all(number, 4)) return 0;
  index = get32(number);
  if (index >= (uint32_t)model->input_count) {
    refuse(SET_INPUT, "no such input");
    return skip(length - 4);
  }
  if (length - 4 != model->input_bytes((int32_t)index)) {
    refuse(SET_INPUT, "wrong input size");
    return skip(length - 4);
  }
  if (!read_all(copy_of((int32_t)index), length - 4)) return 0;
  answer(SET_INPUT, 0, NULL, 0);
  return 1;
}

static uint32_t *stack_pointer(void) {
  uint32_t *at;
#if defined(__arm__)
  __asm__ volatile("mov %0, sp" : "=r"(at));
#else
  __asm__ volatile("mv %0, sp" : "=r"(at));
#endif
  return at;
}

/* One run over a stack filled beforehand: what it touched is the deepest that it went. */
__attribute__((noinline)) static void run_once(void) {
  uint32_t *const top = stack_pointer();
  volatile uint32_t *at;
  uint32_t used;
  for (at = edgecc_stack_start; at < top; at++) *at = UNTOUCHED;
  model->run();
  for (at = edgecc_stack_start; at < top && *at == UNTOUCHED; at++) {
  }
  used = (uint32_t)((uintptr_t)top - (uintptr_t)at);
  if (used > stack_used) stack_used = used;
}

static void run(uint32_t count) {
  int32_t i;
  if (count > RUNS_AT_ONCE) {
    refuse(RUN_UNTIMED, "too many runs at once");
    return;
  }
  for (i = 0; i < model->input_count; i++)
    memcpy(model->input(i), copy_of(i), model->input_bytes(i));
  while (count--) run_once();
  has_run = 1;
  answer(RUN_UNTIMED, 0, NULL, 0);
}

static void get_output(uint32_t index) {
  if (index >= (uint32_t)model->output_count) {
    refuse(GET_OUTPUT, "no such output");
  } else if (!has_run) {
    refuse(GET_OUTPUT, "no output yet: send RUN_UNTIMED first");
  } else {
    answer(GET_OUTPUT, 0, model->output((int32_t)index), model->output_bytes((int32_t)index));
  }
}

static void status(void) {
  char text[32] = "{\"stack_bytes\":", *at = text + 15;
  uint32_t unit = 1000000000u, left = stack_used;
  while (unit > 1 && left / unit == 0) unit /= 10;
  for (; unit; unit /= 10) *at++ = (char)('0' + left / unit % 10);
  *at++ = '}';
  answer(STATUS, 0, text, (size_t)(at - text));
}

static void serve(unsigned type, uint32_t value) {
  switch (type) {
    case HELLO: answer(HELLO, 0, model->hello, model->hello_bytes); break;
    case RUN_UNTIMED: run(value); break;
    case GET_OUTPUT: get_output(value); break;
    case STATUS: status(); break;
    case QUIT: answer(QUIT, 0, NULL, 0); edgecc_leave(0); break;
    case RUN: case PROFILE: refuse(type, "this runner has no clock: send RUN_UNTIMED"); break;
    case PIN: refuse(type, "there is one core and no operating system"); break;
    default: refuse(type, "unknown request type");
  }
}

static int next_frame(void) {
  static const unsigned char payload_bytes[] = {0, 0, 0, 4, 4, 4, 4, 0, 4, 0};
  unsigned char header[HEADER_BYTES], value[4] = {0, 0, 0, 0};
  uint32_t length;
  if (!read_all(header, sizeof header)) return 0;
  length = get32(header + 8);
  if (get32(header) != 0x31434345u) {
    refuse(header[4], "not a frame of runner protocol 1: wrong magic");
    edgecc_leave(EXIT_FRAME); /* where the next frame begins cannot be known */
  }
  if (header[5] || header[6] || header[7]) {
    refuse(header[4], "status and reserved must be 0 in a request");
    return skip(length);
  }
  if (header[4] == SET_INPUT) return set_input(length);
  if (header[4] <= QUIT && length != payload_bytes[header[4]]) {
    refuse(header[4], "wrong payload size");
    return skip(length);
  }
  if (length > 4) return skip(length);
  if (!read_all(value, length)) return 0;
  serve(header[4], get32(value));
  return 1;
}

static uint32_t crc32_of(const unsigned char *data, size_t n) {
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

static void fail(int code, const char *why) {
  edgecc_say("runner: ");
  edgecc_say(why);
  edgecc_say("\n");
  edgecc_leave(code);
}

void edgecc_main(void) {
  int code;
  in = edgecc_open("/dev/stdin", OPEN_READ);
  out = edgecc_open("/dev/stdout", OPEN_APPEND);
  if (in < 0 || out < 0) fail(EXIT_FRAME, "semihosting gives no input or output");
  if (crc32_of(edgecc_weights, model->weights_bytes) != model->weights_crc32)
    fail(EXIT_WEIGHTS, "the weights in flash are damaged");
  code = model->init(edgecc_arena, model->arena_bytes, edgecc_weights, model->weights_bytes);
  if (code != 0) fail(EXIT_ARENA, model->error(code));
  while (next_frame()) {
  }
  edgecc_leave(0);
}
