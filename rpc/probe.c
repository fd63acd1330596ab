/* Prints what this machine is, as one line of JSON. Freestanding: no libc, no start files, so it
 * is a few KB, compiles in a moment and runs on any Linux of its architecture.
 *
 * Argument (optional): the path of a loader; tells whether there is one. */
typedef unsigned long word;
typedef unsigned char byte;

#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
enum { SYS_read = 0, SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_exit = 60, SYS_uname = 63,
       SYS_affinity = 204 };
#define START "mov %rsp, %rdi\nand $-16, %rsp\ncall probe_main\n"
#define ELF_MACHINE 62
#define TRIPLES "x86_64-linux-gnu"
static long call4(long n, long a, long b, long c, long d) {
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
enum { SYS_open = 56, SYS_close = 57, SYS_read = 63, SYS_write = 64, SYS_exit = 93,
       SYS_affinity = 123, SYS_uname = 160 };
#define START "mov x0, sp\nbl probe_main\n"
#define ELF_MACHINE 183
#define TRIPLES "aarch64-linux-gnu"
static long call4(long n, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE "riscv64"
enum { SYS_open = 56, SYS_close = 57, SYS_read = 63, SYS_write = 64, SYS_exit = 93,
       SYS_affinity = 123, SYS_uname = 160, SYS_hwprobe = 258 };
#define START "mv a0, sp\nandi sp, sp, -16\ncall probe_main\n"
#define ELF_MACHINE 243
#define TRIPLES "riscv64-linux-gnu"
static long call4(long n, long a, long b, long c, long d) {
    register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c, a3 __asm__("a3") = d, a4 __asm__("a4") = 0;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4) : "memory");
    return a0;
}
#elif defined(__arm__)
#define ARCHITECTURE "armv7l"
enum { SYS_exit = 1, SYS_read = 3, SYS_write = 4, SYS_open = 5, SYS_close = 6, SYS_uname = 122,
       SYS_affinity = 242 };
#define START "mov r0, sp\nbic sp, sp, #7\nbl probe_main\n"
#define ELF_MACHINE 40
#define TRIPLES "arm-linux-gnueabihf", "arm-linux-gnueabi"
static long call4(long n, long a, long b, long c, long d) {
    register long r7 __asm__("r7") = n, r0 __asm__("r0") = a, r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c, r3 __asm__("r3") = d;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3) : "memory");
    return r0;
}
#else
#error "the probe knows no system calls of this architecture"
#endif

__asm__(".globl _start\n_start:\n" START);

/* The compiler may call these for its own loops and copies. */
void *memset(void *to, int value, word count) {
    for (volatile byte *p = to; count--; p++) *p = (byte)value;
    return to;
}

static char out[4096];
static word used;

static void put(const char *text) {
    while (*text && used < sizeof out) out[used++] = *text++;
}

static void put_number(long value) {
    char digits[24];
    int at = sizeof digits;
    digits[--at] = 0;
    word left = value < 0 ? (word)-value : (word)value;
    do digits[--at] = (char)('0' + left % 10); while (left /= 10);
    if (value < 0) digits[--at] = '-';
    put(digits + at);
}

static void put_string(const char *text) {
    put("\"");
    for (char one[2] = {0, 0}; *text; text++)
        if (*text >= ' ' && *text < 127 && *text != '"' && *text != '\\') {
            one[0] = *text;
            put(one);
        }
    put("\"");
}

static void put_key(const char *key) {
    if (used > 1) put(", ");
    put_string(key);
    put(": ");
}

/* The three texts one after the other; what finds no room is left out. */
static void join(char *to, word room, const char *a, const char *b, const char *c) {
    const char *parts[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        for (const char *p = parts[i]; *p && room > 1; room--) *to++ = *p++;
    *to = 0;
}

static long open_file(const char *path) {
#if defined(__x86_64__) || defined(__arm__)
    return call4(SYS_open, (long)path, 0, 0, 0);
#else
    enum { AT_FDCWD_ = -100 };
    return call4(SYS_open, AT_FDCWD_, (long)path, 0, 0);
#endif
}

/* The first line of a file, or NULL. */
static char *read_line(const char *path) {
    static char line[256];
    long file = open_file(path);
    if (file < 0) return 0;
    long count = call4(SYS_read, file, (long)line, sizeof line - 1, 0);
    call4(SYS_close, file, 0, 0, 0);
    if (count <= 0) return 0;
    line[count] = 0;
    for (char *p = line; *p; p++) if (*p == '\n') *p = 0;
    return line;
}

static struct { long file, held, at; byte part[4096]; } in;

/* The file's next byte, or -1 at its end. */
static int next_byte(void) {
    if (in.at == in.held) {
        in.at = 0;
        in.held = call4(SYS_read, in.file, (long)in.part, sizeof in.part, 0);
        if (in.held <= 0) return in.held = 0, -1;
    }
    return in.part[in.at++];
}

/* The release that a glibc names in its banner ("... release version 2.36."), or NULL for a file
 * that is none, or one for another machine. */
static char *glibc_release(const char *path) {
    static const char banner[] = "release version ";
    static char release[16];
    word matched = 0, length = 0;
    in.file = open_file(path);
    in.held = in.at = 0;
    if (in.file < 0) return 0;
    for (int at = 0, c; !length && (c = next_byte()) >= 0; at++) {
        if (at == 18 && c != ELF_MACHINE) break;
        matched = c == banner[matched] ? matched + 1 : c == banner[0];
        if (matched < sizeof banner - 1) continue;
        while (length < sizeof release - 1 && ((c = next_byte()) == '.' || (c >= '0' && c <= '9')))
            release[length++] = (char)c;
        matched = 0;
    }
    call4(SYS_close, in.file, 0, 0, 0);
    if (length && release[length - 1] == '.') length--; /* the end of the sentence */
    release[length] = 0;
    return length ? release : 0;
}

/* Where distributions keep libc.so.6: Debian's folders by triple, then the others'. */
static void report_glibc(void) {
    static const char *const roots[] = {"/lib/", "/usr/lib/"}, *const triples[] = {TRIPLES};
    static const char *const plain[] = {
        "/lib64/libc.so.6", "/lib64/lp64d/libc.so.6", "/lib/libc.so.6", "/usr/lib64/libc.so.6",
        "/usr/lib64/lp64d/libc.so.6", "/usr/lib/libc.so.6"};
    char path[64], *found = 0;
    for (word r = 0; r < 2; r++)
        for (word t = 0; !found && t < sizeof triples / sizeof *triples; t++) {
            join(path, sizeof path, roots[r], triples[t], "/libc.so.6");
            found = glibc_release(path);
        }
    for (word i = 0; !found && i < sizeof plain / sizeof *plain; i++)
        found = glibc_release(plain[i]);
    if (found) { put_key("glibc"); put_string(found); }
}

static void report_loader(const char *path) {
    long file = open_file(path);
    put_key("loader");
    put(file < 0 ? "false" : "true");
    if (file >= 0) call4(SYS_close, file, 0, 0, 0);
}

static void report_text(const char *key, const char *path) {
    char *line = read_line(path);
    if (line) { put_key(key); put_string(line); }
}

static void report_number(const char *key, const char *path) {
    char *line = read_line(path);
    if (!line || *line < '0' || *line > '9') return;
    long value = 0;
    for (; *line >= '0' && *line <= '9'; line++) value = value * 10 + (*line - '0');
    put_key(key);
    put_number(value);
}

static int listed;
static void feature(const char *name, word present) {
    if (!present) return;
    if (listed++) put(", ");
    put_string(name);
}

#if defined(__x86_64__)
static void cpuid(unsigned leaf, unsigned sub, unsigned *r) {
    __asm__("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(sub));
}

/* A vector feature counts only if the kernel saves its registers (XCR0). */
static void features(word hwcap, word hwcap2) {
    (void)hwcap; (void)hwcap2;
    unsigned one[4], seven[4] = {0, 0, 0, 0}, seven1[4] = {0, 0, 0, 0}, top[4], low = 0, high;
    cpuid(0, 0, top);
    cpuid(1, 0, one);
    if (top[0] >= 7) cpuid(7, 0, seven);
    if (top[0] >= 7 && seven[0] >= 1) cpuid(7, 1, seven1);
    if (one[2] >> 27 & 1) __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    word avx = (low & 6) == 6, avx512 = (low & 0xe6) == 0xe6;
    feature("avx2", avx && seven[1] >> 5 & 1);
    feature("fma", avx && one[2] >> 12 & 1);
    feature("f16c", avx && one[2] >> 29 & 1);
    feature("avxvnni", avx && seven1[0] >> 4 & 1);
    feature("avx512f", avx512 && seven[1] >> 16 & 1);
    feature("avx512dq", avx512 && seven[1] >> 17 & 1);
    feature("avx512bw", avx512 && seven[1] >> 30 & 1);
    feature("avx512vl", avx512 && seven[1] >> 31 & 1);
    feature("avx512vnni", avx512 && seven[2] >> 11 & 1);
}
#elif defined(__aarch64__)
/* Bits: Linux, Documentation/arch/arm64/elf_hwcaps and arch/arm64/include/uapi/asm/hwcap.h. */
static void features(word hwcap, word hwcap2) {
    feature("neon", hwcap >> 1 & 1);
    feature("fma", hwcap >> 1 & 1);
    feature("fp16", hwcap >> 10 & 1);
    feature("dotprod", hwcap >> 20 & 1);
    feature("sve", hwcap >> 22 & 1);
    feature("sve2", hwcap2 >> 1 & 1);
    feature("i8mm", hwcap2 >> 13 & 1);
    feature("bf16", hwcap2 >> 14 & 1);
}
#elif defined(__arm__)
/* Bits: Linux, arch/arm/include/uapi/asm/hwcap.h. */
static void features(word hwcap, word hwcap2) {
    (void)hwcap2;
    word vfp = hwcap >> 6 & 1, neon = hwcap >> 12 & 1, vfpv4 = hwcap >> 16 & 1;
    feature("vfp", vfp);
    feature("armv7-neon", neon && vfpv4);
}
#else
/* Whether a file names an extension, "_zfh" for one, and not only longer ones ("_zfhmin"). */
static word names(const char *path, const char *extension) {
    word at = 0, found = 0;
    in.file = open_file(path);
    in.held = in.at = 0;
    if (in.file < 0) return 0;
    for (int c; !found && (c = next_byte()) >= 0;) {
        found = !extension[at] && !(c >= 'a' && c <= 'z');
        at = extension[at] == c ? at + 1 : extension[0] == c;
    }
    call4(SYS_close, in.file, 0, 0, 0);
    return found;
}

/* Zfh and Zvfh: bits 27 and 30 of key 4. Source: Linux, Documentation/arch/riscv/hwprobe.rst.
 * Kernels before 6.8 do not tell, or only in /proc/cpuinfo. */
static word float16_arithmetic(void) {
    struct { long key; word value; } pair = {4, 0};
    word both = (word)1 << 27 | (word)1 << 30;
    long failed = call4(SYS_hwprobe, (long)&pair, 1, 0, 0);
    if (!failed && (pair.value & both) == both) return 1;
    return names("/proc/cpuinfo", "_zfh") && names("/proc/cpuinfo", "_zvfh");
}

/* Bits: one per letter of the base ISA string. The vector registers' bytes are CSR vlenb. */
static void features(word hwcap, word hwcap2) {
    (void)hwcap2;
    static const char letters[] = "imafdc";
    word all = 1, bytes = 0;
    for (const char *p = letters; *p; p++) all &= hwcap >> (*p - 'a');
    for (const char *p = letters; *p && !all; p++) {
        char name[2] = {*p, 0};
        feature(name, hwcap >> (*p - 'a') & 1);
    }
    feature("rv64gc", all);
    if (hwcap >> ('v' - 'a') & 1) __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes));
    feature("rvv128", bytes >= 16);
    feature("rvv256", bytes >= 32);
    feature("rvv512", bytes >= 64);
    feature("zvfh", bytes >= 16 && float16_arithmetic());
}
#endif

static long cores(void) {
    static byte mask[1024];
    long bytes = call4(SYS_affinity, 0, sizeof mask, (long)mask, 0), count = 0;
    for (long i = 0; i < bytes; i++)
        for (int bit = 0; bit < 8; bit++) count += mask[i] >> bit & 1;
    return count;
}

__attribute__((noreturn, used)) void probe_main(word *stack) {
    static char system[6][65];
    word hwcap = 0, hwcap2 = 0, *at = stack + 1 + stack[0] + 1;
    while (*at) at++; /* past the environment */
    for (at++; at[0]; at += 2) {
        if (at[0] == 16) hwcap = at[1];
        if (at[0] == 26) hwcap2 = at[1];
    }
    put("{");
    put_key("architecture"); put_string(ARCHITECTURE);
    put_key("features"); put("["); features(hwcap, hwcap2); put("]");
    put_key("cores"); put_number(cores());
    report_glibc();
    if (stack[0] > 1) report_loader((const char *)stack[2]);
    if (call4(SYS_uname, (long)system, 0, 0, 0) == 0) { put_key("kernel"); put_string(system[2]); }
#define CPU0 "/sys/devices/system/cpu/cpu0/cpufreq/"
    report_text("governor", CPU0 "scaling_governor");
    report_number("clock_khz", CPU0 "scaling_cur_freq");
    report_number("max_clock_khz", CPU0 "cpuinfo_max_freq");
    report_number("temperature_millicelsius", "/sys/class/thermal/thermal_zone0/temp");
    report_text("throttled", "/sys/devices/platform/soc/soc:firmware/get_throttled");
    put("}\n");
    call4(SYS_write, 1, (long)out, (long)used, 0);
    for (;;) call4(SYS_exit, 0, 0, 0, 0);
}
