/* What the runner's parts know of each other, and of the one model linked to them. */
#ifndef EDGECC_RUNNER_H
#define EDGECC_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#define EDGECC_RUNNER_ABI_MAJOR 1

enum { EXIT_USAGE = 2, EXIT_WEIGHTS = 3, EXIT_ARENA = 4, EXIT_FRAME = 5, EXIT_FAULT = 86 };

/* Filled by the generated glue, which holds the model's context. */
struct edgecc_model {
  const char *arena_macro; /* its name in the header */
  size_t arena_bytes, arena_align, weights_bytes;
  uint32_t weights_crc32;
  int32_t input_count, output_count, step_count;
  const unsigned char *hello; /* JSON */
  size_t hello_bytes;
  int (*init)(void *arena, size_t arena_bytes, const void *weights, size_t weights_bytes);
  int (*run)(void);
  void *(*input)(int32_t index);
  const void *(*output)(int32_t index);
  size_t (*input_bytes)(int32_t index);
  size_t (*output_bytes)(int32_t index);
  void (*set_profile)(void (*profile)(void *user, int32_t step, int32_t phase));
  const char *(*step_name)(int32_t step);
  const char *(*error)(int code);
  /* NULL for a model of one thread. `start_threads` returns a code that `error` explains. */
  int32_t threads;
  int (*start_threads)(const int32_t *cpus, int32_t cpu_count);
  void (*stop_threads)(void);
};
extern const struct edgecc_model edgecc_model;

/* Short texts without stdio. Text that does not fit is cut. */
struct text {
  size_t length;
  char at[4096];
};
void add(struct text *text, const char *more);
void add_number(struct text *text, uint64_t number);
void die(int code, const struct text *text);

/* Frames. `request` holds the payload of the request at hand. */
extern unsigned char *request;
extern size_t request_room;
uint32_t get32(const unsigned char *at);
void put(unsigned char *at, uint64_t value, int bytes);
void answer(unsigned type, unsigned status, const void *payload, size_t n);
void refuse(unsigned type, const char *why);
void refuse_number(unsigned type, const char *what, uint64_t needed, uint64_t have);
int next_frame(void); /* reads and serves one; 0 when the input has ended */
void serve(unsigned type, uint32_t length);

/* Memory between guards. */
void *map(size_t bytes); /* zeroed; ends the program when there is none */
void *map_arena(size_t arena_bytes);
const void *map_weights(const char *path);
void watch_faults(void);
const char *arena_damage(void); /* NULL, or what a run wrote outside the arena */
extern volatile int32_t running_step; /* -1 when not known */

#endif
