"""Several threads in the C API as text: what header, run function and pool say of them.

A model for one thread has none of it. Otherwise a shared step is a function over [begin, end),
which the pool of `runtime/pool.c.in`, or one that the application hands in, calls in parts.
"""

from __future__ import annotations

from pathlib import Path

from edgecc.lower import c_text
from edgecc.lower.api_facts import Facts
from edgecc.lower.objects import Argument, Call

POOL_ALIGN = 64
API = ("pool_start", "pool_stop", "attach_pool", "set_parallel_for")
FROM_LIBC = {"pthread_create", "pthread_join", "syscall"}  # what the pool calls
_POOL = Path(__file__).parent / "runtime" / "pool.c.in"
_LINES, _SEAT_BYTES = 4, 24  # of struct pool, checked by the C compiler


def sizes(facts: Facts) -> list[tuple[str, int]]:
    """Macros of the header."""
    if facts.threads == 1:
        return [("THREADS", 1)]
    seats = -(-_SEAT_BYTES * facts.threads // POOL_ALIGN)
    return [("THREADS", facts.threads), ("POOL_BYTES", POOL_ALIGN * (_LINES + seats)),
            ("POOL_ALIGN", POOL_ALIGN)]


def types(facts: Facts) -> str:
    """Types that all models of a program share, in a guard of their own: a header of ABI 1.0
    does not have them."""
    return """
#ifndef EDGECC_PARALLEL_FOR
#define EDGECC_PARALLEL_FOR
#ifdef __cplusplus
extern "C" {
#endif
/* Computes [begin, end) of a step. `worker` says whose scratch it uses. */
typedef void (*edgecc_body)(void *arg, int32_t begin, int32_t end, int32_t worker);
/* Calls body(arg, begin, end, worker) for parts that cover [0, extent) once, on any threads and in
   any order, and returns when all have returned. `worker` is from 0 to <MODEL>_THREADS - 1, and
   never the same for two calls at the same time. */
typedef void (*edgecc_parallel_for)(void *user, edgecc_body body, void *arg, int32_t extent);
#ifdef __cplusplus
}
#endif
#endif
""" if facts.threads > 1 else ""


def context_fields(facts: Facts) -> str:
    return "  edgecc_parallel_for parallel;\n  void *parallel_user;\n" if facts.threads > 1 else ""


def declarations(facts: Facts) -> str:
    """The functions of the header."""
    if facts.threads == 1:
        return ""
    p, upper = facts.prefix, facts.upper
    return f"""
/* Without a pool the calling thread computes alone; the results are the same.

   Starts {upper}_THREADS - 1 threads in memory of {upper}_POOL_BYTES bytes, aligned to
   {upper}_POOL_ALIGN, which must outlive them. Worker i runs on cpus[i % cpu_count]; with
   cpu_count 0 all run anywhere. Worker 0 is the thread that calls {p}_run: it is not moved.
   Contexts may share a pool: one that finds it busy computes alone. Threads block all signals,
   and do not survive fork. Needs pthread_create, pthread_join and syscall of the libc. */
int {p}_pool_start(void *pool, size_t pool_bytes, const int32_t *cpus, int32_t cpu_count);
/* Ends the threads. No context may be running; detach those that will run again. */
void {p}_pool_stop(void *pool);
/* NULL detaches. A pool of another model fits if it has no more than {upper}_THREADS threads. */
int {p}_attach_pool({p}_context *context, void *pool);
/* The application's own pool instead. NULL detaches. */
int {p}_set_parallel_for({p}_context *context, edgecc_parallel_for parallel_for, void *user);
"""


def init_lines(facts: Facts) -> str:
    if facts.threads == 1:
        return ""
    return "  context->parallel = NULL;\n  context->parallel_user = NULL;\n"


def error_cases(facts: Facts) -> str:
    """Cases of `<p>_error`."""
    upper = facts.upper
    return f"""\
    case 6: return "pool too small or misaligned: see {upper}_POOL_BYTES, {upper}_POOL_ALIGN";
    case 7: return "a thread could not be started";
    case 8: return "a cpu of the list does not exist or is not allowed";
    case 9: return "not a started pool, or one of more threads than {upper}_THREADS";
""" if facts.threads > 1 else ""


def setter(facts: Facts) -> str:
    """Definition of `<p>_set_parallel_for`."""
    p = facts.prefix
    return f"""
int {p}_set_parallel_for({p}_context *context, edgecc_parallel_for parallel_for, void *user) {{
  if (context == NULL) return 1;
  context->parallel = parallel_for;
  context->parallel_user = user;
  return 0;
}}
""" if facts.threads > 1 else ""


def body(facts: Facts, call: Call, name: str) -> str:
    """The function `name` that computes a part of a shared step."""
    bases = {a.base for a in call.arguments}
    lines = [f"  const {facts.prefix}_context *context = (const {facts.prefix}_context *)arg;"]
    if "arena" in bases:
        lines.append("  unsigned char *arena = (unsigned char *)context->arena;")
    if "weights" in bases:
        lines.append("  const unsigned char *weights = (const unsigned char *)context->weights;")
    lines += [] if bases & {"arena", "weights"} else ["  (void)context;"]
    if not any(a.stride_bytes for a in call.arguments):
        lines.append("  (void)worker;")
    pointers = ", ".join(pointer(a, "worker") for a in call.arguments)
    return "\n".join([
        c_text.comment(call.step), f"/* about {call.cost} instructions */",
        f"static void {name}(void *arg, int32_t begin, int32_t end, int32_t worker) {{", *lines,
        f"  {call.symbol}({pointers}, NULL, begin, end);", "}", "", ""])


def pointer(argument: Argument, worker: str | None = None) -> str:
    """An argument of a call; that of `worker` where each thread has one of its own."""
    if argument.base == "null":
        return "NULL"
    own = f" + (size_t){worker} * {argument.stride_bytes}u" if (
        worker and argument.stride_bytes) else ""
    return f"{argument.base} + {argument.offset_bytes}{own}"


def shared_call(call: Call, name: str, alone: str) -> str:
    """The pool's turn where there is one, else the call `alone`."""
    return (f"if (context->parallel != NULL) {{\n"
            f"    context->parallel(context->parallel_user, {name}, context, {call.extent});\n"
            f"  }} else {{\n    {alone}\n  }}")


def glue(facts: Facts) -> str:
    """Functions that give the runner a pool."""
    p, upper = facts.prefix, facts.upper
    return f"""
static unsigned char pool[{upper}_POOL_BYTES] __attribute__((aligned({upper}_POOL_ALIGN)));

static void stop_threads(void) {{
  {p}_attach_pool(&context, NULL);
  {p}_pool_stop(pool);
}}

static int start_threads(const int32_t *cpus, int32_t cpu_count) {{
  int code = {p}_pool_start(pool, sizeof pool, cpus, cpu_count);
  return code ? code : {p}_attach_pool(&context, pool);
}}
""" if facts.threads > 1 else ""


def pool_source(facts: Facts) -> str:
    """Text of `src/<prefix>_pool.c`."""
    text = _POOL.read_text(encoding="utf-8")
    return text.replace("@PREFIX@", facts.prefix).replace("@UPPER@", facts.upper)
