"""Every kernel: the concatenation of each operator file's KERNELS."""

from edgecc.kernels import (
    binary,
    broadcast,
    compact_int8,
    compare,
    conv2d_dsp,
    conv2d_float,
    conv2d_int8,
    conv2d_mve,
    convert,
    copy,
    depthwise_dsp,
    depthwise_float,
    depthwise_int8,
    depthwise_mve,
    fixed,
    float16,
    fully_connected_float,
    fully_connected_int8,
    grouped_product,
    interpolate,
    matmul,
    matmul_int8,
    normalize,
    pool2d,
    quantize,
    recentre,
    reduce,
    softmax,
    table,
    take,
    transpose,
    unary,
)

MODULES = (conv2d_int8, compact_int8, depthwise_int8, fully_connected_int8, conv2d_float,
           depthwise_float, fully_connected_float, pool2d, softmax, binary, unary, table,
           quantize, transpose, copy, take, interpolate, fixed, broadcast, compare, reduce,
           normalize, matmul, matmul_int8, recentre, conv2d_mve, depthwise_mve,
           conv2d_dsp, depthwise_dsp, convert, grouped_product)
KERNELS = tuple(record for module in MODULES for record in module.KERNELS)
KERNELS += tuple(float16.derived(KERNELS))
