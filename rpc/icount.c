/* A QEMU TCG plug-in that counts executed guest instructions: in total, per symbol, and per call
 * that one function (the model's run function) makes, in order.
 *
 * Arguments: out=FILE (required), run=SYMBOL (optional).
 * Writes lines: "total N", "runs N", "own N" (the run function's own instructions),
 * "call I N SYMBOL" (I-th call of every run, summed over runs), "symbol N NAME".
 *
 * The declarations are ours: no package ships the header. API version 1 (QEMU 4.2 to 8.2) adds to
 * memory directly; from version 2 (QEMU 9) on counters live in scoreboards. Whichever functions
 * this QEMU lacks are null, since they are weak.
 *
 * How a call is seen: a translation block of the run function executes n instructions. If the
 * total grew by more than n by the time its next block starts, a call was made in between, and
 * what is beyond n is what the call cost. No register is read and no callee needs to be known. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
typedef struct qemu_plugin_tb block;
typedef struct qemu_plugin_insn insn;
typedef struct { struct qemu_plugin_scoreboard *score; size_t offset; } entry_u64;
typedef void (*block_executed)(unsigned vcpu, void *user);

#define WEAK __attribute__((weak))
#define EXPORT __attribute__((visibility("default")))
enum { NO_REGISTERS = 0, ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, block *));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
void qemu_plugin_register_vcpu_tb_exec_cb(block *, block_executed, int flags, void *user);
size_t qemu_plugin_tb_n_insns(const block *);
insn *qemu_plugin_tb_get_insn(const block *, size_t);
uint64_t qemu_plugin_tb_vaddr(const block *);
const char *qemu_plugin_insn_symbol(const insn *);
WEAK void qemu_plugin_register_vcpu_tb_exec_inline(block *, int op, void *, uint64_t);
WEAK void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block *, int op, entry_u64, uint64_t);
WEAK struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t);
WEAK uint64_t qemu_plugin_u64_sum(entry_u64);

EXPORT int qemu_plugin_version = 1;

enum { SYMBOLS = 4096, CALLS = 4096, TOTAL = SYMBOLS };

typedef struct {
    const char *name; /* ours, interned */
    uint64_t entry;   /* address of the first block seen: a function is entered at its start */
} symbol;

static symbol symbols[SYMBOLS];
static size_t symbol_count;
static uint64_t counters[SYMBOLS + 1]; /* API 1 */
static struct qemu_plugin_scoreboard *scores; /* API 2: the same array, per virtual CPU */

static const char *out_path, *run_symbol;
static uint64_t runs, calls[CALLS];
static const char *callees[CALLS];
static size_t at_call, call_count;
static uint64_t block_start, block_size; /* of the run function's last block */
static int running;
static const char *callee;

typedef struct { uint64_t size; int is_entry; } run_block;

static entry_u64 slot(size_t index) {
    return (entry_u64){scores, index * sizeof(uint64_t)};
}

static uint64_t value(size_t index) {
    return scores ? qemu_plugin_u64_sum(slot(index)) : counters[index];
}

static void count(block *tb, size_t index, uint64_t amount) {
    if (scores) qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, ADD_U64, slot(index), amount);
    else qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &counters[index], amount);
}

/* The index of a symbol; the last one collects all that find no room. */
static size_t find(const char *name, uint64_t address) {
    if (!name || !*name) name = "?";
    for (size_t i = 0; i < symbol_count; i++)
        if (!strcmp(symbols[i].name, name)) return i;
    if (symbol_count == SYMBOLS) return SYMBOLS - 1;
    symbols[symbol_count] = (symbol){strdup(name), address};
    return symbol_count++;
}

/* A block of the run function starts: a call may have returned. */
static void run_block_starts(unsigned vcpu, void *user) {
    (void)vcpu;
    const run_block *self = user;
    uint64_t now = value(TOTAL);
    if (self->is_entry) {
        runs++;
        at_call = 0;
    } else if (running && now > block_start + block_size && at_call < CALLS) {
        calls[at_call] += now - block_start - block_size;
        callees[at_call] = callee;
        if (++at_call > call_count) call_count = at_call;
    }
    running = 1;
    block_start = now;
    block_size = self->size;
    callee = NULL;
}

/* A function is entered: the first one after a block of the run function is what it called. */
static void function_starts(unsigned vcpu, void *user) {
    (void)vcpu;
    if (!callee) callee = ((const symbol *)user)->name;
}

static void watch(block *tb, size_t index, size_t size) {
    const symbol *own = &symbols[index];
    int is_entry = own->entry == qemu_plugin_tb_vaddr(tb);
    if (!strcmp(own->name, run_symbol)) {
        run_block *user = malloc(sizeof *user);
        *user = (run_block){size, is_entry};
        qemu_plugin_register_vcpu_tb_exec_cb(tb, run_block_starts, NO_REGISTERS, user);
    } else if (is_entry) {
        qemu_plugin_register_vcpu_tb_exec_cb(tb, function_starts, NO_REGISTERS, (void *)own);
    }
}

static void translated(plugin_id id, block *tb) {
    (void)id;
    size_t size = qemu_plugin_tb_n_insns(tb), start = 0;
    size_t first = find(qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0)),
                        qemu_plugin_tb_vaddr(tb));
    if (run_symbol) watch(tb, first, size); /* before counting: sees the total without this block */
    for (size_t i = 1, current = first; i <= size; i++) {
        size_t next = current;
        if (i < size) next = find(qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, i)), 0);
        if (i < size && next == current) continue;
        count(tb, current, i - start);
        start = i;
        current = next;
    }
    count(tb, TOTAL, size);
}

static void finished(plugin_id id, void *user) {
    (void)id; (void)user;
    FILE *out = fopen(out_path, "w");
    if (!out) return;
    uint64_t own = 0;
    for (size_t i = 0; i < symbol_count; i++)
        if (run_symbol && !strcmp(symbols[i].name, run_symbol)) own = value(i);
    fprintf(out, "total %llu\nruns %llu\nown %llu\n", (unsigned long long)value(TOTAL),
            (unsigned long long)runs, (unsigned long long)own);
    for (size_t i = 0; i < call_count; i++)
        fprintf(out, "call %zu %llu %s\n", i, (unsigned long long)calls[i],
                callees[i] ? callees[i] : "?");
    for (size_t i = 0; i < symbol_count; i++)
        if (value(i)) fprintf(out, "symbol %llu %s\n", (unsigned long long)value(i),
                              symbols[i].name);
    fclose(out);
}

__attribute__((constructor)) static void choose_version(void) {
    if (qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu) qemu_plugin_version = 2;
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "out=", 4)) out_path = strdup(argv[i] + 4);
        if (!strncmp(argv[i], "run=", 4)) run_symbol = strdup(argv[i] + 4);
    }
    if (!out_path) return 1;
    if (qemu_plugin_version > 1)
        scores = qemu_plugin_scoreboard_new((SYMBOLS + 1) * sizeof(uint64_t));
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
