"""Knobs by measurement: the search for tiles, and the file that keeps what it found."""
