"""A torch module through `edgecc.compile` on this machine."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch (pip install 'edgecc[torch]')")

from torch import nn  # noqa: E402

import edgecc  # noqa: E402
from edgecc.bundle import oracle  # noqa: E402

pytestmark = pytest.mark.host


class Small(nn.Module):
    """One block of what the large nets are made of, and two inputs."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8),
                                  nn.Hardswish())
        self.depthwise = nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.squeeze, self.excite = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.head = nn.Linear(8, 4)

    def forward(self, image, bias):
        x = self.stem(image)
        y = nn.functional.silu(self.depthwise(x))
        gate = torch.sigmoid(self.excite(torch.relu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        return self.head((x + y * gate).mean((2, 3))) + bias


@pytest.fixture(scope="module")
def module():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return Small().train()


@pytest.fixture(scope="module")
def samples():
    generator = np.random.default_rng(0)
    return [{"image": generator.standard_normal((1, 3, 16, 16)).astype(np.float32),
             "bias": generator.standard_normal((1, 4)).astype(np.float32)} for _ in range(16)]


EXAMPLE = (torch.zeros(1, 3, 16, 16), torch.zeros(1, 4))


def test_float32_answers_are_torchs(module, samples):
    bundle = edgecc.compile(module, example_inputs=EXAMPLE)
    assert bundle.manifest["name"] == "small" and module.training
    module.eval()
    for sample in samples[:4]:
        with torch.no_grad():
            wanted = module(**{name: torch.from_numpy(a) for name, a in sample.items()}).numpy()
        np.testing.assert_allclose(bundle.run(sample)["output"], wanted, rtol=0, atol=1e-5)
    module.train()


def test_int8_runs_and_is_the_same_every_time(module, samples):
    made = [edgecc.compile(module, example_inputs=EXAMPLE, quantization="int8",
                           calibration=samples) for _ in range(2)]
    assert made[0].sha256 == made[1].sha256
    assert made[0].bench("host", count=5, warmup=1).to_json()["golden"] == "pass"
    assert all(agreement.holds for agreement in oracle.compare(made[0]))
    names = {step["name"] for step in made[0].manifest["steps"]}
    assert {"stem_0", "depthwise", "head"} <= names
