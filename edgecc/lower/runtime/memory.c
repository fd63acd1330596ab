/* The runner's memory: weights checked and mapped, an arena flush against guard pages. */
#define _GNU_SOURCE
#include "runner.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CANARY 0xA5

static struct {
  unsigned char *start, *base, *end, *limit; /* readable [start, limit), arena [base, end) */
  size_t guard;
} arena;

volatile int32_t running_step = -1;

void add(struct text *text, const char *more) {
  size_t n = strlen(more), room = sizeof text->at - text->length;
  if (n > room) n = room;
  memcpy(text->at + text->length, more, n);
  text->length += n;
}

void add_number(struct text *text, uint64_t number) {
  char digits[21], *at = digits + 20;
  *at = 0;
  do *--at = (char)('0' + number % 10);
  while (number /= 10);
  add(text, at);
}

void die(int code, const struct text *text) {
  ssize_t unused = write(STDERR_FILENO, "runner: ", 8);
  unused = write(STDERR_FILENO, text->at, text->length);
  unused = write(STDERR_FILENO, "\n", 1);
  (void)unused; /* nowhere left to complain */
  _exit(code);
}

static void die_of_memory(size_t bytes) {
  struct text text = {0, {0}};
  add(&text, "no memory: needed ");
  add_number(&text, bytes);
  add(&text, " bytes");
  die(EXIT_ARENA, &text);
}

static size_t round_up(size_t n, size_t to) { return n / to * to + (n % to ? to : 0); }

void *map(size_t bytes) {
  void *at = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
  if (at == MAP_FAILED) die_of_memory(bytes);
  return at;
}

/* The arena's end lies as near to the upper guard as its alignment allows, its start right after
   the lower one when its size is a whole number of pages. What is left between is a canary. */
void *map_arena(size_t arena_bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), body;
  unsigned char *whole;
  if (arena_bytes > SIZE_MAX / 4) die_of_memory(arena_bytes);
  arena.guard = round_up(1u << 20, page);
  body = round_up(arena_bytes, page);
  whole = mmap(NULL, body + 2 * arena.guard, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) die_of_memory(body + 2 * arena.guard);
  arena.start = whole + arena.guard;
  arena.limit = arena.start + body;
  if (body && mprotect(arena.start, body, PROT_READ | PROT_WRITE)) die_of_memory(body);
  arena.base = arena.limit - round_up(arena_bytes, edgecc_model.arena_align);
  arena.end = arena.base + arena_bytes;
  if (arena.base > arena.start) memset(arena.start, CANARY, (size_t)(arena.base - arena.start));
  if (arena.end < arena.limit) memset(arena.end, CANARY, (size_t)(arena.limit - arena.end));
  return arena.base;
}

const char *arena_damage(void) {
  const unsigned char *at;
  for (at = arena.start; at < arena.base; at++)
    if (*at != CANARY) return "a kernel wrote below the start of the arena";
  for (at = arena.end; at < arena.limit; at++)
    if (*at != CANARY) return "a kernel wrote past the end of the arena";
  return NULL;
}

static uint32_t crc32_of(const unsigned char *data, size_t n) {
  uint32_t table[256], i, k, crc = 0xFFFFFFFFu;
  size_t at;
  for (i = 0; i < 256; i++) {
    uint32_t c = i;
    for (k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
    table[i] = c;
  }
  for (at = 0; at < n; at++) crc = crc >> 8 ^ table[(crc ^ data[at]) & 0xFF];
  return ~crc;
}

static void die_of_weights(const char *path, const char *why, uint64_t needed, uint64_t have) {
  struct text text = {0, {0}};
  add(&text, "weights ");
  add(&text, path);
  add(&text, why);
  add(&text, " (needed ");
  add_number(&text, needed);
  add(&text, ", available ");
  add_number(&text, have);
  add(&text, ")");
  die(EXIT_WEIGHTS, &text);
}

const void *map_weights(const char *path) {
  size_t needed = edgecc_model.weights_bytes;
  struct stat status;
  const void *at;
  uint32_t crc;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &status)) {
    die_of_weights(path, ": cannot be read, bytes", needed, 0);
  }
  if (!S_ISREG(status.st_mode)) die_of_weights(path, ": not a file, bytes", needed, 0);
  if ((uint64_t)status.st_size != needed)
    die_of_weights(path, ": wrong size, bytes", needed, (uint64_t)status.st_size);
  if (needed == 0) {
    close(file);
    return map(0);
  }
  at = mmap(NULL, needed, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (at == MAP_FAILED) die_of_memory(needed);
  crc = crc32_of(at, needed);
  if (crc != edgecc_model.weights_crc32)
    die_of_weights(path, ": damaged, crc32", edgecc_model.weights_crc32, crc);
  return at;
}

static void name_place(struct text *text, const unsigned char *at) {
  if (at >= arena.limit && at < arena.limit + arena.guard) {
    add(text, "access past the end of the arena: byte ");
    add_number(text, (uint64_t)(at - arena.base));
  } else if (at < arena.start && at >= arena.start - arena.guard) {
    add(text, "access below the start of the arena: byte -");
    add_number(text, (uint64_t)(arena.base - at));
  } else {
    add(text, "memory fault at address ");
    add_number(text, (uint64_t)(uintptr_t)at);
  }
  add(text, " of ");
  add(text, edgecc_model.arena_macro);
  add(text, " = ");
  add_number(text, (uint64_t)(arena.end - arena.base));
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  struct text text = {0, {0}};
  (void)context;
  if (signal == SIGILL) {
    add(&text, "illegal instruction: this CPU lacks a feature the model was compiled for");
  } else {
    name_place(&text, (const unsigned char *)info->si_addr);
  }
  if (running_step >= 0) {
    add(&text, ", in step ");
    add(&text, edgecc_model.step_name(running_step));
  }
  die(EXIT_FAULT, &text);
}

void watch_faults(void) {
  static unsigned char stack[32768]; /* a fault may come from an overrun stack */
  const int signals[] = {SIGSEGV, SIGBUS, SIGILL};
  struct sigaction action;
  stack_t other;
  size_t i;
  memset(&other, 0, sizeof other);
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, NULL);
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND;
  for (i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}
