/* The one model that is linked to a runner, as the generated glue shows it. */
#ifndef EDGECC_RUNNER_MODEL_H
#define EDGECC_RUNNER_MODEL_H

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

#endif
