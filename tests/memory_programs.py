"""Small programs for memory and report tests: chains, residuals and the four MLPerf Tiny models,
by the sizes of their tensors."""

from __future__ import annotations

from edgecc.kernels.spec import Table
from edgecc.schedule.program import Buffer, Entry, InPlace, Kernel, Port, Program, View


def vector(buffer: str, size: int, offset: int = 0, dtype: str = "int8") -> View:
    return View(buffer, dtype, (size,), "N", offset)


def kernel(name, inputs, outputs, scratch=0, in_place=(), macs=0) -> Kernel:
    return Kernel(name, Table("int8", 1), "int8_table_1__generic", tuple(inputs), tuple(outputs),
                  scratch_bytes=scratch, in_place=tuple(in_place), macs=macs)


def port(view: View) -> Port:
    return Port(view.buffer, view, view.shape)


def program(name, sizes, steps, inputs, outputs, states=()) -> Program:
    """`sizes` by buffer; `inputs` and `outputs` are views or buffer names."""

    def ports(things):
        return tuple(port(t if isinstance(t, View) else vector(t, sizes[t])) for t in things)

    def kind(buffer):
        known = {t if isinstance(t, str) else t.buffer for t in inputs}
        made = {t if isinstance(t, str) else t.buffer for t in outputs}
        if buffer in states:
            return "state"
        return "input" if buffer in known else "output" if buffer in made else "activation"

    buffers = tuple(Buffer(b, size, kind(b)) for b, size in sizes.items())
    entry = Entry("run", ports(inputs), ports(outputs), tuple(steps))
    return Program(name, buffers, (entry,))


def network(name: str, sizes: dict[str, int], wiring: list[tuple], in_place=()) -> Program:
    """One step per (output, inputs...), whole buffers; `in_place` lists (output, input)."""
    steps = []
    for output, *inputs in wiring:
        pairs = [InPlace(n, 0) for n, i in enumerate(inputs) if (output, i) in in_place]
        steps.append(kernel(f"make_{output}", [vector(i, sizes[i]) for i in inputs],
                            [vector(output, sizes[output])], in_place=pairs, macs=sizes[output]))
    return program(name, sizes, steps, [wiring[0][1]], [wiring[-1][0]])


def chain(name: str, tensors: list[int], in_place: bool = False) -> Program:
    """Tensors t0, t1, ... of the given sizes, each made from the one before."""
    sizes = {f"t{n}": size for n, size in enumerate(tensors)}
    names = list(sizes)
    wiring = list(zip(names[1:], names[:-1], strict=True))
    return network(name, sizes, wiring, set(wiring) if in_place else ())


def anomaly_detection() -> Program:
    return chain("ad", [640, *[128] * 4, 8, *[128] * 4, 640])


def keyword_spotting() -> Program:
    return chain("kws", [490, *[8000] * 9, 64, 12, 12])


def image_classification(in_place: bool = False) -> Program:
    """ResNet-8 with the residual add fused into the second convolution of each stack."""
    sizes = {"x": 3072, "a": 16384, "b": 16384, "c": 16384}
    wiring = [("a", "x"), ("b", "a"), ("c", "b", "a")]
    last = "c"
    for stack, size in enumerate((8192, 4096)):
        first, short, out = f"p{stack}", f"s{stack}", f"r{stack}"
        sizes |= {first: size, short: size, out: size}
        wiring += [(first, last), (short, last), (out, first, short)]
        last = out
    sizes |= {"pool": 64, "fc": 10, "y": 10}
    wiring += [("pool", last), ("fc", "pool"), ("y", "fc")]
    pairs = {("c", "a"), ("r0", "s0"), ("r1", "s1")} if in_place else ()
    return network("ic", sizes, wiring, pairs)


def visual_wake_words() -> Program:
    """MobileNetV1 0.25 at 96x96: a first convolution, then depthwise and pointwise pairs."""
    tensors, side, channels = [96 * 96 * 3, 48 * 48 * 8], 48, 8
    plan = [(1, 16), (2, 32), (1, 32), (2, 64), (1, 64), (2, 128), *[(1, 128)] * 5, (2, 256),
            (1, 256)]
    for stride, out in plan:
        side //= stride
        tensors += [side * side * channels, side * side * out]
        channels = out
    return chain("vww", [*tensors, 256, 2, 2])
