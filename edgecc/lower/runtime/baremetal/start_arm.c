/* Start of a Cortex-M: vector table, FPU and MVE, C's memory, and faults in words. */
#include "baremetal.h"

#define FAULT_STACK_WORDS 256 /* of its own: a fault may come from an overrun stack */

#if __ARM_ARCH >= 7 || defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
#define HAS_FAULT_REGISTERS 1
#endif

static uint32_t fault_stack[FAULT_STACK_WORDS] __attribute__((aligned(8)));

void edgecc_reset(void);
void edgecc_trap(void);
void edgecc_start(void);
void edgecc_on_trap(const uint32_t *frame, uint32_t exception);

/* Source: Armv7-M Architecture Reference Manual, B1.5.3 */
__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  void (*handlers[15])(void);
} vectors = {
    fault_stack + FAULT_STACK_WORDS,
    {edgecc_reset, edgecc_trap, edgecc_trap, edgecc_trap, edgecc_trap, edgecc_trap, edgecc_trap,
     0, 0, 0, edgecc_trap, edgecc_trap, 0, edgecc_trap, edgecc_trap}};

/* CP10 and CP11 (FPU, MVE) before any compiled code; then the program's own stack. */
__asm__(
    ".syntax unified\n.thumb\n.section .text.edgecc_reset,\"ax\",%progbits\n.balign 4\n"
    ".global edgecc_reset\n.thumb_func\n.type edgecc_reset, %function\n"
    "edgecc_reset:\n"
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    "  ldr r0, =0xe000ed88\n  ldr r1, [r0]\n  ldr r2, =0x00f00000\n  orrs r1, r2\n"
    "  str r1, [r0]\n  dsb\n  isb\n"
#endif
    "  ldr r0, =edgecc_stack_end\n  msr psp, r0\n  movs r0, #2\n  msr control, r0\n  isb\n"
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
    "  ldr r0, =edgecc_stack_start\n  msr psplim, r0\n"
#endif
    "  bl edgecc_start\n"
    "  b .\n  .ltorg\n.size edgecc_reset, . - edgecc_reset\n"
    ".balign 4\n.global edgecc_trap\n.thumb_func\n.type edgecc_trap, %function\n"
    "edgecc_trap:\n"
    "  movs r2, #4\n  mov r3, lr\n  mrs r0, msp\n  tst r3, r2\n  beq 1f\n  mrs r0, psp\n"
    "1:\n  mrs r1, ipsr\n  bl edgecc_on_trap\n  b .\n"
    ".size edgecc_trap, . - edgecc_trap\n.text\n");

static volatile uint32_t *system_register(uintptr_t address) {
  return (volatile uint32_t *)address;
}

#if __ARM_ARCH < 8
/* No access to [address, address + bytes). Source: Armv7-M Architecture Reference Manual, B3.5 */
static void forbid(uint32_t region, uintptr_t address, uint32_t bytes) {
  uint32_t log2 = 5;
  while (log2 < 31 && 1u << log2 < bytes) log2++;
  *system_register(0xE000ED98u) = region;
  *system_register(0xE000ED9Cu) = (uint32_t)address;
  *system_register(0xE000EDA0u) = 1u << 28 | (log2 - 1) << 1 | 1u;
}

static uint32_t largest_at(uintptr_t address) {
  uint32_t bytes = (uint32_t)(address & (0u - address));
  return bytes == 0 || bytes > 0x10000u ? 0x10000u : bytes;
}

/* Before and behind RAM, where a chip may show other memory, or the same once more. */
static void guard_memory(void) {
  uintptr_t start = (uintptr_t)edgecc_stack_start, end = (uintptr_t)edgecc_ram_end;
  if ((*system_register(0xE000ED90u) >> 8 & 0xFFu) < 2) return; /* no protection unit */
  forbid(0, start - largest_at(start), largest_at(start));
  forbid(1, end, largest_at(end));
  *system_register(0xE000ED94u) = 5; /* on, with the chip's own map elsewhere */
  __asm__ volatile("dsb\nisb" ::: "memory");
}
#else
static void guard_memory(void) {} /* the stack limit is set; no region can forbid reading */
#endif

void edgecc_start(void) {
#if HAS_FAULT_REGISTERS
  *system_register(0xE000ED24u) |= 7u << 16; /* SHCSR: memory, bus and usage faults of their own */
  *system_register(0xE000ED14u) |= 1u << 4;  /* CCR: division by zero is a fault */
#endif
  edgecc_fill_memory();
  guard_memory();
  edgecc_main();
}

#if HAS_FAULT_REGISTERS
/* Source: Armv7-M Architecture Reference Manual, B3.2.15; Armv8-M: SecureFault is 7 */
static const char *name_of(uint32_t status, uint32_t exception) {
  if (exception == 7) return "security fault";
  if (status & 1u << 25) return "division by zero";
  if (status & 1u << 24) return "unaligned access";
  if (status & 1u << 20) return "stack overflow";
  if (status & 1u << 19) return "no coprocessor (FPU or MVE)";
  if (status & 1u << 16) {
    return "illegal instruction: this CPU lacks a feature the model was compiled for";
  }
  if (status & 0x3F00u) return status & 1u << 12 ? "stack overflow" : "bus fault";
  if (status & 0x3Fu) return status & 1u << 4 ? "stack overflow" : "memory fault";
  return "hard fault";
}
#endif

void edgecc_on_trap(const uint32_t *frame, uint32_t exception) {
  uintptr_t address = 0;
  const uintptr_t *known = NULL;
  const char *what = "hard fault";
  uintptr_t stacked = (uintptr_t)frame; /* eight words that the core pushed */
  int in_stack = stacked >= (uintptr_t)edgecc_stack_start
      && stacked + 8 * sizeof *frame <= (uintptr_t)edgecc_stack_end;
#if HAS_FAULT_REGISTERS
  uint32_t status = *system_register(0xE000ED28u);
  what = name_of(status, exception);
  if (status & (1u << 15 | 1u << 7)) { /* BFAR or MMFAR holds an address */
    address = *system_register(status & 1u << 15 ? 0xE000ED38u : 0xE000ED34u);
    known = &address;
  }
#else
  (void)exception;
  (void)address;
  if (!in_stack) what = "stack overflow";
#endif
  edgecc_fault(what, known, in_stack ? frame[6] : 0);
}
