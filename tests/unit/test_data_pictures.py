"""Pictures: found, read, resized and cropped as declared; refused where they are not sound."""

from __future__ import annotations

import struct
import sys
import zlib

import numpy as np
import onnx_ir as ir
import pytest
from picture_files import Image, classes, pixels, save

from edgecc.data import Preprocessing, pictures
from edgecc.errors import ConfigError, QuantizationError
from edgecc.quantize import calibration

PLAIN = Preprocessing(scale=255)


def read(path, size, **changes):
    return pictures.pixels(path, Preprocessing(scale=255, **changes), size)


class TestReading:
    @pytest.mark.parametrize("suffix", ["png", "bmp", "ppm"])
    def test_lossless_files_keep_their_pixels(self, tmp_path, suffix):
        path = save(tmp_path / f"a.{suffix}", pixels())
        assert np.array_equal(read(path, (30, 20)), pixels())
        assert np.array_equal(read(path, (30, 20), color="bgr"), pixels()[:, :, ::-1])

    def test_jpeg(self, tmp_path):
        smooth = np.add.outer(np.arange(20), np.arange(30))[..., None].repeat(3, 2).astype(np.uint8)
        found = read(save(tmp_path / "a.JPG", smooth, quality=95), (30, 20))
        assert np.abs(found.astype(int) - smooth).max() <= 3

    def test_gray(self, tmp_path):
        found = read(save(tmp_path / "a.png", pixels()), (30, 20), color="gray")
        luma = pixels().astype(np.float64) @ [0.299, 0.587, 0.114]
        assert found.shape == (20, 30, 1) and np.abs(found[..., 0] - luma).max() <= 1

    def test_palette_and_alpha_become_colours(self, tmp_path):
        Image.fromarray(pixels()).quantize(16).save(tmp_path / "p.png")
        alpha = np.concatenate([pixels(), np.full((20, 30, 1), 9, np.uint8)], axis=2)
        assert read(tmp_path / "p.png", (30, 20)).shape == (20, 30, 3)
        assert np.array_equal(read(save(tmp_path / "a.png", alpha), (30, 20)), pixels())

    def test_pictures_are_turned_upright(self, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6  # the camera was turned by a quarter
        path = save(tmp_path / "a.png", pixels(), exif=exif)
        assert np.array_equal(read(path, (20, 30)), np.rot90(pixels(), -1))

    def test_shorter_side_then_the_middle(self, tmp_path):
        path = save(tmp_path / "a.png", pixels((40, 21)))
        whole = Image.fromarray(pixels((40, 21))).resize((19, 10), Image.Resampling.BILINEAR)
        found = read(path, (8, 6), resize=10, crop=(8, 6))
        assert np.array_equal(found, np.asarray(whole)[2:8, 6:14])  # (19 - 8) / 2 rounds to 6

    @pytest.mark.parametrize("name", ["bilinear", "bicubic", "nearest"])
    def test_filters(self, tmp_path, name):
        path = save(tmp_path / "a.png", pixels())
        chosen = getattr(Image.Resampling, name.upper())
        expected = np.asarray(Image.fromarray(pixels()).resize((7, 9), chosen))
        assert np.array_equal(read(path, (7, 9), resize=(7, 9), filter=name), expected)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class TestRefusals:
    def refused(self, path, message, size=(30, 20), **changes):
        with pytest.raises(ConfigError, match=message) as caught:
            read(path, size, **changes)
        assert path.name in str(caught.value)

    def test_missing(self, tmp_path):
        self.refused(tmp_path / "no.png", "no such picture")

    @pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "ppm"])
    def test_cut_off(self, tmp_path, suffix):
        path = save(tmp_path / f"a.{suffix}", pixels())
        path.write_bytes(path.read_bytes()[:-300])
        self.refused(path, "is no whole picture")

    def test_something_else(self, tmp_path):
        (tmp_path / "a.png").write_bytes(b"GIF89a not allowed")
        self.refused(tmp_path / "a.png", "is no whole picture")

    def test_formats_other_than_the_four(self, tmp_path):
        Image.fromarray(pixels()).save(tmp_path / "a.tiff")
        (tmp_path / "a.tiff").rename(tmp_path / "a.png")
        self.refused(tmp_path / "a.png", "is no whole picture")

    def test_bombs_are_refused_by_their_header(self, tmp_path):
        head = struct.pack(">IIBBBBB", 12000, 12000, 8, 2, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b""))
        (tmp_path / "a.png").write_bytes(data)
        self.refused(tmp_path / "a.png", "too large.*needed 12,000x12,000 pixels")

    def test_thin_pictures_do_not_explode(self, tmp_path):
        path = save(tmp_path / "a.png", pixels((40000, 1)))
        self.refused(path, "too large", resize=256)

    def test_large_files(self, tmp_path, monkeypatch):
        monkeypatch.setattr(pictures, "MAX_FILE_BYTES", 100)
        self.refused(save(tmp_path / "a.png", pixels()), "too large for a picture")

    def test_sixteen_bits(self, tmp_path):
        path = save(tmp_path / "a.png", np.zeros((20, 30), np.uint16))
        self.refused(path, "mode I;16 are not supported")

    def test_wrong_size(self, tmp_path):
        path = save(tmp_path / "a.png", pixels())
        self.refused(path, "needed 8x8, available 30x20.*--resize 8x8", size=(8, 8))

    def test_crop_larger_than_the_picture(self, tmp_path):
        path = save(tmp_path / "a.png", pixels())
        self.refused(path, "crop is larger", crop=31)

    def test_without_pillow(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "PIL", None)
        with pytest.raises(ConfigError, match=r"pip install 'edgecc\[images\]'"):
            pictures.pillow()


class TestFinding:
    def test_order_does_not_depend_on_the_file_system(self, tmp_path):
        for name in ("b/2.png", "a/1.png", "b/1.png", "z.png", "a/0.png"):
            save(tmp_path / name, pixels((2, 2)))
        (tmp_path / "a" / "notes.txt").write_text("no picture")
        (tmp_path / "a" / ".hidden.png").write_text("no picture")
        found = pictures.find(tmp_path)
        names = [p.path.relative_to(tmp_path).as_posix() for p in found]
        assert names == ["z.png", "a/0.png", "a/1.png", "b/1.png", "b/2.png"]
        assert [p.folder for p in found] == [None, "a", "a", "b", "b"]

    def test_interleaved_takes_every_class_in_turn(self, tmp_path):
        found = pictures.interleaved(pictures.find(classes(tmp_path, each=2)))
        assert [f"{p.folder}{p.path.stem}" for p in found] == ["cat0", "dog0", "cat1", "dog1"]

    def test_nothing_there(self, tmp_path):
        (tmp_path / "a.webp").write_bytes(b"")
        with pytest.raises(ConfigError, match="holds no pictures.*available .webp"):
            pictures.find(tmp_path)

    def test_not_a_folder(self, tmp_path):
        with pytest.raises(ConfigError, match="cannot be listed"):
            pictures.find(tmp_path / "no")


class TestCalibration:
    def model(self, shape=(1, 3, 12, 12)):
        value = ir.Value(name="x", shape=ir.Shape(shape), type=ir.TensorType(ir.DataType.FLOAT))
        return ir.Model(ir.Graph([value], [], nodes=[]), ir_version=8)

    def test_pictures_become_samples(self, tmp_path):
        how = Preprocessing(scale=1, mean=(0.5,), std=(0.25,))
        found = list(calibration.read(classes(tmp_path), self.model(), how))
        assert len(found) == 6
        expected = how.values(pixels((12, 12), 100)).transpose(2, 0, 1)
        assert np.array_equal(found[1]["x"][0], expected)

    def test_broken_pictures_are_named(self, tmp_path):
        path = classes(tmp_path) / "dog" / "0.png"
        path.write_bytes(path.read_bytes()[:-30])
        with pytest.raises(QuantizationError, match="dog/0.png: is no whole picture"):
            list(calibration.read(tmp_path, self.model(), PLAIN))

    def test_undeclared(self, tmp_path):
        with pytest.raises(QuantizationError, match="not declared how pictures"):
            list(calibration.read(classes(tmp_path), self.model()))
