#!/bin/sh
# The second command of the README: installs what the tests use and runs the everyday tests.
# Arguments go to pytest instead of the defaults. What cannot be installed is named, and the tests
# that need it skip with the reason.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
install_checkout test
install_torch
sh scripts/system-packages.sh
[ $# -gt 0 ] || set -- -n auto --dist worksteal -m "not slow"
exec "$python" -m pytest "$@"
