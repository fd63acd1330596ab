/* An application of the model tiny, C and C++: input on stdin, output on stdout. It looks at every
   function of the API first, and says on stderr what is not as it should be. */
#include <stdio.h>
#include <string.h>

#include "tiny.h"
#include "other.h"

#define EXPECT(what) \
  if (!(what)) return fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what), 1

static union {
  unsigned char bytes[4096];
  long double most_aligned;
} memory[3];
static char order[256];

static unsigned char *aligned(int i) {
  unsigned char *at = memory[i].bytes;
  while ((uintptr_t)at % TINY_WEIGHTS_ALIGN != 0) at++;
  return at;
}

static void note(void *user, int32_t step, int32_t phase) {
  size_t at = strlen(order);
  order[at] = (char)(phase == 0 ? '<' : '>');
  order[at + 1] = (char)('0' + step);
  *(int *)user += 1;
}

static int check_errors(unsigned char *arena, const unsigned char *weights) {
  tiny_context c;
  EXPECT(tiny_init(NULL, arena, TINY_ARENA_BYTES, weights, TINY_WEIGHTS_BYTES) == 1);
  EXPECT(tiny_init(&c, NULL, TINY_ARENA_BYTES, weights, TINY_WEIGHTS_BYTES) == 1);
  EXPECT(tiny_init(&c, arena, TINY_ARENA_BYTES, NULL, TINY_WEIGHTS_BYTES) == 1);
  EXPECT(tiny_init(&c, arena, TINY_ARENA_BYTES - 1, weights, TINY_WEIGHTS_BYTES) == 2);
  EXPECT(tiny_init(&c, arena + 1, TINY_ARENA_BYTES, weights, TINY_WEIGHTS_BYTES) == 3);
  EXPECT(tiny_init(&c, arena, TINY_ARENA_BYTES, weights, TINY_WEIGHTS_BYTES - 1) == 4);
  EXPECT(tiny_init(&c, arena, TINY_ARENA_BYTES, weights + 16, TINY_WEIGHTS_BYTES) == 5);
  EXPECT(strstr(tiny_error(2), "TINY_ARENA_BYTES is 192") != NULL);
  EXPECT(strcmp(tiny_error(0), "ok") == 0 && tiny_error(-1) != NULL && tiny_error(6) != NULL);
  EXPECT(tiny_run(NULL) == 1 && tiny_run_step(NULL) == -1);
  EXPECT(tiny_init_as(&c, TINY_ABI_MAJOR + 1, TINY_BUILD, arena, TINY_ARENA_BYTES, weights,
                      TINY_WEIGHTS_BYTES) == 10);
  EXPECT(tiny_init_as(&c, TINY_ABI_MAJOR, TINY_BUILD + 1, arena, TINY_ARENA_BYTES, weights,
                      TINY_WEIGHTS_BYTES) == 11);
  EXPECT(strstr(tiny_error(11), TINY_TARGET) != NULL && strlen(TINY_TARGET) > 0);
  return 0;
}

static int check_info(tiny_context *c) {
  const edgecc_tensor *in = tiny_input_info(0), *out = tiny_output_info(0);
  EXPECT(in != NULL && strcmp(in->name, "image") == 0 && strcmp(in->dtype, "int8") == 0);
  EXPECT(strcmp(in->layout, "NHWC") == 0 && in->rank == 4 && in->shape[3] == 4);
  EXPECT(in->bytes == TINY_INPUT_0_BYTES && in->scale > 0.049f && in->zero_point == -3);
  EXPECT(out != NULL && out->bytes == TINY_OUTPUT_0_BYTES && out->arena_offset == 128);
  EXPECT(tiny_input_info(1) == NULL && tiny_input_info(-1) == NULL);
  EXPECT(tiny_output_info(TINY_OUTPUT_COUNT) == NULL);
  EXPECT(tiny_input(c, 1) == NULL && tiny_input(NULL, 0) == NULL && tiny_output(c, -1) == NULL);
  EXPECT(strcmp(tiny_step_name(TINY_STEP_COUNT - 1), "copy_2") == 0 && tiny_step_name(3) == NULL);
  EXPECT(strcmp(tiny_version(), "1.0 \"first\"") == 0);
  return 0;
}

static int check_profile(tiny_context *c) {
  int calls = 0;
  tiny_set_profile(c, note, &calls);
  EXPECT(tiny_run(c) == 0 && calls == 2 * TINY_STEP_COUNT);
  EXPECT(strcmp(order, "<0>0<1>1<2>2") == 0);
  tiny_set_profile(c, NULL, NULL);
  tiny_set_profile(NULL, NULL, NULL);
  EXPECT(tiny_run(c) == 0 && calls == 2 * TINY_STEP_COUNT);
  return 0;
}

/* Two contexts, a step of each in turn. */
static int check_steps(tiny_context *a, tiny_context *b, const unsigned char *wanted,
                       const unsigned char *input, const unsigned char *inverse) {
  int step;
  memcpy(tiny_input(a, 0), input, TINY_INPUT_0_BYTES);
  EXPECT(tiny_run_step(a) == 1); /* left in the middle: init and run start anew */
  EXPECT(tiny_run(a) == 0);
  memcpy(tiny_input(a, 0), input, TINY_INPUT_0_BYTES);
  memcpy(tiny_input(b, 0), inverse, TINY_INPUT_0_BYTES);
  for (step = 1; step < TINY_STEP_COUNT; step++)
    EXPECT(tiny_run_step(a) == 1 && tiny_run_step(b) == 1);
  EXPECT(tiny_run_step(a) == 0 && tiny_run_step(b) == 0);
  EXPECT(memcmp(wanted, tiny_output(a, 0), TINY_OUTPUT_0_BYTES) == 0);
  EXPECT(memcmp(wanted, tiny_output(b, 0), TINY_OUTPUT_0_BYTES) != 0);
  return 0;
}

int main(int argc, char **argv) {
  unsigned char *arena = aligned(0), *second = aligned(1), *weights = aligned(2);
  unsigned char input[TINY_INPUT_0_BYTES], inverse[TINY_INPUT_0_BYTES], kept[TINY_OUTPUT_0_BYTES];
  tiny_context a, b;
  other_context unused;
  size_t i;
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  (void)unused;
  EXPECT(file != NULL && fread(weights, 1, TINY_WEIGHTS_BYTES, file) == TINY_WEIGHTS_BYTES);
  fclose(file);
  EXPECT(fread(input, 1, sizeof input, stdin) == sizeof input);
  for (i = 0; i < sizeof input; i++) inverse[i] = (unsigned char)~input[i];
  if (check_errors(arena, weights)) return 1;
  EXPECT(tiny_init(&a, arena, TINY_ARENA_BYTES, weights, TINY_WEIGHTS_BYTES) == 0);
  EXPECT(tiny_init(&b, second, TINY_ARENA_BYTES, weights, TINY_WEIGHTS_BYTES) == 0);
  if (check_info(&a) || check_profile(&a)) return 1;
  memcpy(tiny_input(&a, 0), input, sizeof input); /* two contexts, interleaved */
  memcpy(tiny_input(&b, 0), inverse, sizeof inverse);
  EXPECT(tiny_run(&a) == 0 && tiny_run(&b) == 0);
  memcpy(kept, tiny_output(&a, 0), sizeof kept);
  EXPECT(memcmp(kept, tiny_output(&b, 0), sizeof kept) != 0);
  memcpy(tiny_input(&b, 0), input, sizeof input);
  EXPECT(tiny_run(&b) == 0 && memcmp(kept, tiny_output(&b, 0), sizeof kept) == 0);
  if (check_steps(&a, &b, kept, input, inverse)) return 1;
  EXPECT(fwrite(kept, 1, sizeof kept, stdout) == sizeof kept);
  return 0;
}
