/* Runs one model for a workstation: frames over stdin and stdout (runner protocol 1.1).
   Usage: runner WEIGHTS_FILE [--arena-bytes N] [--alone]
   `--alone` computes all on one thread, whatever the model was compiled for.
   Nothing that arrives is trusted: lengths are bounded, and every refusal says why. */
#define _GNU_SOURCE
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MOST 64u
#define RUNS_AT_ONCE 1000000u /* an answer stays below 8 MB, and comes some day */

enum { HELLO = 1, SET_INPUT, RUN, RUN_UNTIMED, GET_OUTPUT, PROFILE, STATUS, PIN, QUIT };

static unsigned char **inputs; /* copies outside the arena, which a run may overwrite */
static uint64_t *step_ns;
static uint64_t step_began;
static int has_run, has_threads;

static const struct edgecc_model *const model = &edgecc_model;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void restore_inputs(void) {
  int32_t i;
  for (i = 0; i < model->input_count; i++)
    memcpy(model->input(i), inputs[i], model->input_bytes(i));
}

/* 1 when the arena's surroundings are as they were; else the answer is given. */
static int undamaged(unsigned type) {
  const char *damage = arena_damage();
  if (damage != NULL) refuse(type, damage);
  has_run = damage == NULL;
  return has_run;
}

static void set_input(uint32_t length) {
  uint32_t index = length >= 4 ? get32(request) : 0;
  size_t needed;
  if (length < 4) {
    refuse_number(SET_INPUT, "SET_INPUT without an index: bytes", 4, length);
    return;
  }
  if (index >= (uint32_t)model->input_count) {
    refuse_number(SET_INPUT, "no such input: index", index, (uint64_t)model->input_count);
    return;
  }
  needed = model->input_bytes((int32_t)index);
  if (length - 4 != needed) {
    refuse_number(SET_INPUT, "wrong input size: bytes", needed, length - 4);
    return;
  }
  memcpy(inputs[index], request + 4, needed);
  answer(SET_INPUT, 0, NULL, 0);
}

static void run_timed(uint32_t count) {
  unsigned char *times;
  size_t bytes = (size_t)count * 8;
  uint32_t i;
  times = map(bytes);
  for (i = 0; i < count; i++) {
    uint64_t began;
    restore_inputs();
    began = now_ns();
    model->run();
    put(times + (size_t)i * 8, now_ns() - began, 8);
  }
  if (undamaged(RUN)) answer(RUN, 0, times, bytes);
  munmap(times, bytes ? bytes : 1);
}

static void run_untimed(uint32_t count) {
  restore_inputs();
  while (count--) model->run();
  if (undamaged(RUN_UNTIMED)) answer(RUN_UNTIMED, 0, NULL, 0);
}

static void on_step(void *user, int32_t step, int32_t phase) {
  uint64_t now;
  (void)user;
  if (phase == 0) {
    running_step = step;
    step_began = now_ns();
    return;
  }
  now = now_ns();
  step_ns[step] += now - step_began;
  running_step = -1;
}

static void profile(uint32_t count) {
  size_t bytes = (size_t)model->step_count * 8;
  unsigned char *answered;
  int32_t step;
  memset(step_ns, 0, bytes);
  model->set_profile(on_step);
  for (; count; count--) {
    restore_inputs();
    model->run();
  }
  model->set_profile(NULL);
  if (!undamaged(PROFILE)) return;
  answered = map(bytes);
  for (step = 0; step < model->step_count; step++) put(answered + step * 8, step_ns[step], 8);
  answer(PROFILE, 0, answered, bytes);
  munmap(answered, bytes ? bytes : 1);
}

static void get_output(uint32_t index) {
  if (index >= (uint32_t)model->output_count) {
    refuse_number(GET_OUTPUT, "no such output: index", index, (uint64_t)model->output_count);
  } else if (!has_run) {
    refuse(GET_OUTPUT, "no output yet: send RUN first");
  } else {
    answer(GET_OUTPUT, 0, model->output((int32_t)index), model->output_bytes((int32_t)index));
  }
}

/* From /proc: getrusage would count the program that was there before exec. */
static uint64_t peak_rss_bytes(void) {
  char text[4096], *at;
  uint64_t kib = 0;
  struct rusage usage;
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  text[n > 0 ? n : 0] = 0;
  at = strstr(text, "VmHWM:");
  if (at == NULL) return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
  for (at += 6; *at == ' ' || *at == '\t'; at++) {
  }
  for (; *at >= '0' && *at <= '9'; at++) kib = kib * 10 + (uint64_t)(*at - '0');
  return kib * 1024;
}

static void status(void) {
  struct text text = {0, {0}};
  const char *between = "";
  cpu_set_t set;
  size_t cpu;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set)) CPU_ZERO(&set);
  add(&text, "{\"peak_rss_bytes\":");
  add_number(&text, peak_rss_bytes());
  add(&text, ",\"cpu\":[");
  for (cpu = 0; cpu < CPU_SETSIZE && text.length + 16 < sizeof text.at; cpu++) {
    if (!CPU_ISSET(cpu, &set)) continue;
    add(&text, between);
    add_number(&text, cpu);
    between = ",";
  }
  add(&text, "]}");
  answer(STATUS, 0, text.at, text.length);
}

/* The threads start anew where they may run; 1 when they did, else the answer is given. */
static int threads_on(const int32_t *cpus, int32_t count) {
  int code;
  if (!has_threads) return 1;
  model->stop_threads();
  code = model->start_threads(cpus, count);
  if (code == 0) return 1;
  refuse(PIN, model->error(code));
  has_threads = model->start_threads(NULL, 0) == 0;
  return 0;
}

/* Thread i on the i-th cpu of the list, counted round; this one is thread 0. At most as many as
   there are threads. */
static void pin(uint32_t length) {
  int32_t cpus[THREADS_MOST];
  uint32_t i, count = length / 4;
  cpu_set_t set;
  for (i = 0; i < count; i++) {
    uint32_t cpu = get32(request + (size_t)i * 4);
    if (cpu >= CPU_SETSIZE) {
      refuse_number(PIN, "no such cpu: index", cpu, CPU_SETSIZE);
      return;
    }
    cpus[i] = (int32_t)cpu;
  }
  if (!threads_on(cpus, (int32_t)count)) return;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpus[0], &set);
  if (sched_setaffinity(0, sizeof set, &set)) {
    refuse(PIN, strerror(errno));
  } else {
    answer(PIN, 0, NULL, 0);
  }
}

static void stop_threads(void) {
  if (has_threads) model->stop_threads();
  has_threads = 0;
}

static size_t pin_bytes_most(void) { return 4 * (size_t)(model->threads > 1 ? model->threads : 1); }

static int right_size(unsigned type, uint32_t length) {
  static const unsigned char payload_bytes[] = {0, 0, 0, 4, 4, 4, 4, 0, 4, 0};
  if (type == SET_INPUT) return 1; /* looks for itself */
  if (type == PIN && length % 4 == 0 && length > 0 && length <= pin_bytes_most()) return 1;
  if (length == payload_bytes[type]) return 1;
  refuse_number(type, "wrong payload size: bytes", payload_bytes[type], length);
  return 0;
}

void serve(unsigned type, uint32_t length) {
  uint32_t value = length >= 4 ? get32(request) : 0;
  if (type < HELLO || type > QUIT) {
    refuse(type, "unknown request type");
    return;
  }
  if (!right_size(type, length)) return;
  if ((type == RUN || type == RUN_UNTIMED || type == PROFILE) && value > RUNS_AT_ONCE) {
    refuse_number(type, "too many runs at once: count", value, RUNS_AT_ONCE);
    return;
  }
  switch (type) {
    case HELLO: answer(HELLO, 0, model->hello, model->hello_bytes); break;
    case SET_INPUT: set_input(length); break;
    case RUN: run_timed(value); break;
    case RUN_UNTIMED: run_untimed(value); break;
    case GET_OUTPUT: get_output(value); break;
    case PROFILE: profile(value); break;
    case STATUS: status(); break;
    case PIN: pin(length); break;
    default:
      stop_threads();
      answer(QUIT, 0, NULL, 0);
      _exit(0);
  }
}

static void usage(void) {
  struct text text = {0, {0}};
  add(&text, "usage: runner WEIGHTS_FILE [--arena-bytes N] [--alone]");
  die(EXIT_USAGE, &text);
}

static size_t parse_bytes(const char *digits) {
  size_t value = 0;
  if (*digits == 0 || strlen(digits) > 18) usage();
  for (; *digits; digits++) {
    if (*digits < '0' || *digits > '9') usage();
    value = value * 10 + (size_t)(*digits - '0');
  }
  return value;
}

static void start(const char *weights_path, size_t arena_bytes) {
  const void *weights = map_weights(weights_path);
  int code = model->init(map_arena(arena_bytes), arena_bytes, weights, model->weights_bytes);
  struct text text = {0, {0}};
  if (code == 0 && has_threads) code = model->start_threads(NULL, 0);
  if (code == 0) return;
  add(&text, model->error(code));
  add(&text, " (needed ");
  add_number(&text, model->arena_bytes);
  add(&text, " bytes, available ");
  add_number(&text, arena_bytes);
  add(&text, " bytes)");
  die(EXIT_ARENA, &text);
}

static void make_room(void) {
  int32_t i;
  inputs = map((size_t)model->input_count * sizeof *inputs);
  step_ns = map((size_t)model->step_count * sizeof *step_ns);
  request_room = pin_bytes_most();
  for (i = 0; i < model->input_count; i++) {
    size_t bytes = model->input_bytes(i);
    inputs[i] = map(bytes);
    if (bytes + 4 > request_room) request_room = bytes + 4;
  }
  request = map(request_room);
}

int main(int argc, char **argv) {
  size_t arena_bytes = model->arena_bytes;
  int at;
  if (argc < 2) usage();
  if (model->threads > (int32_t)THREADS_MOST) usage();
  has_threads = model->threads > 1;
  for (at = 2; at < argc; at++) {
    if (strcmp(argv[at], "--alone") == 0) {
      has_threads = 0;
    } else if (strcmp(argv[at], "--arena-bytes") == 0 && at + 1 < argc) {
      arena_bytes = parse_bytes(argv[++at]);
    } else {
      usage();
    }
  }
  watch_faults();
  start(argv[1], arena_bytes);
  make_room();
  while (next_frame()) {
  }
  stop_threads();
  return 0;
}
