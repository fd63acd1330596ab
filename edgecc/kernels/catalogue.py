"""Every kernel: the concatenation of each operator file's KERNELS."""

from edgecc.kernels import conv2d_int8, depthwise_int8, fully_connected_int8

KERNELS = (*conv2d_int8.KERNELS, *depthwise_int8.KERNELS, *fully_connected_int8.KERNELS)
