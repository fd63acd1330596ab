/* Two models, net and other, in one firmware: what init refuses, an arena against the end of RAM,
   one arena for both, two instances step by step, and the profile callback. */
#include "baremetal.h"
#include "net.h"
#include "net_selftest.h"
#include "net_weights.h"
#include "other.h"
#include "other_selftest.h"
#include "other_weights.h"

#define LARGER (NET_ARENA_BYTES > OTHER_ARENA_BYTES ? NET_ARENA_BYTES : OTHER_ARENA_BYTES)
#define CHECK(condition) check(condition, #condition)

static net_context net, twin;
static other_context other;
static unsigned char kept[2][NET_OUTPUT_0_BYTES];
static unsigned char second[NET_ARENA_BYTES] __attribute__((aligned(NET_ARENA_ALIGN)));
static int32_t calls, out_of_order;

static void check(int holds, const char *what) {
  if (holds) return;
  edgecc_say("FAILED: ");
  edgecc_say(what);
  edgecc_say("\n");
  edgecc_leave(1);
}

/* The last place in RAM that init takes. */
static unsigned char *against_the_end(size_t bytes, size_t align) {
  uintptr_t at = (uintptr_t)edgecc_ram_end - bytes;
  return (unsigned char *)(at - at % align);
}

static int start(net_context *context, unsigned char *arena) {
  return net_init(context, arena, NET_ARENA_BYTES, net_weights, NET_WEIGHTS_BYTES);
}

static void refusals(unsigned char *arena) {
  const unsigned char *weights = (const unsigned char *)net_weights;
  CHECK(start(NULL, arena) == 1);
  CHECK(start(&net, NULL) == 1);
  CHECK(net_init(&net, arena, NET_ARENA_BYTES, NULL, NET_WEIGHTS_BYTES) == 1);
  CHECK(net_init(&net, arena, NET_ARENA_BYTES - 1, weights, NET_WEIGHTS_BYTES) == 2);
  CHECK(start(&net, arena + 1) == 3);
  CHECK(net_init(&net, arena, NET_ARENA_BYTES, weights, NET_WEIGHTS_BYTES - 1) == 4);
  CHECK(net_init(&net, arena, NET_ARENA_BYTES, weights + 1, NET_WEIGHTS_BYTES) == 5);
  CHECK(net_init_as(&net, NET_ABI_MAJOR + 1, NET_BUILD, arena, NET_ARENA_BYTES, weights,
                    NET_WEIGHTS_BYTES) == 10);
  CHECK(net_init_as(&net, NET_ABI_MAJOR, OTHER_BUILD, arena, NET_ARENA_BYTES, weights,
                    NET_WEIGHTS_BYTES) == 11);
  CHECK(net_run(NULL) == 1 && net_run_step(NULL) == -1);
}

static void one_arena_for_both(void) {
  unsigned char *arena = against_the_end(LARGER, NET_ARENA_ALIGN);
  CHECK(start(&net, arena) == 0);
  CHECK(other_init(&other, arena, LARGER, other_weights, OTHER_WEIGHTS_BYTES) == 0);
  CHECK(net_self_test(&net) == 0);
  CHECK(other_self_test(&other) == 0);
  CHECK(net_self_test(&net) == 0);
}

static void give(net_context *context, unsigned first) {
  unsigned char *to = (unsigned char *)net_input(context, 0);
  size_t i;
  for (i = 0; i < NET_INPUT_0_BYTES; i++) to[i] = (unsigned char)(first + 37u * i);
}

static int answers(const net_context *context, const unsigned char *wanted) {
  const unsigned char *found = (const unsigned char *)net_output(context, 0);
  size_t i;
  for (i = 0; i < NET_OUTPUT_0_BYTES; i++)
    if (found[i] != wanted[i]) return 0;
  return 1;
}

static void keep(net_context *context, unsigned first, unsigned char *to) {
  const unsigned char *found = (const unsigned char *)net_output(context, 0);
  size_t i;
  give(context, first);
  CHECK(net_run(context) == 0);
  for (i = 0; i < NET_OUTPUT_0_BYTES; i++) to[i] = found[i];
}

/* One step of net for every two of its twin, and the rest one by one. */
static void interleaved(unsigned char *arena) {
  int32_t steps = 0;
  int one = 1, two = 1;
  CHECK(start(&net, arena) == 0 && start(&twin, second) == 0);
  keep(&net, 5, kept[0]);
  keep(&twin, 91, kept[1]);
  CHECK(!answers(&net, kept[1]));
  give(&net, 91);
  give(&twin, 5);
  while (one == 1 || two == 1) {
    if (one == 1) one = net_run_step(&net), steps++;
    if (two == 1) two = net_run_step(&twin), steps++;
    if (two == 1) two = net_run_step(&twin), steps++;
  }
  CHECK(one == 0 && two == 0 && steps == 2 * NET_STEP_COUNT);
  CHECK(answers(&net, kept[1]) && answers(&twin, kept[0]));
  give(&net, 5);
  CHECK(net_run_step(&net) == 1 && net_run(&net) == 0); /* run starts anew */
}

static void noted(void *user, int32_t step, int32_t phase) {
  if (user != &net || step != calls / 2 || phase != calls % 2) out_of_order = 1;
  calls++;
}

static void profiled(void) {
  net_set_profile(&net, noted, &net);
  CHECK(net_run(&net) == 0 && calls == 2 * NET_STEP_COUNT && !out_of_order);
  calls = 0;
  while (net_run_step(&net) == 1) {}
  CHECK(calls == 2 * NET_STEP_COUNT && !out_of_order);
  net_set_profile(&net, NULL, NULL);
  CHECK(net_run(&net) == 0 && calls == 2 * NET_STEP_COUNT);
  CHECK(net_step_name(0) != NULL && net_step_name(NET_STEP_COUNT) == NULL);
}

int main(void) {
  unsigned char *arena = against_the_end(NET_ARENA_BYTES, NET_ARENA_ALIGN);
  refusals(arena);
  CHECK(start(&net, arena) == 0 && net_self_test(&net) == 0);
  one_arena_for_both();
  interleaved(arena);
  profiled();
#ifdef PAST_THE_END
  *(volatile unsigned char *)edgecc_ram_end = 1;
#endif
  edgecc_say("firmware: all holds\n");
  return 0;
}
