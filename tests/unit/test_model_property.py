"""Random graphs: whatever load rewrites, ONNX Runtime gives the same numbers."""

import numpy as np
from hypothesis import given, settings
from model_graphs import feeds_of
from model_strategies import graphs

from edgecc.model import check_model, load, oracle, to_text


@settings(max_examples=120)
@given(graphs())
def test_loading_keeps_the_answer(proto):
    model = load(proto)
    check_model(model)
    feeds = feeds_of(model)
    expected, found = oracle.run(proto, feeds), oracle.run(model, feeds)
    for name, value in expected.items():
        # Folding reassociates float32 products: a part of the largest value, as for kernels.
        limit = 1e-4 * max(float(np.abs(value).max()), 1e-3)
        assert np.abs(found[name] - value).max() <= limit
    if all(node.op_type != "Identity" for node in model.graph):
        assert to_text(load(model)) == to_text(model)
