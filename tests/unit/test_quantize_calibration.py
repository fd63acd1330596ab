"""calibration.read: every accepted form, and an error for everything else."""

import numpy as np
import pytest
from model_graphs import GraphMaker
from onnx import TensorProto

from edgecc.errors import QuantizationError
from edgecc.model import load
from edgecc.quantize.calibration import read


@pytest.fixture
def one():
    make = GraphMaker()
    return load(make.model(make.add("Relu", make.input("x", ["N", 2, 3]))))


@pytest.fixture
def two():
    make = GraphMaker()
    y = make.add("Add", make.input("a", [1, 3]), make.input("b", [2, 3]))
    return load(make.model(y))


def samples(count=3, shape=(2, 3), dtype=np.float32):
    return np.arange(count * np.prod(shape)).reshape(count, *shape).astype(dtype)


def check_read(source, model, expected):
    found = list(read(source, model))
    assert len(found) == len(expected)
    for feeds, array in zip(found, expected, strict=True):
        assert feeds["x"].shape == (1, 2, 3) and feeds["x"].dtype == np.float32
        np.testing.assert_array_equal(feeds["x"][0], array)


@pytest.mark.parametrize("form", [
    lambda a: {"x": a},
    lambda a: {"other": a},
    lambda a: {"other": a, "labels": np.arange(3)},
    lambda a: {"other": a, "names": np.array(["p", "q", "r"])},
    lambda a: {"x": a, "twin": a},
    lambda a: {"x": a[:, None]},
    lambda a: a,
    lambda a: list(a),
    lambda a: list(a[:, None]),
    lambda a: [{"x": s} for s in a],
    lambda a: ({"x": s[None]} for s in a),
    lambda a: a.astype(np.float64),
    lambda a: list(a.astype(np.float16)),
])  # fmt: skip
def test_accepted_forms_in_memory(one, form):
    check_read(form(samples()), one, samples())


def test_npz_by_input_name_and_by_its_only_fitting_array(one, tmp_path):
    np.savez(tmp_path / "named.npz", x=samples(), y=np.arange(3))
    np.savez(tmp_path / "unnamed.npz", features=samples(), y=np.arange(3))
    check_read(tmp_path / "named.npz", one, samples())
    check_read(str(tmp_path / "unnamed.npz"), one, samples())


def test_npy_file_is_a_stack(one, tmp_path):
    np.save(tmp_path / "stack.npy", samples())
    check_read(tmp_path / "stack.npy", one, samples())


def test_folder_of_single_samples_in_name_order(one, tmp_path):
    for index, sample in enumerate(samples()):
        np.save(tmp_path / f"s{index:03}.npy", sample)
    check_read(tmp_path, one, samples())


def test_folder_of_stacks_by_input_name(two, tmp_path):
    np.save(tmp_path / "a.npy", samples(2, (3,)))
    np.save(tmp_path / "b.npy", samples(2, (2, 3)))
    found = list(read(tmp_path, two))
    assert [f["a"].shape for f in found] == [(1, 3)] * 2 and found[1]["b"].shape == (2, 3)


def test_a_larger_batch_takes_consecutive_samples(two):
    found = list(read({"a": samples(2, (3,)), "b": samples(5, (3,))}, two))
    assert len(found) == 2
    np.testing.assert_array_equal(found[1]["b"], samples(5, (3,))[2:4])


def test_samples_come_one_by_one(one):
    def endless():
        while True:
            yield np.zeros((2, 3), np.float32)

    source = read(endless(), one)
    assert next(source)["x"].shape == next(source)["x"].shape


def test_integer_inputs_take_integers_only():
    make = GraphMaker()
    x = make.add("Cast", make.input("i", [1, 4], TensorProto.INT32), to=TensorProto.FLOAT)
    model = load(make.model(x))
    assert next(read([np.zeros((1, 4), np.int32)], model))["i"].dtype == np.int32
    with pytest.raises(QuantizationError, match="wrong type.*needed int32, available float32"):
        list(read([np.zeros((1, 4), np.float32)], model))


class TestErrors:
    def check(self, source, model, finding):
        with pytest.raises(QuantizationError, match=finding):
            list(read(source, model))

    def test_none(self, one):
        self.check(None, one, "needs calibration data; give an .npz file")

    def test_not_data(self, one):
        self.check(7, one, "calibration data of type int are not understood")

    @pytest.mark.parametrize("source", [[], np.zeros((0, 2, 3), np.float32), {"x": samples(0)}])
    def test_empty(self, one, source):
        self.check(source, one, "the calibration set is empty.*needed 1 sample, available 0")

    def test_wrong_names(self, one):
        self.check({"a": samples(2, (5,)), "b": samples(2, (7,))}, one,
                   "calibration mapping: .*names.*needed x, available a, b")  # fmt: skip

    def test_wrong_names_in_a_sample(self, one):
        self.check([{"x": samples(1)[0]}, {"y": samples(1)[0]}], one,
                   "calibration sample 1: .*needed x, available y")  # fmt: skip

    def test_a_missing_input(self, two):
        self.check({"a": samples(2, (3,))}, two, "needed a, b, available a")

    def test_a_lone_array_for_two_inputs(self, two):
        self.check([samples(1)[0]], two, "sample 0: the model has 2 inputs.*mappings")

    def test_several_fitting_arrays(self, one):
        self.check({"p": samples(), "q": samples()}, one, "several arrays fit input x.*name one")

    def test_wrong_shape_of_a_stack(self, one):
        self.check({"x": samples(3, (3, 2))}, one,
                   r"wrong shape \(needed \(samples, 2, 3\), available \(3, 3, 2\)\)")  # fmt: skip

    def test_wrong_shape_of_a_sample(self, one):
        self.check([samples(1)[0], samples(1, (2, 4))[0]], one,
                   r"sample 1: input x has the wrong shape \(needed \(1, 2, 3\), available \(2, 4\)"
                   )  # fmt: skip

    def test_wrong_type(self, one):
        self.check({"x": samples(dtype=np.uint8)}, one,
                   "sample 0: input x has the wrong type.*float32, available uint8")  # fmt: skip

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
    def test_numbers_that_are_none(self, one, bad):
        data = samples(dtype=np.float64)
        data[2, 1, 1] = bad
        self.check(data, one, "sample 2: input x has NaN or Inf .*available 1 of them not")

    def test_different_numbers_of_samples(self, two):
        self.check({"a": samples(3, (1, 3)), "b": samples(2, (2, 3))}, two,
                   r"different numbers of samples \(a: 3, b: 2\)")  # fmt: skip

    def test_missing_file(self, one, tmp_path):
        self.check(tmp_path / "no.npz", one, "no such calibration file or folder")

    def test_another_kind_of_file(self, one, tmp_path):
        (tmp_path / "x.pkl").write_bytes(b"?")
        self.check(tmp_path / "x.pkl", one, r"end in .npz or .npy, not '.pkl'")

    def test_folder_without_arrays(self, one, tmp_path):
        self.check(tmp_path, one, "holds no pictures.*give an .npz file, a folder of .npy")

    def test_folder_without_the_inputs_names(self, two, tmp_path):
        np.save(tmp_path / "a.npy", samples(2, (3,)))
        self.check(tmp_path, two, "needed a, b, available a")

    @pytest.mark.parametrize("name", ["x.npz", "x.npy"])
    def test_damaged_file(self, one, tmp_path, name):
        (tmp_path / name).write_bytes(b"PK\x03\x04 not really")
        self.check(tmp_path / name, one, "cannot be read as a NumPy file")

    def test_pickles_are_never_opened(self, one, tmp_path):
        class Trap:
            def __reduce__(self):
                return (pytest.fail, ("the pickle was opened",))

        objects = np.array([Trap()], object)
        np.save(tmp_path / "x.npy", objects, allow_pickle=True)
        self.check(tmp_path / "x.npy", one, "cannot be read as a NumPy file")
        np.savez(tmp_path / "x.npz", x=objects)
        self.check(tmp_path / "x.npz", one, "needed x, available x")
