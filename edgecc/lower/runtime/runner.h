/* What the runner's parts know of each other, and of the one model linked to them. */
#ifndef EDGECC_RUNNER_H
#define EDGECC_RUNNER_H

#include "runner_model.h"

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
