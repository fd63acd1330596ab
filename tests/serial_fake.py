"""A chip in Python at the other end of a pseudo-terminal, on a line that may lose and spoil."""

import os
import select
import threading
import tty
from contextlib import contextmanager

from edgecc.rpc.transport import serial_line as line

NAME = b"edgecc-program:0123456789abcdef"
ELF = b"\x7fELF" + bytes(20) + NAME + bytes(20)


class Chip(threading.Thread):
    """Answers by `program`: (all that came in) -> (all that goes out, words, exit code or None).

    `spoil` makes what a line makes of bytes; `answers` replaces the answer to a kind of request;
    `name` is a function, since flashing changes it.
    """

    def __init__(self, master, program, name=lambda: NAME, spoil=lambda data: data, answers=None):
        super().__init__(daemon=True)
        self.master, self.program, self.name_of = master, program, name
        self.spoil, self.answers, self.over = spoil, answers or {}, False
        self.decoder, self.requests = line.Decoder(), 0
        self.begin()

    def begin(self):
        self.came, self.gone, self.told, self.last = bytearray(), 0, 0, (0, b"")

    def run(self):
        while not self.over:
            if select.select([self.master], [], [], 0.02)[0]:
                try:
                    data = os.read(self.master, 4096)
                except OSError:  # nobody has the other end open
                    self.over = self.over or not threading.main_thread().is_alive()
                    continue
                for packet in self.decoder.feed(self.spoil(data)):
                    os.write(self.master, self.spoil(self.answer(packet)))

    def answer(self, packet):
        self.requests += 1
        if packet.kind in self.answers:
            kind, payload = self.answers[packet.kind]
            return b"" if kind is None else line.encode(kind, packet.number, payload)
        if packet.kind == line.RESET:
            self.begin()
            name = self.name_of()
            return line.encode(line.READY, 0, name) if name else b""
        if packet.number != self.last[0]:
            self.last = packet.number, line.encode(*self.fresh(packet))
        return self.last[1]

    def fresh(self, packet):
        if packet.kind == line.DATA:
            self.came += packet.payload
            return line.TAKEN, packet.number, b""
        out, words, code = self.program(bytes(self.came))
        if len(words) > self.told:
            part, self.told = words[self.told : self.told + line.ROOM], len(words)
            return line.SAID, packet.number, part
        if len(out) > self.gone:
            part = out[self.gone : self.gone + line.ROOM]
            self.gone += len(part)
            return line.SENT, packet.number, part
        return (line.NONE, packet.number, b"") if code is None else (
            line.ENDED, packet.number, bytes([code]))


@contextmanager
def chip(program=lambda came: (b"", b"", None), **manner):
    """The Chip, and the path of its port."""
    master, slave = os.openpty()
    tty.setraw(slave)
    made = Chip(master, program, **manner)
    made.start()
    try:
        yield made, os.ttyname(slave)
    finally:
        made.over = True
        made.join()
        os.close(slave)
        if made.name != "unplugged":
            os.close(master)
