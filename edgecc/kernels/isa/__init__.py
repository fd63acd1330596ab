"""Instruction sets: how each multiplies int8 activations by packed weights and requantizes.

One object per instruction set, all with the same few methods; tiles are parameters of the kernels
that use them, never copies.
"""
