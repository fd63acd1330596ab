"""Boards: reaching them, running bundles on them, and figures that can be trusted.

A Board (passive site facts) and a bundle's files go in; a Report comes out of `rpc.bench`.
"""
