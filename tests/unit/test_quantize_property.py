"""Random graphs, calibrated with every observer: the result is valid and near the float model."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from model_graphs import feeds_of
from model_strategies import graphs

from edgecc.config import CompileConfig
from edgecc.model import check_model, load, oracle
from edgecc.quantize import check_quantized, is_qdq, quantize
from edgecc.quantize.observers import OBSERVERS


@settings(max_examples=80)
@given(graphs(), st.sampled_from(sorted(OBSERVERS)))
def test_random_graphs_quantize(proto, observer):
    model = load(proto)
    samples = [feeds_of(model, seed) for seed in range(4)]
    config = CompileConfig(quantization="int8", observer=observer)
    result, report = quantize(model, samples, config=config)
    check_model(result)
    check_quantized(result)
    assert [v.name for v in result.graph.outputs] == [v.name for v in model.graph.outputs]
    assert all(np.isfinite(value).all() for value in oracle.run(result, samples[0]).values())
    named = {row.node for row in report.left_in_float}
    for node in model.graph:
        int8 = [n for n in result.graph if n.name == node.name]
        assert len(int8) == 1, "every node is still there, once"
    assert is_qdq(result) or named == {node.name for node in model.graph}
    if observer == "minmax" and report.rows:
        # No clipping: each tensor is within its own step plus what came before it. A row far
        # below 0 dB would mean parameters of another tensor.
        assert min(row.sqnr_db for row in report.rows) > -1
