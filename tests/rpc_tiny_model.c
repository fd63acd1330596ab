/* A model of three steps (two of them one kernel, one a copy) for the shipped runner. */
#include "runner.h"

#include <string.h>

#define SIZE 16

static unsigned char arena[2 * SIZE];

__attribute__((noinline)) void k_invert(const unsigned char *x, unsigned char *y) {
  for (volatile int i = 0; i < SIZE; i++) y[i] = (unsigned char)(255 - x[i]);
}

__attribute__((noinline)) void k_add(unsigned char *x, int value, int times) {
  for (volatile int t = 0; t < times; t++) x[t % SIZE] = (unsigned char)(x[t % SIZE] + value);
}

static volatile size_t copied = SIZE;

__attribute__((noinline)) int tiny_run(void *context) {
  (void)context;
  k_invert(arena, arena + SIZE);
  k_add(arena + SIZE, 1, SIZE);
  memcpy(arena, arena + SIZE, copied);
  k_add(arena, 0, 10 * SIZE);
  return 0;
}

static const char hello[] =
    "{\"protocol\": [1, 0], \"abi\": [1, 0], \"model\": \"tiny\", \"version\": \"1\", "
    "\"target\": \"test\", \"arena_bytes\": 32, \"weights_bytes\": 4, "
    "\"weights_crc32\": 3984772369, \"inputs\": [{}], \"outputs\": [{}], "
    "\"steps\": [\"invert\", \"add\", \"copy\", \"add_2\"]}";

static int init(void *at, size_t n, const void *weights, size_t m) {
  (void)at; (void)n; (void)weights; (void)m;
  return 0;
}
static int run(void) { return tiny_run(NULL); }
static void *input(int32_t i) { (void)i; return arena; }
static const void *output(int32_t i) { (void)i; return arena + SIZE; }
static size_t bytes(int32_t i) { (void)i; return SIZE; }
static void set_profile(void (*f)(void *, int32_t, int32_t)) { (void)f; }
static const char *step_name(int32_t i) { (void)i; return "step"; }
static const char *error(int code) { (void)code; return "error"; }

const struct edgecc_model edgecc_model = {
    "TINY_ARENA_BYTES", 32, 16, 4, 3984772369u, 1, 1, 4, (const unsigned char *)hello,
    sizeof hello - 1, init, run, input, output, bytes, bytes, set_profile, step_name, error};
