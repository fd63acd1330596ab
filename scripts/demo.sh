#!/bin/sh
# The first command of the README: trains a model, compiles it INT8 for a Raspberry Pi 5 and runs
# it over SSH, through QEMU on this machine. Arguments go to the sample.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
install_checkout sample
exec "$python" samples/01_digits_on_a_raspberry_pi.py "$@"
