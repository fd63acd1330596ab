"""A small convolutional network for scikit-learn's digits, trained in seconds without a framework.

Filters are learned by k-means on whitened patches (Coates & Ng, "Learning Feature
Representations with K-means", 2012), one layer after the other; a logistic regression on the
pooled features is the last layer. The result is an ordinary float32 ONNX model.

Shapes: images (n, 1, 8, 8) in [0, 1]; probabilities (n, 10).
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

KERNEL = 3
FILTERS = (16, 32)
SPARSITY = (0.5, 0.0)  # how far below a layer's bias is moved, in standard deviations
PATCHES = 20_000


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images, held-out images, and the labels of each."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    return train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)


def patches(images: np.ndarray) -> np.ndarray:
    """Zero-padded 3x3 windows: (n, h, w, channels * 9)."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (KERNEL, KERNEL), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(*images.shape[:1], *images.shape[2:], -1)


def learn_filters(images: np.ndarray, count: int, sparsity: float) -> tuple:
    """Weights (count, channels, 3, 3) and bias (count,) of one layer."""
    rows = patches(images).reshape(-1, images.shape[1] * KERNEL**2)
    rows = rows[np.random.default_rng(0).permutation(len(rows))[:PATCHES]]
    mean = rows.mean(0)
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False))
    whiten = vectors * (values + 0.05 * values.mean()) ** -0.5 @ vectors.T
    white = unit((rows - mean) @ whiten)
    means = MiniBatchKMeans(count, random_state=0, n_init=1, batch_size=4096).fit(white)
    weights = unit(means.cluster_centers_) @ whiten
    spread = (rows @ weights.T).std()
    weights, bias = weights / spread, -weights @ mean / spread - sparsity
    return weights.reshape(count, -1, KERNEL, KERNEL).astype(np.float32), bias.astype(np.float32)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)


def features(images: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """What Conv, Relu and AveragePool make of the images."""
    maps = np.maximum(patches(images) @ weights.reshape(len(weights), -1).T + bias, 0)
    n, h, w, c = maps.shape
    return maps.reshape(n, h // 2, 2, w // 2, 2, c).mean((2, 4)).transpose(0, 3, 1, 2)


def train(images: np.ndarray, labels: np.ndarray) -> onnx.ModelProto:
    """The trained network. Same data, same bytes."""
    tensors, maps = [], images
    for count, sparsity in zip(FILTERS, SPARSITY, strict=True):
        weights, bias = learn_filters(maps, count, sparsity)
        maps = features(maps, weights, bias)
        tensors += [weights, bias]
    flat = maps.reshape(len(maps), -1)
    scaler = StandardScaler().fit(flat)
    last = LogisticRegression(C=0.1, max_iter=1000).fit(scaler.transform(flat), labels)
    slope = last.coef_ / scaler.scale_  # the scaler becomes part of the last layer
    return network([*tensors, slope, last.intercept_ - slope @ scaler.mean_])


def network(tensors: list[np.ndarray]) -> onnx.ModelProto:
    """Two convolutions and a fully connected layer: an ONNX model of the trained tensors."""
    names = ["w1", "b1", "w2", "b2", "w3", "b3"]
    nodes, at = [], "image"
    for i in ("1", "2"):
        nodes += [
            helper.make_node("Conv", [at, f"w{i}", f"b{i}"], [f"c{i}"], f"conv_{i}",
                             kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu_{i}"),
            helper.make_node("AveragePool", [f"r{i}"], [f"p{i}"], f"pool_{i}",
                             kernel_shape=[2, 2], strides=[2, 2]),
        ]
        at = f"p{i}"
    nodes += [
        helper.make_node("Flatten", [at], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "w3", "b3"], ["logits"], "classifier", transB=1),
        helper.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=-1),
    ]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(np.asarray(value, np.float32), name)
         for name, value in zip(names, tensors, strict=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model
