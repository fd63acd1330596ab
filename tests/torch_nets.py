"""Networks of the last ten years in plain torch, small enough for tests, with seeded weights.

The weights are random, but BatchNorm statistics are those of the data, and residual branches add
little, as in trained nets: otherwise dozens of random layers would make of every rounding what
they make of a picture, and int8 could not agree with float32.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)  # small nets gain nothing from more, and tests run side by side
PIXELS = 64


def images(count: int, pixels: int = PIXELS, seed: int = 0) -> np.ndarray:
    """Pictures (count, 3, pixels, pixels): smooth random blobs with noise, about standard."""
    generator = np.random.default_rng(seed)
    coarse = generator.standard_normal((count, 3, 6, 6)).astype(np.float32)
    smooth = F.interpolate(torch.from_numpy(coarse), size=pixels, mode="bicubic").numpy()
    noise = generator.standard_normal((count, 3, pixels, pixels)).astype(np.float32)
    return smooth + np.float32(0.2) * noise


def settled(make, *, pixels: int = PIXELS, seed: int = 0) -> nn.Module:
    """A net in eval mode whose BatchNorms have seen data; same seed, same weights."""
    torch.manual_seed(seed)
    net = make()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the plain average
            nn.init.uniform_(module.weight, 0.7, 1.3)
            nn.init.normal_(module.bias, 0.0, 0.2)
    for block in net.modules():
        if isinstance(block, Inverted) and block.residual:
            nn.init.uniform_(block.layers[-1][1].weight, 0.1, 0.3)
    net.train()
    with torch.no_grad():
        for step in range(4):
            net(torch.from_numpy(images(16, pixels, 100 + step)))
    return net.eval()


class ConvNorm(nn.Sequential):
    """Convolution, BatchNorm, activation."""

    def __init__(self, inputs, outputs, kernel=3, stride=1, groups=1, activation=None):
        conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs),
                         *([activation()] if activation else []))


class SqueezeExcite(nn.Module):
    """Channels weighed by what the whole picture says."""

    def __init__(self, channels, inner, activation, gate):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce, self.expand = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)
        self.activation, self.gate = activation(), gate()

    def forward(self, x):
        return x * self.gate(self.expand(self.activation(self.reduce(self.pool(x)))))


class Inverted(nn.Module):
    """The inverted residual block of MobileNetV2, V3 and EfficientNet."""

    def __init__(self, inputs, expanded, outputs, kernel, stride, activation, excite=None):
        super().__init__()
        layers = [] if expanded == inputs else [
            ConvNorm(inputs, expanded, 1, activation=activation)]
        layers.append(ConvNorm(expanded, expanded, kernel, stride, expanded, activation))
        layers += [excite(expanded)] if excite else []
        layers.append(ConvNorm(expanded, outputs, 1))
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.residual else y


class MobileNetV2(nn.Module):
    """Sandler et al. 2018, width 0.25, the whole block table."""

    BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self, width=0.25, classes=10):
        super().__init__()
        channels = eights(32 * width)
        layers = [ConvNorm(3, channels, 3, 2, activation=nn.ReLU6)]
        for expand, outputs, repeats, first_stride in self.BLOCKS:
            for index in range(repeats):
                stride = first_stride if index == 0 else 1
                made = eights(outputs * width)
                layers.append(Inverted(channels, channels * expand, made, 3, stride, nn.ReLU6))
                channels = made
        layers.append(ConvNorm(channels, 320, 1, activation=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(320, classes))

    def forward(self, image):
        return self.classifier(self.features(image).mean((2, 3)))


class MobileNetV3Small(nn.Module):
    """Howard et al. 2019: hard-swish, squeeze-excite with hard-sigmoid, 5x5 depthwise."""

    BLOCKS = ((3, 16, 16, True, "RE", 2), (3, 72, 24, False, "RE", 2), (3, 88, 24, False, "RE", 1),
              (5, 96, 40, True, "HS", 2), (5, 240, 40, True, "HS", 1), (5, 120, 48, True, "HS", 1),
              (5, 288, 96, True, "HS", 2), (5, 576, 96, True, "HS", 1))

    def __init__(self, width=0.5, classes=10):
        super().__init__()
        channels = eights(16 * width)
        layers = [ConvNorm(3, channels, 3, 2, activation=nn.Hardswish)]
        for kernel, expanded, outputs, excites, activation, stride in self.BLOCKS:
            made, inner = eights(outputs * width), eights(expanded * width)
            layers.append(Inverted(channels, inner, made, kernel, stride,
                                   nn.Hardswish if activation == "HS" else nn.ReLU,
                                   self.excite if excites else None))
            channels = made
        last = eights(576 * width)
        layers.append(ConvNorm(channels, last, 1, activation=nn.Hardswish))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Linear(last, 128), nn.Hardswish(), nn.Dropout(0.2),
                                        nn.Linear(128, classes))

    @staticmethod
    def excite(channels):
        return SqueezeExcite(channels, eights(channels / 4), nn.ReLU, nn.Hardsigmoid)

    def forward(self, image):
        return self.classifier(torch.flatten(self.pool(self.features(image)), 1))


class EfficientNet(nn.Module):
    """Tan and Le 2019, in small: SiLU, squeeze-excite with sigmoid, 3x3 and 5x5 depthwise."""

    BLOCKS = ((1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 2, 2),
              (6, 5, 112, 1, 1), (6, 5, 192, 2, 2), (6, 3, 320, 1, 1))

    def __init__(self, width=0.25, classes=10):
        super().__init__()
        channels = eights(32 * width)
        layers = [ConvNorm(3, channels, 3, 2, activation=nn.SiLU)]
        for expand, kernel, outputs, repeats, first_stride in self.BLOCKS:
            for index in range(repeats):
                made, inner = eights(outputs * width), max(4, channels // 4)
                layers.append(Inverted(
                    channels, channels * expand, made, kernel, first_stride if index == 0 else 1,
                    nn.SiLU, lambda c, i=inner: SqueezeExcite(c, i, nn.SiLU, nn.Sigmoid)))
                channels = made
        layers.append(ConvNorm(channels, 320, 1, activation=nn.SiLU))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(320, classes))

    def forward(self, image):
        return self.classifier(torch.flatten(self.pool(self.features(image)), 1))


class BasicBlock(nn.Module):
    """Two convolutions; the shortcut of option A subsamples and pads channels with zeros."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.added = (outputs - inputs) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.added:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added, self.added))
        return F.relu(y + x)


class ResNet20(nn.Module):
    """He et al. 2015 for CIFAR-10, with the names of its best-known state_dict."""

    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.layer1, self.layer2 = self.stage(16, 16, 1), self.stage(16, 32, 2)
        self.layer3, self.linear = self.stage(32, 64, 2), nn.Linear(64, classes)

    @staticmethod
    def stage(inputs, outputs, stride):
        first = BasicBlock(inputs, outputs, stride)
        return nn.Sequential(first, *[BasicBlock(outputs, outputs, 1) for _ in range(2)])

    def forward(self, image):
        y = F.relu(self.bn1(self.conv1(image)))
        y = self.layer3(self.layer2(self.layer1(y)))
        return self.linear(F.avg_pool2d(y, y.size()[3]).flatten(1))


def eights(channels: float) -> int:
    """The nearest multiple of eight, and at least eight."""
    return max(8, int(channels + 4) // 8 * 8)


NETS = {"mobilenet_v2": MobileNetV2, "mobilenet_v3_small": MobileNetV3Small,
        "efficientnet": EfficientNet}
