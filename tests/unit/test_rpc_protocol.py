"""Frames: what is encoded comes back, what is no frame does not."""

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.errors import BoardError
from edgecc.rpc.protocol import HEADER, Type, encode, encode_u32, read_frame, unpack_u64


def reader(data):
    stream = io.BytesIO(data)

    def read_exactly(size):
        found = stream.read(size)
        if len(found) < size:
            raise EOFError
        return found

    return read_exactly


@given(st.sampled_from(Type), st.binary(max_size=200), st.sampled_from([0, 1]))
def test_frames_survive_the_journey(type_, payload, status):
    frame = read_frame(reader(encode(type_, payload, status)), 200, "board")
    assert (frame.type, frame.status, frame.payload) == (type_, status, payload)


def test_the_bytes_are_as_documented():
    assert encode_u32(Type.RUN, 7) == b"ECC1\x03\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00"


@given(st.binary(min_size=12, max_size=64))
def test_garbage_is_refused(data):
    if data[:4] == b"ECC1":
        return
    with pytest.raises(BoardError, match="no frame of the runner protocol"):
        read_frame(reader(data), 64, "board")


def test_reserved_bits_are_refused():
    with pytest.raises(BoardError, match="no frame"):
        read_frame(reader(HEADER.pack(b"ECC1", 1, 0, 1, 0)), 0, "board")


@pytest.mark.parametrize(("status", "limit"), [(0, "10 B"), (1, "1,048,576 B")])
def test_oversize_frames_are_refused_before_they_are_read(status, limit):
    head = HEADER.pack(b"ECC1", 1, status, 0, 0xFFFFFFFF)
    with pytest.raises(BoardError, match=f"larger than .*4,294,967,295 B, available {limit}"):
        read_frame(reader(head), 10, "board")


def test_figures_must_be_as_many_as_asked():
    assert unpack_u64(struct.pack("<2Q", 1, 2**63), 2, "board") == [1, 2**63]
    with pytest.raises(BoardError, match="another number of figures"):
        unpack_u64(b"\0" * 7, 1, "board")
