/* Uses the threads of the model spin in every way that its header allows: input on stdin, output
   on stdout; says on stderr what is not as it should be. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "less.h"
#include "spin.h"

#define EXPECT(what) \
  if (!(what)) return fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what), 1
#define ALIGNED __attribute__((aligned(64)))

static unsigned char arena[2][(SPIN_ARENA_BYTES + 63) / 64 * 64] ALIGNED;
static unsigned char pool[2][SPIN_POOL_BYTES] ALIGNED;
static unsigned char weights[SPIN_WEIGHTS_BYTES] ALIGNED, input[SPIN_INPUT_0_BYTES];
static unsigned char expected[SPIN_OUTPUT_0_BYTES];
static spin_context a, b;

/* The linker sends the pool's pthread_create here: the n-th call from now on fails. */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int calls_until_failure = -1;
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *how, void *(*f)(void *), void *arg) {
  if (calls_until_failure >= 0 && calls_until_failure-- == 0) return 11;
  return __real_pthread_create(t, how, f, arg);
}

/* A thread that was joined may be listed for a moment longer. */
static int threads_now(int wanted) {
  int count = 0, tries;
  for (tries = 0; tries < 1000; tries++) {
    DIR *tasks = opendir("/proc/self/task");
    for (count = 0; readdir(tasks) != NULL; count++) {
    }
    closedir(tasks);
    if (count - 2 == wanted) break;
    usleep(1000);
  }
  return count - 2;
}

static int right(spin_context *context) {
  memcpy(spin_input(context, 0), input, sizeof input);
  if (spin_run(context)) return 0;
  return memcmp(spin_output(context, 0), expected, sizeof expected) == 0;
}

static int check_refusals(int before) {
  int32_t cpus[2] = {0, 1023};
  int i;
  spin_pool_stop(NULL);
  EXPECT(spin_pool_start(NULL, SPIN_POOL_BYTES, NULL, 0) == 1);
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, NULL, 1) == 1);
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, cpus, -1) == 1);
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES - 1, NULL, 0) == 6);
  EXPECT(spin_pool_start(pool[0] + 32, SPIN_POOL_BYTES, NULL, 0) == 6);
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, cpus, 2) == 8); /* not allowed */
  cpus[1] = 1024;
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, cpus, 2) == 8);
  cpus[1] = -1;
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, cpus, 2) == 8);
  for (i = 0; i < SPIN_THREADS - 1; i++) {
    calls_until_failure = i;
    EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, NULL, 0) == 7);
  }
  calls_until_failure = -1;
  EXPECT(threads_now(before) == before);
  EXPECT(spin_attach_pool(NULL, pool[0]) == 1 && spin_set_parallel_for(NULL, NULL, NULL) == 1);
  memset(pool[0], 7, sizeof pool[0]);
  EXPECT(spin_attach_pool(&a, pool[0]) == 9);
  EXPECT(spin_init(&b, arena[1], SPIN_ARENA_BYTES - 1, weights, SPIN_WEIGHTS_BYTES) == 2);
  EXPECT(strstr(spin_error(2), "SPIN_ARENA_BYTES is") != NULL && strstr(spin_error(7), "thread"));
  return 0;
}

static int check_pool(int before, const int32_t *cpus, int32_t count) {
  int i;
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, cpus, count) == 0);
  EXPECT(threads_now(before + SPIN_THREADS - 1) == before + SPIN_THREADS - 1);
  EXPECT(spin_attach_pool(&a, pool[0]) == 0);
  for (i = 0; i < 200; i++) EXPECT(right(&a));
  usleep(3000); /* all asleep now */
  for (i = 0; i < 5; i++) EXPECT(right(&a));
  EXPECT(spin_attach_pool(&a, NULL) == 0 && right(&a));
  spin_pool_stop(pool[0]);
  spin_pool_stop(pool[0]);
  EXPECT(threads_now(before) == before && right(&a));
  EXPECT(spin_attach_pool(&a, pool[0]) == 9); /* stopped */
  return 0;
}

static int check_many_starts(int before) {
  int i;
  for (i = 0; i < 1000; i++) {
    EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, NULL, 0) == 0);
    EXPECT(spin_attach_pool(&a, pool[0]) == 0);
    if (i % 8 == 0) EXPECT(right(&a)); /* mostly stopped before anything ran */
    EXPECT(spin_attach_pool(&a, NULL) == 0);
    spin_pool_stop(pool[0]);
  }
  EXPECT(threads_now(before) == before);
  return 0;
}

static void *second_context(void *pool_of_it) {
  int i;
  if (spin_attach_pool(&b, pool_of_it)) return NULL;
  for (i = 0; i < 200; i++)
    if (!right(&b)) return NULL;
  return &b;
}

/* Two contexts at once, on a pool each and then on the same one. */
static int check_two_contexts(void) {
  int both, i;
  EXPECT(spin_init(&b, arena[1], SPIN_ARENA_BYTES, weights, SPIN_WEIGHTS_BYTES) == 0);
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, NULL, 0) == 0);
  EXPECT(spin_pool_start(pool[1], SPIN_POOL_BYTES, NULL, 0) == 0);
  EXPECT(spin_attach_pool(&a, pool[0]) == 0);
  for (both = 0; both < 2; both++) {
    pthread_t other;
    void *done;
    EXPECT(__real_pthread_create(&other, NULL, second_context, pool[1 - both]) == 0);
    for (i = 0; i < 200; i++) EXPECT(right(&a));
    EXPECT(pthread_join(other, &done) == 0 && done == &b);
  }
  EXPECT(spin_attach_pool(&a, NULL) == 0 && spin_attach_pool(&b, NULL) == 0);
  spin_pool_stop(pool[0]);
  spin_pool_stop(pool[1]);
  return 0;
}

struct part {
  edgecc_body body;
  void *arg;
  int32_t begin, end, worker;
};

static void *run_part(void *given) {
  struct part *part = given;
  part->body(part->arg, part->begin, part->end, part->worker);
  return NULL;
}

/* An application's pool: a thread for every part, some of them empty, the last part first. */
static void own_parallel_for(void *user, edgecc_body body, void *arg, int32_t extent) {
  struct part parts[SPIN_THREADS];
  pthread_t threads[SPIN_THREADS];
  int32_t i, last = SPIN_THREADS - 1;
  for (i = last; i >= 0; i--) {
    parts[i].body = body;
    parts[i].arg = arg;
    parts[i].begin = i == 0 ? 0 : extent / 2 + (i - 1) * (extent - extent / 2) / last;
    parts[i].end = i == last ? extent : extent / 2 + i * (extent - extent / 2) / last;
    parts[i].worker = last - i;
    if (__real_pthread_create(&threads[i], NULL, run_part, &parts[i])) abort();
  }
  for (i = 0; i <= last; i++) pthread_join(threads[i], NULL);
  ++*(int *)user;
}

static int check_own_pool(void) {
  int calls = 0, i;
  EXPECT(spin_set_parallel_for(&a, own_parallel_for, &calls) == 0);
  for (i = 0; i < 20; i++) EXPECT(right(&a));
  EXPECT(calls == 40);
  EXPECT(spin_set_parallel_for(&a, NULL, NULL) == 0 && right(&a) && calls == 40);
  return 0;
}

/* A pool serves another model that has no fewer threads. */
static int check_two_models(void) {
  static unsigned char few[LESS_POOL_BYTES] ALIGNED;
  less_context less;
  EXPECT(less_init(&less, arena[1], LESS_ARENA_BYTES, weights, LESS_WEIGHTS_BYTES) == 0);
  EXPECT(less_pool_start(few, sizeof few, NULL, 0) == 0);
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, NULL, 0) == 0);
  EXPECT(spin_attach_pool(&a, few) == 0 && right(&a) && right(&a));
  EXPECT(less_attach_pool(&less, pool[0]) == (SPIN_THREADS > LESS_THREADS ? 9 : 0));
  EXPECT(spin_attach_pool(&a, NULL) == 0);
  less_pool_stop(few);
  spin_pool_stop(pool[0]);
  return 0;
}

/* Only the application's thread takes its signals; an empty mask is given back to it. */
static int check_signals(void) {
  sigset_t set;
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, NULL, 0) == 0);
  EXPECT(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0 && !sigismember(&set, SIGTERM));
  spin_pool_stop(pool[0]);
  return 0;
}

int main(int argc, char **argv) {
  int32_t cpu;
  int before, status;
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  EXPECT(file != NULL && fread(weights, 1, sizeof weights, file) == sizeof weights);
  fclose(file);
  EXPECT(fread(input, 1, sizeof input, stdin) == sizeof input);
  EXPECT(spin_init(&a, arena[0], SPIN_ARENA_BYTES, weights, SPIN_WEIGHTS_BYTES) == 0);
  memcpy(spin_input(&a, 0), input, sizeof input);
  EXPECT(spin_run(&a) == 0);
  memcpy(expected, spin_output(&a, 0), sizeof expected);
  EXPECT(spin_pool_start(pool[0], SPIN_POOL_BYTES, NULL, 0) == 0);
  spin_pool_stop(pool[0]);
  before = threads_now(1); /* a sanitizer has one of its own, from the first thread on */
  EXPECT(before <= 2);
  cpu = sched_getcpu();
  status = check_refusals(before) || check_pool(before, NULL, 0) || check_pool(before, &cpu, 1) ||
           check_many_starts(before) || check_two_contexts() || check_own_pool() ||
           check_two_models() || check_signals();
  EXPECT(fwrite(expected, 1, sizeof expected, stdout) == sizeof expected);
  return status;
}
