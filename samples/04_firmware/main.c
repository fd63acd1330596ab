/* Classifies labelled samples on a bare chip and says how many it got right.

   What it says goes through the port that comes with the package (semihosting); the weights stay
   in flash, and the arena is the end of RAM. An application of your own would bring its own
   start-up code, and get its samples from a sensor. */
#include "baremetal.h"
#include "classifier.h"
#include "classifier_weights.h"
#include "labelled.h"

static classifier_context model;

static void take(const float *values) {
  const edgecc_tensor *info = classifier_input_info(0);
  int8_t *to = (int8_t *)classifier_input(&model, 0);
  for (int i = 0; i < VALUES; i++) to[i] = edgecc_quantize_int8(info, values[i]);
}

static int32_t largest(void) {
  const int8_t *scores = (const int8_t *)classifier_output(&model, 0);
  int32_t best = 0;
  for (int32_t i = 1; i < (int32_t)CLASSIFIER_OUTPUT_0_BYTES; i++)
    if (scores[i] > scores[best]) best = i;
  return best;
}

static void say(const char *before, int32_t number) {
  edgecc_say(before);
  edgecc_say_number((uint32_t)number, 10);
}

int main(void) {
  int32_t hits = 0;
  int code = classifier_init(&model, edgecc_arena, CLASSIFIER_ARENA_BYTES, classifier_weights,
                             CLASSIFIER_WEIGHTS_BYTES);
  if (code != 0) {
    edgecc_say(classifier_error(code));
    return 1;
  }
  for (int32_t i = 0; i < LABELLED; i++) {
    take(labelled[i]);
    classifier_run(&model);
    say("sample ", i);
    say(" is ", labels[i]);
    say(", classified as ", largest());
    edgecc_say("\n");
    hits += largest() == labels[i];
  }
  say("", hits);
  say(" of ", LABELLED);
  edgecc_say(" right\n");
  return 0;
}
