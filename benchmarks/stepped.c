/* Counts the instructions of functions of a program by executing it one at a time: exact, and of
 * this machine's own instructions, which QEMU may not know.
 *
 * stepped PROGRAM ARGUMENT REQUESTS [NAME START END]...: runs `PROGRAM ARGUMENT` with the file
 * REQUESTS as its input. Addresses are hexadecimal, of the file. What executes outside of all
 * ranges counts for the function entered last, as a call of its does. The range called "-" is the
 * function whose first call is followed; it counts for none. AVX-VNNI's VPDPBUSD is counted and
 * stepped over where the machine has none: no branch depends on what it computes. Writes lines
 * "NAME INSTRUCTIONS". Exit codes: 2 usage, 3 no tracing here, 4 the program failed. Linux,
 * x86-64. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct { const char *name; unsigned long start, end, count; } function;

static int child(char **argv) {
    int requests = open(argv[3], O_RDONLY), answers = open("/dev/null", O_WRONLY);
    if (requests < 0 || answers < 0 || dup2(requests, 0) < 0 || dup2(answers, 1) < 0) return 2;
    personality(ADDR_NO_RANDOMIZE);
    if (ptrace(PTRACE_TRACEME, 0, 0, 0)) return 3;
    execl(argv[1], argv[1], argv[2], (char *)0);
    return 4;
}

/* Where a position independent program lies; 0 for others. */
static unsigned long base_of(pid_t pid, const char *path) {
    Elf64_Ehdr header = {0};
    FILE *file = fopen(path, "rb");
    if (!file || fread(&header, sizeof header, 1, file) != 1) exit(2);
    fclose(file);
    if (header.e_type != ET_DYN) return 0;
    char name[64];
    unsigned long base = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    file = fopen(name, "r");
    if (!file || fscanf(file, "%lx", &base) != 1) exit(3);
    fclose(file);
    return base;
}

static function *entered(function *all, int n, unsigned long at, function *now) {
    if (now && at >= now->start && at < now->end) return now;
    for (int i = 0; i < n; i++)
        if (at >= all[i].start && at < all[i].end) return &all[i];
    return now;
}

/* Lets the program run until it calls the function at `at`. */
static int run_to(pid_t pid, unsigned long at) {
    struct user_regs_struct registers;
    int status;
    long code = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
    if (ptrace(PTRACE_POKETEXT, pid, at, (code & ~0xffL) | 0xcc)) return 3; /* INT3 */
    if (ptrace(PTRACE_CONT, pid, 0, 0) || waitpid(pid, &status, 0) < 0) return 3;
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) return 4;
    if (ptrace(PTRACE_POKETEXT, pid, at, code)) return 3;
    if (ptrace(PTRACE_GETREGS, pid, 0, &registers)) return 3;
    registers.rip = at;
    return ptrace(PTRACE_SETREGS, pid, 0, &registers) ? 3 : 0;
}

/* Bytes of the VPDPBUSD at `at` in VEX's encoding of three bytes; 0 if there is another. */
static unsigned vpdpbusd(pid_t pid, unsigned long at) {
    unsigned char code[8];
    long word = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
    memcpy(code, &word, sizeof code);
    unsigned mode = code[4] >> 6, place = code[4] & 7, base = code[5] & 7;
    if (code[0] != 0xc4 || (code[1] & 31) != 2 || (code[2] & 0x83) != 1 || code[3] != 0x50)
        return 0;
    if (mode == 3) return 5; /* registers only */
    if (mode == 0 && (place == 5 || (place == 4 && base == 5))) mode = 2; /* no base: 32 bits */
    return 5 + (place == 4) + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

/* Executes one instruction, or steps over it. */
static int step(pid_t pid, struct user_regs_struct *registers) {
    int status;
    if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) < 0) return 3;
    if (!WIFSTOPPED(status)) return 4;
    if (ptrace(PTRACE_GETREGS, pid, 0, registers)) return 3;
    if (WSTOPSIG(status) == SIGTRAP) return 0;
    unsigned length = WSTOPSIG(status) == SIGILL ? vpdpbusd(pid, registers->rip) : 0;
    if (!length) return 4;
    registers->rip += length;
    return ptrace(PTRACE_SETREGS, pid, 0, registers) ? 3 : 0;
}

/* One call of the run function: until what it was called with is off the stack. */
static int follow(pid_t pid, function *all, int n, unsigned long base) {
    struct user_regs_struct registers;
    function *now = 0;
    int result;
    if (ptrace(PTRACE_GETREGS, pid, 0, &registers)) return 3;
    for (unsigned long top = registers.rsp; registers.rsp <= top;) {
        now = entered(all, n, registers.rip - base, now);
        if (now) now->count++;
        if ((result = step(pid, &registers))) return result;
    }
    return 0;
}

int main(int argc, char **argv) {
    int n = (argc - 4) / 3, status;
    if (argc < 7 || (argc - 4) % 3) return 2;
    function *all = calloc(n, sizeof *all);
    for (int i = 0; i < n; i++)
        all[i] = (function){argv[4 + 3 * i], strtoul(argv[5 + 3 * i], 0, 16),
                            strtoul(argv[6 + 3 * i], 0, 16), 0};
    pid_t pid = fork();
    if (pid == 0) _exit(child(argv));
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) return 3;
    unsigned long base = base_of(pid, argv[1]);
    int result = 2;
    for (int i = 0; i < n; i++)
        if (!strcmp(all[i].name, "-")) result = run_to(pid, base + all[i].start);
    if (!result) result = follow(pid, all, n, base);
    kill(pid, SIGKILL);
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, "-") && !result) printf("%s %lu\n", all[i].name, all[i].count);
    return result;
}
