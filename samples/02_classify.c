/* Classifies 8x8 PGM images (binary, P5) with the compiled digits model.
   Usage: classify WEIGHTS IMAGE.pgm...
   The model needs no heap: its arena and its weights are static arrays of known size. */

#include "digits.h"

#include <math.h>
#include <stdio.h>

#if DIGITS_ABI_MAJOR != 1
#error "this program was written for version 1 of the C ABI"
#endif

#define SIDE 8

static _Alignas(DIGITS_ARENA_ALIGN) uint8_t arena[DIGITS_ARENA_BYTES];
static _Alignas(DIGITS_WEIGHTS_ALIGN) uint8_t weights[DIGITS_WEIGHTS_BYTES];

static int read_weights(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return 1;
  size_t size = fread(weights, 1, sizeof weights, file);
  int more = fgetc(file) != EOF;
  fclose(file);
  return size != sizeof weights || more;
}

/* Pixels of an 8x8 P5 image with their largest value. */
static int read_image(const char *path, uint8_t pixels[SIDE * SIDE], int *white) {
  int width = 0, height = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return 1;
  int fields = fscanf(file, "P5 %d %d %d", &width, &height, white);
  int ok = fields == 3 && width == SIDE && height == SIDE && *white > 0 && *white < 256 &&
           fgetc(file) != EOF && fread(pixels, 1, SIDE * SIDE, file) == SIDE * SIDE;
  fclose(file);
  return !ok;
}

static int8_t quantized(float value, const edgecc_tensor *tensor) {
  long q = lrintf(value / tensor->scale) + tensor->zero_point;
  return (int8_t)(q < -128 ? -128 : q > 127 ? 127 : q);
}

static int classify(digits_context *model, const char *path) {
  uint8_t pixels[SIDE * SIDE];
  int white = 0, best = 0;
  if (read_image(path, pixels, &white)) {
    fprintf(stderr, "%s: not a readable 8x8 PGM image\n", path);
    return 1;
  }
  const edgecc_tensor *in = digits_input_info(0), *out = digits_output_info(0);
  int8_t *input = digits_input(model, 0);
  for (int i = 0; i < SIDE * SIDE; i++)
    input[i] = quantized((float)pixels[i] / (float)white, in);
  int code = digits_run(model);
  if (code) {
    fprintf(stderr, "run: %s\n", digits_error(code));
    return 1;
  }
  const int8_t *scores = digits_output(model, 0);
  for (int i = 1; i < (int)out->bytes; i++)
    if (scores[i] > scores[best]) best = i;
  printf("%s %d %.3f\n", path, best,
         (double)((float)(scores[best] - out->zero_point) * out->scale));
  return 0;
}

int main(int argc, char **argv) {
  digits_context model;
  if (argc < 3) {
    fprintf(stderr, "usage: %s WEIGHTS IMAGE.pgm...\n", argv[0]);
    return 2;
  }
  if (read_weights(argv[1])) {
    fprintf(stderr, "%s: not the %d bytes of weights of %s\n", argv[1],
            (int)DIGITS_WEIGHTS_BYTES, digits_version());
    return 1;
  }
  int code = digits_init(&model, arena, sizeof arena, weights, sizeof weights);
  if (code) {
    fprintf(stderr, "init: %s\n", digits_error(code));
    return 1;
  }
  for (int i = 2; i < argc; i++)
    if (classify(&model, argv[i])) return 1;
  return 0;
}
