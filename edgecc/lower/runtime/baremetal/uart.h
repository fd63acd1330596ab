/* Polled drivers of UARTs; serial_board.h, made from the target, chooses one and places it. */
#ifndef EDGECC_UART_H
#define EDGECC_UART_H

#include <stdint.h>

#include "serial_board.h"

static inline volatile uint32_t *word_at(uintptr_t address) {
  return (volatile uint32_t *)address;
}

static inline volatile uint32_t *uart(uintptr_t offset) {
  return word_at((uintptr_t)EDGECC_UART_BASE + offset);
}

#define CLOCKS_PER_BIT ((EDGECC_UART_CLOCK_HZ + EDGECC_BAUD / 2) / EDGECC_BAUD)

#if defined(EDGECC_UART_CMSDK)
/* Source: Arm Cortex-M System Design Kit Technical Reference Manual (DDI 0479), APB UART */
static void uart_open(void) {
  *uart(0x10) = CLOCKS_PER_BIT;
  *uart(0x08) = 3; /* sends and receives, without interrupts */
}
static int uart_has_byte(void) { return (int)(*uart(0x04) >> 1 & 1); }
static unsigned char uart_get(void) { return (unsigned char)*uart(0x00); }
static int uart_is_full(void) { return (int)(*uart(0x04) & 1); }
static void uart_put(unsigned char byte) { *uart(0x00) = byte; }

#elif defined(EDGECC_UART_16550)
/* Source: National Semiconductor PC16550D data sheet; registers are bytes, one after the other */
static volatile uint8_t *byte_register(uintptr_t offset) {
  return (volatile uint8_t *)((uintptr_t)EDGECC_UART_BASE + offset);
}
static void uart_open(void) {
  const uint32_t divisor = (CLOCKS_PER_BIT + 8) / 16;
  *byte_register(1) = 0;    /* no interrupts */
  *byte_register(3) = 0x83; /* 8 bits; the divisor is to be seen */
  *byte_register(0) = (uint8_t)divisor;
  *byte_register(1) = (uint8_t)(divisor >> 8);
  *byte_register(3) = 3;
  *byte_register(2) = 1; /* queues */
}
static int uart_has_byte(void) { return *byte_register(5) & 1; }
static unsigned char uart_get(void) { return *byte_register(0); }
static int uart_is_full(void) { return !(*byte_register(5) & 0x20); }
static void uart_put(unsigned char byte) { *byte_register(0) = byte; }

#elif defined(EDGECC_UART_STM32F4)
/* Source: ST RM0090, 30.6: SR, DR, BRR, CR1. Reading DR after SR clears every error. */
static void uart_open(void) {
  *uart(0x0C) = 0;
  *uart(0x08) = CLOCKS_PER_BIT;
  *uart(0x0C) = 1u << 13 | 1u << 3 | 1u << 2; /* UE, TE, RE */
}
static int uart_has_byte(void) { return (*uart(0x00) & 0x28) != 0; } /* RXNE, ORE */
static unsigned char uart_get(void) { return (unsigned char)*uart(0x04); }
static int uart_is_full(void) { return !(*uart(0x00) & 0x80); } /* TXE */
static void uart_put(unsigned char byte) { *uart(0x04) = byte; }

#elif defined(EDGECC_UART_STM32H7)
/* Source: ST RM0433, 48.7: CR1, BRR, ISR, ICR, RDR, TDR */
static void uart_open(void) {
  *uart(0x00) = 0;
  *uart(0x0C) = CLOCKS_PER_BIT;
  *uart(0x00) = 1u << 3 | 1u << 2 | 1u; /* TE, RE, UE */
}
static int uart_has_byte(void) {
  *uart(0x20) = 0xF; /* overrun, noise, framing and parity errors are nothing but lost bytes */
  return (int)(*uart(0x1C) >> 5 & 1);
}
static unsigned char uart_get(void) { return (unsigned char)*uart(0x24); }
static int uart_is_full(void) { return !(*uart(0x1C) & 0x80); }
static void uart_put(unsigned char byte) { *uart(0x28) = byte; }

#elif defined(EDGECC_UART_NRF)
/* Source: nRF52840 Product Specification, UART: tasks, events, PSEL, BAUDRATE in 2^32 / 16 MHz */
static int is_sending;
static void uart_open(void) {
  const uint64_t rate = ((uint64_t)EDGECC_BAUD << 32) / EDGECC_UART_CLOCK_HZ;
  *uart(0x500) = 0;
  *uart(0x50C) = EDGECC_UART_TX_PIN;
  *uart(0x514) = EDGECC_UART_RX_PIN;
  *uart(0x524) = ((uint32_t)rate + 0x800) & 0xFFFFF000u;
  *uart(0x56C) = 0; /* 8 bits, no parity, no flow control */
  *uart(0x500) = 4;
  *uart(0x108) = 0;
  *uart(0x11C) = 0;
  *uart(0x000) = 1; /* STARTRX */
  *uart(0x008) = 1; /* STARTTX */
  is_sending = 0;
}
static int uart_has_byte(void) { return *uart(0x108) != 0; }
static unsigned char uart_get(void) {
  *uart(0x108) = 0; /* before the byte is read: the next one may be there already */
  return (unsigned char)*uart(0x518);
}
static int uart_is_full(void) { return is_sending && !*uart(0x11C); }
static void uart_put(unsigned char byte) {
  *uart(0x11C) = 0;
  is_sending = 1;
  *uart(0x51C) = byte;
}

#else
#error "serial_board.h names no UART that is known here"
#endif
#endif
