/* A QEMU TCG plug-in that weighs executed RISC-V vector instructions by the registers they work on.
 * Argument: out=FILE. Writes lines "NAME FIGURE":
 *
 *   total            instructions
 *   vector           vector instructions among them (vset* are not: they touch no register group)
 *   vtype_eighths    eighths of registers beyond one, summed over vector instructions, by the LMUL
 *                    of the vtype in force; fractions of a register count as one
 *   widest_eighths   the same by the effective LMUL of the instruction's widest operand: vwmacc on
 *                    groups of two counts 4, vle8 at SEW 16 and LMUL 2 counts 1
 *   unknown          vector instructions under a vtype from a register (vsetvl): not weighed
 *
 * A translated block is executed under whatever vtype is in force, so the weighing is done as it
 * runs: its vector instructions are kept, and every vset* among them is followed. One vCPU.
 * Encodings: RISC-V "V" Vector Extension, version 1.0, chapters 5, 6, 7 and 10 to 16. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
typedef struct qemu_plugin_tb block;
typedef struct qemu_plugin_insn insn;
typedef void (*block_executed)(unsigned vcpu, void *user);

#define EXPORT __attribute__((visibility("default")))
enum { NO_REGISTERS = 0, UNIT = 8 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, block *));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
void qemu_plugin_register_vcpu_tb_exec_cb(block *, block_executed, int flags, void *user);
size_t qemu_plugin_tb_n_insns(const block *);
insn *qemu_plugin_tb_get_insn(const block *, size_t);
size_t qemu_plugin_insn_size(const insn *);
const void *qemu_plugin_insn_data(const insn *); /* bytes, API 1 and 2 */

EXPORT int qemu_plugin_version = 1;

typedef struct { size_t size, count; uint32_t words[]; } vectors;

static const char *out_path;
static uint64_t total, vector, extra_vtype, extra_widest, unknown;
static unsigned lmul_eighths, sew_bits; /* of the vtype in force; 0: not known */

static unsigned bits(uint32_t word, int high, int low) {
    return (word >> low) & ((1u << (high - low + 1)) - 1);
}

static int is_load_store(uint32_t word) {
    unsigned opcode = bits(word, 6, 0), width = bits(word, 14, 12);
    return (opcode == 0x07 || opcode == 0x27) && (width == 0 || width >= 5);
}

static int is_vset(uint32_t word) {
    return bits(word, 6, 0) == 0x57 && bits(word, 14, 12) == 7;
}

static int is_vector(uint32_t word) {
    return bits(word, 6, 0) == 0x57 || is_load_store(word);
}

static void follow_vset(uint32_t word) {
    if (bits(word, 31, 25) == 0x40) { /* vsetvl */
        lmul_eighths = sew_bits = 0;
        return;
    }
    static const unsigned groups[8] = {8, 16, 32, 64, 0, 1, 2, 4};
    lmul_eighths = groups[bits(word, 22, 20)];
    sew_bits = 8u << bits(word, 25, 23);
}

/* Effective eighths of a load's or store's data, or of its indices where they are wider. */
static unsigned memory_eighths(uint32_t word) {
    static const unsigned element[8] = {8, 0, 0, 0, 0, 16, 32, 64};
    unsigned own = element[bits(word, 14, 12)] * lmul_eighths / sew_bits;
    unsigned fields = bits(word, 31, 29) + 1, kind = bits(word, 27, 26);
    if (kind == 1 || kind == 3) /* indexed: data have SEW */
        return own > lmul_eighths * fields ? own : lmul_eighths * fields;
    if (kind == 0 && bits(word, 24, 20) == 0x0b) return UNIT; /* a mask */
    return own * fields;
}

/* Registers that whole-register moves, loads and stores name themselves; 0 for all others. */
static unsigned whole_registers(uint32_t word) {
    if (is_load_store(word))
        return bits(word, 27, 26) == 0 && bits(word, 24, 20) == 8 ? bits(word, 31, 29) + 1 : 0;
    int move = bits(word, 31, 26) == 0x27 && bits(word, 14, 12) == 3;
    return move ? bits(word, 19, 15) + 1 : 0;
}

static unsigned widest_eighths(uint32_t word) {
    unsigned function = bits(word, 31, 26), form = bits(word, 14, 12), own = lmul_eighths;
    int integer = form == 0 || form == 3 || form == 4, multiply = form == 2 || form == 6;
    if (is_load_store(word)) return memory_eighths(word);
    if (integer) {
        int narrows = function >= 0x2c && function <= 0x2f;
        if (form == 0 && function == 0x0e && sew_bits == 8) return 2 * own; /* vrgatherei16 */
        return narrows ? 2 * own : own;
    }
    if (function == 0x10) return UNIT;                                   /* one element, a mask */
    if (form == 2 && function >= 0x18 && function <= 0x1f) return UNIT; /* masks */
    if (!multiply && function == 0x12) return bits(word, 19, 15) >= 8 ? 2 * own : own;
    if (!multiply && (function == 0x31 || function == 0x33)) return own; /* widening sums */
    return function >= 0x30 ? 2 * own : own;
}

static unsigned beyond_one(unsigned eighths) {
    return eighths > UNIT ? eighths - UNIT : 0;
}

static void weigh(uint32_t word) {
    vector++;
    unsigned whole = whole_registers(word);
    if (whole) {
        extra_vtype += beyond_one(whole * UNIT);
        extra_widest += beyond_one(whole * UNIT);
    } else if (lmul_eighths && sew_bits) {
        extra_vtype += beyond_one(lmul_eighths);
        extra_widest += beyond_one(widest_eighths(word));
    } else {
        unknown++;
    }
}

static void executed(unsigned vcpu, void *user) {
    (void)vcpu;
    const vectors *self = user;
    total += self->size;
    for (size_t i = 0; i < self->count; i++) {
        if (is_vset(self->words[i])) follow_vset(self->words[i]);
        else weigh(self->words[i]);
    }
}

static void translated(plugin_id id, block *tb) {
    (void)id;
    size_t size = qemu_plugin_tb_n_insns(tb);
    vectors *kept = malloc(sizeof *kept + size * sizeof(uint32_t));
    kept->size = size;
    kept->count = 0;
    for (size_t i = 0; i < size; i++) {
        const insn *each = qemu_plugin_tb_get_insn(tb, i);
        uint32_t word = 0;
        if (qemu_plugin_insn_size(each) != sizeof word) continue;
        memcpy(&word, qemu_plugin_insn_data(each), sizeof word);
        if (is_vector(word)) kept->words[kept->count++] = word;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, NO_REGISTERS, kept);
}

static void finished(plugin_id id, void *user) {
    (void)id; (void)user;
    FILE *out = fopen(out_path, "w");
    if (!out) return;
    fprintf(out, "total %llu\nvector %llu\nvtype_eighths %llu\nwidest_eighths %llu\nunknown %llu\n",
            (unsigned long long)total, (unsigned long long)vector,
            (unsigned long long)extra_vtype, (unsigned long long)extra_widest,
            (unsigned long long)unknown);
    fclose(out);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "out=", 4)) out_path = strdup(argv[i] + 4);
    if (!out_path) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
