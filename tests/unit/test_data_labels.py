"""Labels, datasets and metrics: numbers that are declared, never guessed."""

from __future__ import annotations

import numpy as np
import pytest
from picture_files import classes, pixels, save

from edgecc.data import Preprocessing, labels, metrics, pictures
from edgecc.data.dataset import dataset
from edgecc.errors import ConfigError
from edgecc.quantize.calibration import Port

PORT = Port("x", (1, 3, 12, 12), np.dtype("float32"))
HOW = Preprocessing(scale=255)
VECTOR = Port("x", (1, 4), np.dtype("float32"))


def text(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


class TestPictureLabels:
    def of(self, folder, source):
        return labels.of_pictures(pictures.find(folder), source, folder)

    def test_names_give_the_order(self, tmp_path):
        folder = classes(tmp_path / "d", each=1)
        assert self.of(folder, text(tmp_path / "n.txt", "dog", "cow", "cat")).tolist() == [2, 0]

    def test_folders_called_by_their_number(self, tmp_path):
        folder = classes(tmp_path / "d", names=("7", "11"), each=1)
        assert self.of(folder, None).tolist() == [11, 7]

    def test_names_without_a_list_are_refused(self, tmp_path):
        with pytest.raises(ConfigError, match="which class has which number.*folders cat, dog"):
            self.of(classes(tmp_path), None)

    def test_a_folder_that_is_no_class(self, tmp_path):
        with pytest.raises(ConfigError, match="lies in no folder.*needed cat, available dog"):
            self.of(classes(tmp_path / "d"), text(tmp_path / "n.txt", "cat"))

    def test_pictures_without_folders_have_no_labels(self, tmp_path):
        save(tmp_path / "a.png", pixels())
        assert self.of(tmp_path, None) is None

    def test_table(self, tmp_path):
        folder = classes(tmp_path / "d", each=1)
        save(folder / "x.png", pixels())
        table = text(tmp_path / "t.csv", "file,label", "x.png,4", "cat/0.png,1", "dog/0.png,0")
        assert self.of(folder, table).tolist() == [4, 1, 0]

    def test_table_lacks_a_picture(self, tmp_path):
        with pytest.raises(ConfigError, match="has no row for cat/0.png"):
            self.of(classes(tmp_path / "d"), text(tmp_path / "t.csv", "dog/0.png,0"))

    def test_table_with_names(self, tmp_path):
        with pytest.raises(ConfigError, match="label 'cat' is no class number"):
            self.of(classes(tmp_path / "d", ("cat",), 2),
                    text(tmp_path / "t.csv", "file,label", "cat/0.png,cat", "cat/1.png,1"))

    @pytest.mark.parametrize("lines", [[""], ["a", "a"], ["a", "", "b"]])
    def test_class_names_must_be_different(self, tmp_path, lines):
        with pytest.raises(ConfigError, match="no list of different class names"):
            labels.class_names(text(tmp_path / "n.txt", *lines))

    def test_unreadable_files(self, tmp_path, monkeypatch):
        with pytest.raises(ConfigError, match="labels cannot be read"):
            labels.class_names(tmp_path / "no.txt")
        monkeypatch.setattr(labels, "MAX_BYTES", 1)
        with pytest.raises(ConfigError, match="too large for a file of labels"):
            labels.class_names(text(tmp_path / "n.txt", "abc"))


class TestDataset:
    def test_npz_with_labels_inside(self, tmp_path):
        x = np.arange(24, dtype=np.float32).reshape(6, 4)
        np.savez(tmp_path / "d.npz", images=x, y=np.arange(6), z=x)
        found = dataset(tmp_path / "d.npz", [VECTOR], labels="y", inputs=["images"], limit=4)
        assert len(found) == 4 and found.labels.tolist() == [0, 1, 2, 3]
        for _ in range(2):  # goes through the data again and again
            assert np.array_equal(np.concatenate([f["x"] for f in found]), x[:4])

    def test_labels_in_a_table(self, tmp_path):
        np.save(tmp_path / "x.npy", np.zeros((3, 4), np.float32))
        table = text(tmp_path / "l.csv", "2", "1", "0")
        found = dataset(tmp_path / "x.npy", [VECTOR], labels=table)
        assert found.labels.tolist() == [2, 1, 0]

    def test_samples_one_by_one(self):
        found = dataset(({"x": np.full((1, 4), i, np.float32)} for i in range(3)), [VECTOR],
                        labels=[0, 1, 2])
        assert [f["x"][0, 0] for f in found] == [0, 1, 2]

    def test_pictures(self, tmp_path):
        folder = classes(tmp_path / "d")
        found = dataset(folder, [PORT], labels=text(tmp_path / "n.txt", "cat", "dog"), how=HOW,
                        limit=3)
        assert found.labels.tolist() == [0, 1, 0]
        first = next(iter(found))["x"]
        assert np.array_equal(first[0].transpose(1, 2, 0), pixels((12, 12), 0))

    def test_data_beyond_what_is_kept_are_read_again(self, monkeypatch):
        from edgecc.data import dataset as module

        monkeypatch.setattr(module, "KEPT_BYTES", 20)
        found = dataset(np.ones((3, 4), np.float32), [VECTOR])
        assert len(list(found)) == len(list(found)) == 3

    @pytest.mark.parametrize("changes, message", [
        ({"limit": 0}, "limit 0"), ({"labels": "y"}, "neither an array of the data nor a .csv"),
        ({"labels": [1]}, "labels do not go with the samples.*needed 2 labels"),
        ({"labels": 3}, "labels do not go with the samples"),
        ({"inputs": ["w"]}, "named arrays do not make the model's inputs")])
    def test_refusals(self, changes, message):
        with pytest.raises(ConfigError, match=message):
            dataset({"x": np.zeros((2, 4), np.float32)}, [VECTOR], **changes)

    def test_samples_that_do_not_fit(self):
        with pytest.raises(ConfigError, match="^sample 1: input x has NaN"):
            dataset(np.float32([[0] * 4, [np.nan] * 4]), [VECTOR])

    def test_damaged_files(self, tmp_path):
        (tmp_path / "d.npz").write_bytes(b"PK")
        with pytest.raises(ConfigError, match="cannot be read as a NumPy file"):
            dataset(tmp_path / "d.npz", [VECTOR])


def outputs(*rows):
    return [{"y": np.float32([row])} for row in rows]


class TestMetrics:
    def score(self, name, found, wanted):
        return metrics.score(metrics.find(name), found, wanted)

    def test_top(self):
        found = outputs([.1, .5, .4], [.5, .5, 0], [0, 0, 1])
        assert self.score("top1", found, [1, 1, 2]) == pytest.approx(2 / 3)  # ties: lowest index
        assert self.score("top5", found, [0, 1, 2]) == 1

    def test_mse_and_cosine(self):
        found = outputs([3, 4], [0, 0])
        assert self.score("mse", found, [[3, 2], [0, 0]]) == 1
        assert self.score("cosine", found, [[4, 3], [0, 0]]) == pytest.approx((24 / 25 + 1) / 2)

    def test_functions(self):
        assert self.score("math:dist", *([1.0, 2.0], [1.0, 2.0])) == 0.0
        assert self.score(lambda found, wanted: len(found), outputs([1]), None) == 1.0

    @pytest.mark.parametrize("name, message", [
        ("top2", "unknown metric 'top2'; did you mean top"), ("zzz", "top1, top5, mse, cosine, or"),
        ("no_such:function", "cannot be imported"), ("math:no", "cannot be imported"),
        ("math:pi", "is no function")])
    def test_unknown(self, name, message):
        with pytest.raises(ConfigError, match=message):
            metrics.find(name)

    @pytest.mark.parametrize("wanted, message", [
        ([0.5], "no class numbers"), ([[0, 1]], "no class numbers"),
        ([3], "labels of 0 to 2, available 3"), ([-1], "labels do not number")])
    def test_labels_that_are_no_classes(self, wanted, message):
        with pytest.raises(ConfigError, match=message):
            self.score("top1", outputs([0, 1, 2]), wanted)

    def test_labels_of_another_shape(self):
        with pytest.raises(ConfigError, match="shape of the first output"):
            self.score("mse", outputs([0, 1]), [[1, 2, 3]])

    @pytest.mark.parametrize("value", ["1", None, float("nan"), float("inf")])
    def test_functions_that_give_no_number(self, value):
        with pytest.raises(ConfigError, match="no number"):
            self.score(lambda found, wanted: value, outputs([1]), None)
