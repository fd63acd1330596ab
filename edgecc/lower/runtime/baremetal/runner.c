/* Runs one model on a chip without an operating system: runner protocol 1.1 over its line. Where
   that has no clock, RUN and PROFILE are refused. Nothing that arrives is trusted.

   Compiled with INPUT_ROOM, the bytes of all inputs together, and STEP_ROOM, the steps. */
#include "baremetal.h"
#include "line.h"
#include "runner_model.h"

#define HEADER_BYTES 12
#define RUNS_AT_ONCE 1000000u
#define FIGURES_AT_ONCE 32
#define UNTOUCHED 0xA5A5A5A5u

enum { HELLO = 1, SET_INPUT, RUN, RUN_UNTIMED, GET_OUTPUT, PROFILE, STATUS, PIN, QUIT };

void *memcpy(void *to, const void *from, size_t n);

static const struct edgecc_model *const model = &edgecc_model;
static unsigned char inputs[INPUT_ROOM + 1]; /* copies: a run may overwrite those in the arena */
static uint64_t step_cycles[STEP_ROOM + 1];
static uint32_t stack_used, clock_hz, step_began;
static int has_run;

static void write_all(const void *from, size_t n) {
  if (!edgecc_deliver(from, n)) edgecc_leave(EXIT_FRAME);
}

static uint32_t get32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void announce(unsigned type, unsigned status, size_t n) {
  unsigned char header[HEADER_BYTES] = {'E', 'C', 'C', '1', 0, 0, 0, 0, 0, 0, 0, 0};
  int i;
  header[4] = (unsigned char)type;
  header[5] = (unsigned char)status;
  for (i = 0; i < 4; i++) header[8 + i] = (unsigned char)(n >> 8 * i);
  write_all(header, sizeof header);
}

static void answer(unsigned type, unsigned status, const void *payload, size_t n) {
  announce(type, status, n);
  write_all(payload, n);
}

static void refuse(unsigned type, const char *why) { answer(type, 1, why, edgecc_length(why)); }

static int skip(uint32_t n) {
  unsigned char unwanted[64];
  while (n) {
    uint32_t part = n < sizeof unwanted ? n : (uint32_t)sizeof unwanted;
    if (!edgecc_receive(unwanted, part)) return 0;
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
  if (!edgecc_receive(number, 4)) return 0;
  index = get32(number);
  if (index >= (uint32_t)model->input_count) {
    refuse(SET_INPUT, "no such input");
    return skip(length - 4);
  }
  if (length - 4 != model->input_bytes((int32_t)index)) {
    refuse(SET_INPUT, "wrong input size");
    return skip(length - 4);
  }
  if (!edgecc_receive(copy_of((int32_t)index), length - 4)) return 0;
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

/* Cycles of one run, over a stack filled beforehand: what it touched is the deepest it went. */
__attribute__((noinline)) static uint32_t run_once(void) {
  uint32_t *const top = stack_pointer();
  volatile uint32_t *at;
  uint32_t used, cycles;
  for (at = edgecc_stack_start; at < top; at++) *at = UNTOUCHED;
  cycles = edgecc_cycles();
  model->run();
  cycles = edgecc_cycles() - cycles;
  for (at = edgecc_stack_start; at < top && *at == UNTOUCHED; at++) {
  }
  used = (uint32_t)((uintptr_t)top - (uintptr_t)at);
  if (used > stack_used) stack_used = used;
  return cycles;
}

static void restore_inputs(void) {
  int32_t i;
  for (i = 0; i < model->input_count; i++)
    memcpy(model->input(i), copy_of(i), model->input_bytes(i));
}

static void run_untimed(uint32_t count) {
  restore_inputs();
  while (count--) run_once();
  has_run = 1;
  answer(RUN_UNTIMED, 0, NULL, 0);
}

static void run(uint32_t count) {
  unsigned char figures[8 * FIGURES_AT_ONCE];
  size_t kept = 0;
  announce(RUN, 0, (size_t)count * 8);
  while (count--) {
    restore_inputs();
    edgecc_put_ns(figures + 8 * kept++, run_once(), clock_hz);
    if (kept < FIGURES_AT_ONCE && count) continue;
    write_all(figures, 8 * kept);
    kept = 0;
  }
  has_run = 1;
}

static void on_step(void *user, int32_t step, int32_t phase) {
  const uint32_t now = edgecc_cycles();
  (void)user;
  if (phase == 0) step_began = now;
  else step_cycles[step] += (uint32_t)(now - step_began);
}

static void profile(uint32_t count) {
  unsigned char figure[8];
  int32_t step;
  for (step = 0; step < model->step_count; step++) step_cycles[step] = 0;
  model->set_profile(on_step);
  for (; count; count--) {
    restore_inputs();
    model->run();
  }
  model->set_profile(NULL);
  has_run = 1;
  announce(PROFILE, 0, (size_t)model->step_count * 8);
  for (step = 0; step < model->step_count; step++) {
    edgecc_put_ns(figure, step_cycles[step], clock_hz);
    write_all(figure, sizeof figure);
  }
}

static void run_as(unsigned type, uint32_t count) {
  if (count > RUNS_AT_ONCE) {
    refuse(type, "too many runs at once");
  } else if (type == RUN_UNTIMED) {
    run_untimed(count);
  } else if (clock_hz == 0) {
    refuse(type, "this runner has no clock: send RUN_UNTIMED");
  } else if (type == RUN) {
    run(count);
  } else {
    profile(count);
  }
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

static char *put_text(char *at, const char *text) {
  while (*text) *at++ = *text++;
  return at;
}

static char *put_number(char *at, uint32_t number) {
  uint32_t unit = 1000000000u;
  while (unit > 1 && number / unit == 0) unit /= 10;
  for (; unit; unit /= 10) *at++ = (char)('0' + number / unit % 10);
  return at;
}

static void status(void) {
  char text[64], *at = put_number(put_text(text, "{\"stack_bytes\":"), stack_used);
  if (clock_hz) at = put_number(put_text(at, ",\"clock_hz\":"), clock_hz);
  *at++ = '}';
  answer(STATUS, 0, text, (size_t)(at - text));
}

static void serve(unsigned type, uint32_t value) {
  switch (type) {
    case HELLO: answer(HELLO, 0, model->hello, model->hello_bytes); break;
    case RUN: case RUN_UNTIMED: case PROFILE: run_as(type, value); break;
    case GET_OUTPUT: get_output(value); break;
    case STATUS: status(); break;
    case QUIT: answer(QUIT, 0, NULL, 0); edgecc_leave(0); break;
    case PIN: refuse(type, "there is one core and no operating system"); break;
    default: refuse(type, "unknown request type");
  }
}

static int next_frame(void) {
  static const unsigned char payload_bytes[] = {0, 0, 0, 4, 4, 4, 4, 0, 4, 0};
  unsigned char header[HEADER_BYTES], value[4] = {0, 0, 0, 0};
  uint32_t length;
  if (!edgecc_receive(header, sizeof header)) return 0;
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
  if (!edgecc_receive(value, length)) return 0;
  serve(header[4], get32(value));
  return 1;
}

static void fail(int code, const char *why) {
  edgecc_say("runner: ");
  edgecc_say(why);
  edgecc_say("\n");
  edgecc_leave(code);
}

void edgecc_main(void) {
  int code;
  if (!edgecc_line_open()) fail(EXIT_FRAME, "semihosting gives no input or output");
  clock_hz = edgecc_clock_hz();
  if (edgecc_crc32(edgecc_weights, model->weights_bytes) != model->weights_crc32)
    fail(EXIT_WEIGHTS, "the weights in flash are damaged");
  code = model->init(edgecc_arena, model->arena_bytes, edgecc_weights, model->weights_bytes);
  if (code != 0) fail(EXIT_ARENA, model->error(code));
  while (next_frame()) {
  }
  edgecc_leave(0);
}
