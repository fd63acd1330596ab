/* Start of a 32-bit RISC-V: stacks, FPU, C's memory, and traps in words. */
#include "baremetal.h"

#define TRAP_STACK_WORDS 256 /* of its own: a trap may come from an overrun stack */

uint32_t edgecc_trap_stack[TRAP_STACK_WORDS] __attribute__((aligned(16)));

void edgecc_start(void);
void edgecc_on_trap(uintptr_t cause, uintptr_t at, uintptr_t value);

/* Source: The RISC-V Instruction Set Manual, Volume II, 3.1 (mstatus.FS, mtvec, mcause), 3.7 */
__asm__(
    ".section .vectors,\"ax\",@progbits\n.option push\n.option arch, +zicsr\n.balign 4\n"
    ".global edgecc_reset\n.type edgecc_reset, @function\n"
    "edgecc_reset:\n"
    "  .option norelax\n"
    "  la sp, edgecc_stack_end\n"
    /* no access to the 64 KB before and behind RAM; a core without protection traps to 1 */
    "  la t0, 1f\n  csrw mtvec, t0\n  li t2, 0x1fff\n"
    "  la t1, edgecc_stack_start - 0x10000\n  srli t1, t1, 2\n  or t1, t1, t2\n"
    "  csrw pmpaddr0, t1\n"
    "  la t1, edgecc_ram_end\n  srli t1, t1, 2\n  or t1, t1, t2\n  csrw pmpaddr1, t1\n"
    "  li t1, 0x9898\n  csrw pmpcfg0, t1\n  .balign 4\n"
    "1:\n  la t0, edgecc_trap\n  csrw mtvec, t0\n"
#if defined(__riscv_flen)
    "  li t0, 0x2000\n  csrs mstatus, t0\n  csrwi fcsr, 0\n"
#endif
    "  call edgecc_start\n"
    "2:\n  j 2b\n.size edgecc_reset, . - edgecc_reset\n"
    ".balign 4\n.type edgecc_trap, @function\n"
    "edgecc_trap:\n"
    "  la sp, edgecc_trap_stack + 1024\n"
    "  csrr a0, mcause\n  csrr a1, mepc\n  csrr a2, mtval\n"
    "  call edgecc_on_trap\n"
    "3:\n  j 3b\n.size edgecc_trap, . - edgecc_trap\n.option pop\n.text\n");

void edgecc_start(void) {
  edgecc_fill_memory();
  edgecc_main();
}

void edgecc_on_trap(uintptr_t cause, uintptr_t at, uintptr_t value) {
  static const char *const names[] = {
      "misaligned jump", "instruction access fault",
      "illegal instruction: this CPU lacks a feature the model was compiled for",
      "breakpoint without a debugger", "misaligned load", "load access fault",
      "misaligned store", "store access fault"};
  int has_address = cause <= 7 && cause != 2 && cause != 3;
  edgecc_fault(cause <= 7 ? names[cause] : "trap", has_address ? &value : NULL, at);
}
