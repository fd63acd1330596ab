"""The archive: deterministic to write, suspicious to read, never half-written."""

import contextlib
import io
import os
import stat
import struct
import zipfile

import pytest
from bundle_maker import bundle
from hypothesis import given
from hypothesis import strategies as st

from edgecc.bundle import archive
from edgecc.errors import BundleError

NAMES = st.from_regex(archive.NAME, fullmatch=True).filter(lambda name: len(name) < 60)


def zipped(entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for info, data in entries:
            file.writestr(info, data)
    return buffer.getvalue()


@given(st.dictionaries(NAMES, st.binary(max_size=300), max_size=8))
def test_any_files_come_back_and_order_does_not_matter(files):
    backwards = dict(reversed(list(files.items())))
    assert archive.pack(files) == archive.pack(backwards)
    assert archive.unpack(archive.pack(files), "x") == files


def test_entries_are_sorted_with_fixed_times_and_permissions():
    files = zipfile.ZipFile(io.BytesIO(bundle().data)).infolist()
    assert [f.filename for f in files] == sorted(f.filename for f in files)
    assert {f.date_time for f in files} == {archive.EPOCH}
    modes = {f.filename: stat.S_IMODE(f.external_attr >> 16) for f in files}
    assert modes["runner/runner"] == 0o755 and modes["weights.bin"] == 0o644


def test_what_shrinks_too_well_is_stored_and_read():
    files = {"zeros.bin": bytes(1 << 20), "text": b"ab" * 1000}
    assert archive.unpack(archive.pack(files), "x") == files


@pytest.mark.parametrize("name", [
    "/etc/passwd", "../up", "a/../../up", "a\\b", "C:/x", ".hidden", "a//b", "a/", "-rf", "é",
    "a\nb", "x" * 201,
])
def test_unsafe_names_are_refused(name):
    with pytest.raises(BundleError, match="unsafe name"):
        archive.unpack(zipped([(name, b"x")]), "b.ecb")


def test_duplicates_are_refused():
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped([("a", b"1"), ("a", b"2")])
    with pytest.raises(BundleError, match="'a' twice"):
        archive.unpack(data, "b.ecb")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFDIR])
def test_links_and_other_kinds_are_refused(kind):
    info = zipfile.ZipInfo("link")
    info.external_attr = (kind | 0o777) << 16
    with pytest.raises(BundleError, match="not a plain file"):
        archive.unpack(zipped([(info, b"/etc/passwd")]), "b.ecb")


def test_unknown_compression_is_refused():
    with pytest.raises(BundleError, match="unknown way"):
        archive.unpack(zipped([("a", b"x" * 100)], zipfile.ZIP_LZMA), "b.ecb")


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(BundleError, match="unpacks to too much"):
        archive.unpack(zipped([("a", bytes(1 << 22))], zipfile.ZIP_DEFLATED), "b.ecb")


def test_too_many_files(monkeypatch):
    monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
    with pytest.raises(BundleError, match="too many files.*needed 3 files, available 2 files"):
        archive.unpack(zipped([(name, b"") for name in "abc"]), "b.ecb")


def test_too_large(monkeypatch):
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 10)
    with pytest.raises(BundleError, match="too large when unpacked"):
        archive.unpack(zipped([("a", b"x" * 6), ("b", b"x" * 6)]), "b.ecb")


def test_overlapping_entries():
    entry = zipfile.ZipInfo("a")
    entry.file_size = entry.compress_size = 90
    with pytest.raises(BundleError, match="overlap"):
        archive.check_entries([entry, entry], 100, "b.ecb")


def test_a_lying_size_does_not_unpack_more():
    data = bytearray(zipped([("a", b"x" * 5000)], zipfile.ZIP_DEFLATED))
    central = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 24, 10)  # the declared unpacked size
    with pytest.raises(BundleError, match="damaged"):
        archive.unpack(bytes(data), "b.ecb")


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncation_is_named(part):
    data = bundle().data
    with pytest.raises(BundleError, match=r"b\.ecb: damaged or cut off"):
        archive.unpack(data[:int(len(data) * part)], "b.ecb")


def test_every_flipped_byte_is_found_or_harmless():
    whole = bundle()
    for place in range(0, len(whole.data), 7):
        data = bytearray(whole.data)
        data[place] ^= 0x55
        with contextlib.suppress(BundleError):
            assert dict(type(whole).from_bytes(bytes(data)).files) == dict(whole.files)


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "b.ecb"
    archive.write_atomically(path, b"old")

    def disk_full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", disk_full)
    with pytest.raises(BundleError, match="cannot be written: No space left"):
        archive.write_atomically(path, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["b.ecb"] and path.read_bytes() == b"old"


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        archive.write_atomically(tmp_path / "b.ecb", b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(BundleError, match="cannot be written: No such file"):
        archive.write_atomically(tmp_path / "no" / "b.ecb", b"")


def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path):
    pipe, link, kept = tmp_path / "pipe", tmp_path / "link", tmp_path / "kept"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    archive.write_atomically(pipe, b"bytes")
    assert os.read(reader, 9) == b"bytes" and pipe.is_fifo()
    os.close(reader)
    kept.write_bytes(b"old")
    link.symlink_to(kept)
    archive.write_atomically(link, b"new")
    assert link.is_symlink() and kept.read_bytes() == b"new"
    with pytest.raises(BundleError, match="cannot be written"):
        archive.write_atomically(tmp_path, b"a folder is none")
