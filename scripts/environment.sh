# Sourced by the other scripts: enters a virtual environment and installs this checkout into it.
# An active environment (VIRTUAL_ENV) is used; otherwise .venv in the checkout is made.

if [ -z "${VIRTUAL_ENV:-}" ]; then
    if [ ! -x .venv/bin/python ]; then
        echo "setup     making the virtual environment .venv"
        "${PYTHON:-python3}" -m venv .venv || {
            echo "setup     no virtual environment: install Python 3.10 or newer with its venv" \
                "module (Debian: python3-venv)" >&2
            exit 1
        }
    fi
    . .venv/bin/activate
fi
python=$VIRTUAL_ENV/bin/python

# install_checkout EXTRA: edgecc from this checkout with one of setup.py's extras.
install_checkout() {
    echo "setup     installing edgecc[$1] into $VIRTUAL_ENV (the first time: minutes)"
    "$python" -m pip install -qq --disable-pip-version-check --editable ".[$1]"
}

# install_torch: the torch extra, in the version that CI tests. It is large, so it comes only in CI
# and where EDGECC_TORCH=1 asks for it; where it cannot be had, the tests that need it skip.
install_torch() {
    if [ "${CI:-}" != true ] && [ "${EDGECC_TORCH:-}" != 1 ]; then
        "$python" -c 'import importlib.util as u; exit(u.find_spec("torch") is None)' ||
            echo "setup     no torch: its tests skip (EDGECC_TORCH=1 installs it, large)"
        return 0
    fi
    "$python" -m pip install -qq --disable-pip-version-check torch==2.13.0 ||
        echo "setup     torch cannot be installed: the tests that need it skip" >&2
}
