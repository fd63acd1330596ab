"""A Debian arm64 sysroot from the packages that apt on this machine knows, kept in the cache. Needs
no root and changes nothing of the system: apt gets folders of its own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from edgecc.context import Context

PACKAGES = ("libc6", "libc6-dev", "libgcc-s1", "linux-libc-dev")
APT_TIMEOUT_S = 120


def sysroot() -> Path:
    """The unpacked folder, or a skip that says what is missing."""
    kept = Context().cache_dir / "tests" / "debian-arm64"
    if kept.is_dir():
        return kept
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("needs apt-get and dpkg-deb")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        folder = Path(name)
        try:
            unpacked = fetch(folder)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"apt cannot get arm64 packages: {error}")
        os.replace(unpacked, kept)
    return kept


def fetch(folder: Path) -> Path:
    """Downloads and unpacks into `folder`/root."""
    for part in ("lists/partial", "cache/archives/partial", "root"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    run(folder, "apt-get", *options(folder), "-q", "update")
    found = run(folder, "apt-cache", *options(folder), "pkgnames", "libgcc-").split()
    newest = max((n for n in found if n.endswith("-dev") and n.split("-")[1].isdigit()),
                 key=lambda n: int(n.split("-")[1]))
    run(folder, "apt-get", *options(folder), "-q", "download", *PACKAGES, newest)
    for package in folder.glob("*.deb"):
        run(folder, "dpkg-deb", "-x", package, "root")
    return folder / "root"


def options(folder: Path) -> list[str]:
    values = {"Dir::State": folder, "Dir::State::lists": folder / "lists",
              "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache",
              "APT::Architecture": "arm64", "APT::Architectures": "arm64",
              "Debug::NoLocking": "1", "APT::Sandbox::User": "root"}
    return [word for key, value in values.items() for word in ("-o", f"{key}={value}")]


def run(folder: Path, *argv: object) -> str:
    done = subprocess.run(list(map(str, argv)), cwd=folder, check=True, capture_output=True,
                          text=True, timeout=APT_TIMEOUT_S, stdin=subprocess.DEVNULL)
    return done.stdout
