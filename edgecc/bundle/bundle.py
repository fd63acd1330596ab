"""Bundle: the compiled model as one immutable value, and its file form (`.ecb`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from edgecc.bundle import archive, ports, schema
from edgecc.bundle.check import check_contents
from edgecc.context import Context
from edgecc.errors import BundleError

if TYPE_CHECKING:
    from edgecc.bundle.evaluation import Evaluation
    from edgecc.data import Preprocessing

MANIFEST = "manifest.json"


@dataclass(frozen=True, eq=False)
class Bundle:
    """Files by path, `manifest.json` among them. Equal bundles have equal `sha256`.

    Make one with `edgecc.compile` or `Bundle.read`; both check it.
    """

    files: Mapping[str, bytes] = field(repr=False)

    def __post_init__(self):
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))

    @classmethod
    def of(cls, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> Bundle:
        """A bundle of `files`, whose sizes and hashes are entered into the manifest."""
        listed = {path: _entry(data) for path, data in sorted(files.items())}
        return cls({**files, MANIFEST: schema.dump({**manifest, "files": listed})})

    @property
    def manifest(self) -> dict[str, Any]:
        """A fresh copy of the manifest: changing it does not change the bundle."""
        return json.loads(self.files[MANIFEST])

    @cached_property
    def data(self) -> bytes:
        """The bundle's file form: a deterministic zip."""
        return archive.pack(self.files)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def save(self, path: str | Path) -> Path:
        """Writes the `.ecb` file whole or not at all. Raises BundleError."""
        archive.write_atomically(Path(path), self.data)
        return Path(path)

    export = save
    write = save

    @classmethod
    def read(cls, path: str | Path) -> Bundle:
        """A checked bundle. Raises BundleError naming the file and what is wrong with it."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise BundleError(f"cannot be read: {error.strerror}", where=str(path)) from error
        return cls.from_bytes(data, str(path))

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "bundle") -> Bundle:
        """A checked bundle from the bytes of an `.ecb` file. Raises BundleError."""
        files = archive.unpack(data, where)
        if MANIFEST not in files:
            raise BundleError("holds no manifest.json: not an edgecc bundle", where=where)
        check_contents(schema.parse(files[MANIFEST], where), files, where)
        return cls(files)

    def vectors(self) -> list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
        """The golden vectors: (inputs, outputs) by name, in native dtype and layout."""
        manifest = self.manifest
        return [
            (self._vector(manifest["inputs"], f"vectors/{n}/input"),
             self._vector(manifest["outputs"], f"vectors/{n}/output"))
            for n in range(manifest["vectors"]["count"])
        ]

    def _vector(self, described: list[dict], stem: str) -> dict[str, np.ndarray]:
        paths = [f"{stem}_{i}.bin" for i in range(len(described))]
        return {port["name"]: ports.from_bytes(port, self.files[path], path)
                for port, path in zip(described, paths, strict=True)}

    def run(
        self, inputs: Mapping[str, Any], *, board: Any = None, native: bool = False,
        context: Context | None = None,
    ) -> dict[str, np.ndarray]:
        """Outputs by name for one set of inputs.

        Inputs: model-shaped float arrays (quantized here) or native arrays, by name. Outputs:
        model-shaped float32, or the C API's dtype and layout with `native`. Runs on `board`;
        without one on this machine if it can, else on the target's emulated board.
        Raises ConfigError, BoardError.
        """
        from edgecc.bundle.measure import run

        return run(self, inputs, board=board, native=native, context=context or Context())

    def run_many(
        self, samples: Iterable[Mapping[str, Any]], *, board: Any = None, native: bool = False,
        context: Context | None = None,
    ) -> list[dict[str, np.ndarray]]:
        """`run` for many sets of inputs in one session: uploaded once, started once.

        Raises ConfigError, BoardError.
        """
        from edgecc.bundle.measure import run_many

        return run_many(self, samples, board=board, native=native, context=context or Context())

    def evaluate(
        self, data: Any, labels: Any = None, *, metric: Any = "top1", boards: Sequence[Any] = (),
        float_model: Any = None, inputs: Sequence[str] = (),
        preprocessing: Preprocessing | None = None, limit: int | None = None,
        context: Context | None = None,
    ) -> Evaluation:
        """How right the bundle is on `data`, on each of `boards` and in ONNX Runtime.

        `data`: an .npz, a folder of pictures or .npy files, a mapping of arrays, an array, or a
        sequence of samples; `inputs` names the arrays to feed where they are not called as the
        inputs are. `labels`: the name of one of the arrays, a .csv, class names for subfolders
        (.txt), or an array. `metric`: top1, top5, mse, cosine, module:function, or a function of
        (outputs, labels). `float_model`: an ONNX file, unless the bundle keeps one.
        Raises ConfigError, BoardError, UnsupportedModel.
        """
        from edgecc.bundle.evaluate import evaluate

        return evaluate(self, data, labels, metric=metric, boards=boards, float_model=float_model,
                        inputs=inputs, preprocessing=preprocessing, limit=limit,
                        context=context or Context())

    def bench(self, board: Any = None, *, count: int = 100, warmup: int = 10,
              profile: bool = False, context: Context | None = None) -> Any:
        """Deploys, replays the golden vectors, measures; an edgecc.rpc Report.

        Raises BoardError.
        """
        from edgecc.bundle.measure import bench

        return bench(self, board, count=count, warmup=warmup, profile=profile,
                     context=context or Context())


def _entry(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
