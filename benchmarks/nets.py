"""Large networks of torchvision's shapes in plain torch with seeded random weights, for speed.

Sources: He et al. 2015 (ResNet), Sandler et al. 2018 (MobileNetV2).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

PIXELS = 224


class Norm(nn.Sequential):
    """Convolution, BatchNorm and, if asked for, an activation."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1,
                 activation: Any = None) -> None:
        layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups,
                            bias=False), nn.BatchNorm2d(outputs)]
        super().__init__(*layers, *([activation()] if activation else []))


class Residual(nn.Module):
    """body(x) + shortcut(x), then ReLU where `last` says so."""

    def __init__(self, body: Any, shortcut: Any = None, last: Any = None) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut or nn.Identity()
        self.last = last() if last else nn.Identity()

    def forward(self, x: Any) -> Any:
        return self.last(self.body(x) + self.shortcut(x))


def mobilenet_v2() -> nn.Module:
    settings = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                (6, 160, 3, 2), (6, 320, 1, 1))
    layers: list[nn.Module] = [Norm(3, 32, 3, 2, activation=nn.ReLU6)]
    inputs = 32
    for expansion, outputs, count, stride in settings:
        for i in range(count):
            layers.append(_inverted(inputs, outputs, expansion, stride if i == 0 else 1))
            inputs = outputs
    return nn.Sequential(*layers, Norm(inputs, 1280, 1, activation=nn.ReLU6), *_head(1280))


def _inverted(inputs: int, outputs: int, expansion: int, stride: int) -> nn.Module:
    inner = inputs * expansion
    first = [Norm(inputs, inner, 1, activation=nn.ReLU6)] if expansion > 1 else []
    body = nn.Sequential(*first, Norm(inner, inner, 3, stride, inner, nn.ReLU6),
                         Norm(inner, outputs, 1))
    return Residual(body) if stride == 1 and inputs == outputs else body


def resnet18() -> nn.Module:
    return _resnet((2, 2, 2, 2), _basic, 1)


def resnet50() -> nn.Module:
    return _resnet((3, 4, 6, 3), _bottleneck, 4)


def _resnet(counts: tuple[int, ...], body: Any, widening: int) -> nn.Module:
    layers: list[nn.Module] = [Norm(3, 64, 7, 2, activation=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, count in enumerate(counts):
        width = 64 << stage
        outputs = width * widening
        for i in range(count):
            stride = 2 if stage and i == 0 else 1
            shortcut = Norm(inputs, outputs, 1, stride) if i == 0 and (
                stride > 1 or inputs != outputs) else None
            layers.append(Residual(body(inputs, width, stride), shortcut, nn.ReLU))
            inputs = outputs
    return nn.Sequential(*layers, *_head(inputs))


def _basic(inputs: int, width: int, stride: int) -> nn.Module:
    return nn.Sequential(Norm(inputs, width, 3, stride, activation=nn.ReLU),
                         Norm(width, width, 3))


def _bottleneck(inputs: int, width: int, stride: int) -> nn.Module:
    return nn.Sequential(Norm(inputs, width, 1, activation=nn.ReLU),
                         Norm(width, width, 3, stride, activation=nn.ReLU),
                         Norm(width, 4 * width, 1))


def _head(channels: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]


NETS = {"mobilenet_v2": mobilenet_v2, "resnet18": resnet18, "resnet50": resnet50}


def onnx_of(name: str) -> Any:
    """The net as a canonical ONNX model with input `input` (1, 3, 224, 224)."""
    from edgecc import model

    torch.manual_seed(0)
    return model.imported(NETS[name]().eval(), shapes={"input": (1, 3, PIXELS, PIXELS)})
