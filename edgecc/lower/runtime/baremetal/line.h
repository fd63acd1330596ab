/* What a runner has of its surroundings: the line to the workstation, and a clock. */
#ifndef EDGECC_LINE_H
#define EDGECC_LINE_H

#include <stddef.h>
#include <stdint.h>

int edgecc_line_open(void);                        /* 0: there is none */
int edgecc_receive(void *to, size_t n);            /* 0: the other end is gone */
int edgecc_deliver(const void *from, size_t n);    /* as well */
uint32_t edgecc_clock_hz(void);                    /* 0: no clock that runs */
uint32_t edgecc_cycles(void);                      /* of that clock; wraps */
uint32_t edgecc_crc32(const unsigned char *data, size_t n);
void edgecc_put_ns(unsigned char *at, uint64_t cycles, uint32_t clock_hz); /* 8 bytes */

#endif
