/* Semihosting: a debugger or an emulator as the operating system of a chip without one.
   Source: Arm, Semihosting for AArch32 and AArch64; RISC-V International, Semihosting. */
#ifndef EDGECC_SEMIHOST_H
#define EDGECC_SEMIHOST_H

#include <stdint.h>

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT_EXTENDED = 0x20 };
enum { OPEN_READ = 1, OPEN_WRITE = 5, OPEN_APPEND = 9 }; /* binary */
enum { APPLICATION_EXIT = 0x20026 };

#if defined(__arm__)
static inline intptr_t semihost(int operation, const void *block) {
  register intptr_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = block;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
#elif defined(__riscv)
/* The three instructions must be uncompressed, and on one page. */
static inline intptr_t semihost(int operation, const void *block) {
  register intptr_t a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = block;
  __asm__ volatile(
      ".balign 16\n.option push\n.option norvc\n"
      "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
      : "+r"(a0) : "r"(a1) : "memory");
  return a0;
}
#else
#error "semihosting is known for Arm and RISC-V"
#endif
#endif
