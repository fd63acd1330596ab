"""serial_board.h: a target's UART as the C of its runner takes it."""

from __future__ import annotations

from edgecc.errors import TargetError
from edgecc.targets.target import UARTS, Serial

IDENTITY = "edgecc-program:"
"""What stands in a program before the digits that tell it from every other."""


def serial_header(serial: Serial, identity: str) -> str:
    """Text of the header. Raises TargetError for a UART that the runtime has no driver for."""
    if serial.kind not in UARTS:
        raise TargetError(f"no driver for a UART of kind {serial.kind!r}", where="serial",
                          needed="one that is known", available=", ".join(UARTS),
                          advice="correct the target's `serial`")
    setup = "".join(f"{{{address:#x}u, {clear:#x}u, {put:#x}u}}, "
                    for address, clear, put in serial.setup)
    lines = [f"#define EDGECC_UART_{serial.kind.upper()}",
             f"#define EDGECC_UART_BASE {serial.base:#x}u",
             f"#define EDGECC_UART_CLOCK_HZ {serial.clock_hz}u",
             f"#define EDGECC_BAUD {serial.baud}u",
             f"#define EDGECC_SETUP {setup}",
             f'#define EDGECC_IDENTITY "{IDENTITY}{identity}"']
    if serial.pins is not None:
        lines += [f"#define EDGECC_UART_TX_PIN {serial.pins[0]}u",
                  f"#define EDGECC_UART_RX_PIN {serial.pins[1]}u"]
    if serial.core_hz is not None:
        lines.append(f"#define EDGECC_CORE_HZ {serial.core_hz}u")
    return "\n".join(lines) + "\n"
