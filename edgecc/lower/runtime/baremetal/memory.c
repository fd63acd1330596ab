/* memcpy and memset for a toolchain that has no C library. The barriers keep compilers from seeing
   what these loops are, and calling them. */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);

__attribute__((weak)) void *memcpy(void *to, const void *from, size_t n) {
  unsigned char *at = to;
  const unsigned char *source = from;
  while (n--) {
    *at++ = *source++;
    __asm__ volatile("" ::: "memory");
  }
  return to;
}

__attribute__((weak)) void *memset(void *to, int value, size_t n) {
  unsigned char *at = to;
  while (n--) {
    *at++ = (unsigned char)value;
    __asm__ volatile("" ::: "memory");
  }
  return to;
}
