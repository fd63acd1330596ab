"""A runner in Python that can misbehave in every way a board might; and bundles around it.

The weights are JSON: {"misbehave": {"RUN": "crash"}} and the like. The model answers with every
input byte inverted.
"""

import json
import os
import struct
import sys
import time
import zlib
from pathlib import Path

SIZE = 16
STEPS = ["first", "second"]


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        weights = file.read()
    manners = json.loads(weights).get("misbehave", {})
    data = bytes(SIZE)
    sys.stderr.write("runner starts\n")
    sys.stderr.flush()
    while True:
        head = sys.stdin.buffer.read(12)
        if len(head) < 12:
            return
        kind, length = head[4], struct.unpack("<I", head[8:])[0]
        payload = sys.stdin.buffer.read(length)
        name = [None, "HELLO", "SET_INPUT", "RUN", "RUN_UNTIMED", "GET_OUTPUT", "PROFILE",
                "STATUS", "PIN", "QUIT"][kind]
        number = struct.unpack("<I", payload[:4])[0] if payload else 0
        out, status = b"", 0
        if name == "HELLO":
            out = json.dumps(hello(weights, manners)).encode()
        elif name == "SET_INPUT":
            data = payload[4:]
        elif name == "RUN":
            out = struct.pack("<Q", 1000) * number
        elif name == "GET_OUTPUT":
            out = bytes(255 - b for b in data)
        elif name == "PROFILE":
            out = struct.pack("<2Q", 600 * number, 400 * number)
        elif name == "STATUS":
            out = json.dumps({"peak_rss_bytes": 4096, "cpu": [0]}).encode()
        out, status = misbehave(manners.get(name), out, status)
        sys.stdout.buffer.write(struct.pack("<4sBBHI", b"ECC1", kind, status, 0, len(out)) + out)
        sys.stdout.buffer.flush()
        if name == "QUIT":
            sys.exit(manners.get("exit", 0))


def hello(weights, manners):
    answer = {"protocol": [1, 0], "abi": [1, 0], "model": "fake", "version": "0",
              "target": "host", "arena_bytes": 64, "weights_bytes": len(weights),
              "weights_crc32": zlib.crc32(weights), "inputs": [{}], "outputs": [{}],
              "steps": STEPS}
    return answer | manners.get("hello", {})


def misbehave(how, out, status):
    if how == "crash":
        sys.stderr.write("about to crash\n")
        sys.stderr.flush()
        os.abort()
    elif how == "exit":
        sys.stderr.write("giving up\n")
        sys.exit(3)
    elif how == "hang":
        while os.getppid() != 1:  # a real run ends some day: this one when it is orphaned
            time.sleep(0.05)
        sys.exit(0)
    elif how == "garbage":
        sys.stdout.buffer.write(b"Welcome to my board!\n")
    elif how == "oversize":
        sys.stdout.buffer.write(struct.pack("<4sBBHI", b"ECC1", 1, 0, 0, 0xFFFFFFFF))
    elif how == "long error":
        sys.stdout.buffer.write(struct.pack("<4sBBHI", b"ECC1", 1, 1, 0, 0xFFFFFFFF))
    elif how == "refuse":
        return b"no, thank you", 1
    elif how == "wrong":
        return out[:3] + bytes([out[3] ^ 1]) + out[4:], 0
    elif how == "short":
        return out[:-1], 0
    elif how == "text":
        return b"[not json", 0
    elif how == "half":
        sys.stdout.buffer.write(b"ECC1\x01\x00")
        sys.stdout.buffer.flush()
        os._exit(7)
    elif how == "other type":
        sys.stdout.buffer.write(struct.pack("<4sBBHI", b"ECC1", 77, 0, 0, 0))
    return out, status


def runner() -> bytes:
    """This file as an executable."""
    source = Path(__file__).read_bytes()
    return f"#!{sys.executable} -IS\n".encode() + source


def files(vectors: int = 2, **manners) -> dict[str, bytes]:
    """What an .ecb holds, with a fake runner."""
    made = {"runner/runner": runner(),
            "weights.bin": json.dumps({"misbehave": manners}).encode()}
    for n in range(vectors):
        data = bytes((n * 31 + i * 7) % 256 for i in range(SIZE))
        made[f"vectors/{n}/input_0.bin"] = data
        made[f"vectors/{n}/output_0.bin"] = bytes(255 - b for b in data)
    return made


def manifest(architecture: str, features=()) -> dict:
    port = {"name": "x", "shape": [SIZE], "dtype": "int8", "bytes": SIZE}
    step = {"op": "table", "kernel": "int8_table_1__c", "macs": 0}
    return {"name": "fake", "target": "host", "arena_bytes": 64, "inputs": [port],
            "outputs": [port | {"name": "y"}],
            "target_info": {"architecture": architecture, "features": list(features)},
            "steps": [step | {"name": name, "symbol": f"k_{name}"} for name in STEPS]}


if __name__ == "__main__":
    main()
