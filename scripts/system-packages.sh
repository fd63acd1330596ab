#!/bin/sh
# Programs that the tests use and PyPI does not have, from the system's package manager.
# As root on Debian and its kin what is missing is installed, by name; otherwise it is only named.
set -eu
export PATH="$PATH:/usr/sbin:/sbin"

# program:package, where the program tells that the package is there
wanted="qemu-aarch64:qemu-user sshd:openssh-server ssh-keygen:openssh-client gcc:gcc g++:g++
clang:clang tcc:tcc make:make cmake:cmake aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu git:git
qemu-system-arm:qemu-system-arm qemu-system-riscv32:qemu-system-misc
arm-none-eabi-gcc:gcc-arm-none-eabi riscv64-unknown-elf-gcc:gcc-riscv64-unknown-elf"

sh "$(dirname "$0")/newer-qemu.sh" || echo "setup     newer-qemu.sh failed" >&2

missing=""
for pair in $wanted; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
# The cross compilers only recommend their C libraries.
case $missing in *aarch64-linux-gnu*) missing="$missing libc6-dev-arm64-cross" ;; esac
case $missing in *arm-none-eabi*) missing="$missing picolibc-arm-none-eabi" ;; esac
case $missing in *riscv64-unknown*) missing="$missing picolibc-riscv64-unknown-elf" ;; esac
if [ -z "$missing" ]; then
    exit 0
fi

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "setup     not installed:$missing"
    echo "setup     tests that need them skip; as root: apt-get install$missing"
    exit 0
fi
echo "setup     installing$missing with apt-get"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 -- one word per package
if ! { apt-get -q update && apt-get -q install -y --no-install-recommends $missing; } \
    </dev/null >"$log" 2>&1; then
    tail -5 "$log" >&2
    echo "setup     apt-get failed: tests that need the missing packages skip" >&2
fi
