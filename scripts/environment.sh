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
