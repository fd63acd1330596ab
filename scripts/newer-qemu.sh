#!/bin/sh
# A QEMU that knows RISC-V's Zvfh, for the tests of float16 vectors. Debian 12 has QEMU 7.2, which
# does not: there, as root, one program of the backported package goes into edgecc's cache. Nothing
# is installed, and nothing else of the system changes. Without such a QEMU those tests skip.
set -eu

# This script is no program of RISC-V, but an old QEMU stops at the processor already.
script=$(cd "$(dirname "$0")" && pwd)/newer-qemu.sh
knows() {
    command -v "$1" >/dev/null 2>&1 &&
        ! "$1" -cpu rv64,v=true,zfh=true,zvfh=true "$script" 2>&1 | grep -q 'Property .* not found'
}

folder=${XDG_CACHE_HOME:-$HOME/.cache}/edgecc/qemu
if knows qemu-riscv64 || knows "${EDGECC_QEMU_RISCV64:-/nonexistent}" ||
    knows "$folder/qemu-riscv64"; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1 ||
    ! grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release 2>/dev/null; then
    echo "setup     no QEMU of version 8 or newer: tests of RISC-V's float16 vectors skip"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' | head -1)
    if [ -z "$mirror" ]; then
        echo "apt-get knows no mirror of bookworm: apt-get update" >&2
        return 1
    fi
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $mirror bookworm-backports main" >"$work/list"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
    set -- -q -o "Dir::Etc::SourceList=$work/list" -o Dir::Etc::SourceParts=- \
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root
    cd "$work"
    timeout 120 apt-get "$@" update && timeout 300 apt-get "$@" download \
        qemu-user/bookworm-backports || return 1
    dpkg-deb --fsys-tarfile qemu-user_*.deb | tar -x -C "$work/root" ./usr/bin/qemu-riscv64
    knows "$work/root/usr/bin/qemu-riscv64" || return 1
    mkdir -p "$folder" && cp "$work/root/usr/bin/qemu-riscv64" "$folder/new-$$" &&
        mv "$folder/new-$$" "$folder/qemu-riscv64"
}
echo "setup     fetching a newer qemu-riscv64 into $folder (60 MB)"
if ! fetch </dev/null >"$work/log" 2>&1; then
    tail -3 "$work/log" >&2
    echo "setup     there is none: tests of RISC-V's float16 vectors skip" >&2
fi
