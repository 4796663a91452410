#!/usr/bin/env bash
# Installs the cross compilers, emulators and the browser that tests use, from Debian's packages.
#
# Where that is impossible (no apt-get, or not root) it says so and succeeds: those tests then skip,
# and say which package each of them misses.
set -euo pipefail

packages=()
need() { # need COMMAND PACKAGE...: the packages are wanted where there is no such command
    command -v "$1" >/dev/null || packages+=("${@:2}")
}
need gcc gcc libc6-dev
need cmake cmake
need arm-none-eabi-gcc gcc-arm-none-eabi libnewlib-arm-none-eabi
need qemu-system-arm qemu-system-arm
need riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf
need qemu-system-riscv32 qemu-system-misc
need chromium chromium
need chromedriver chromium-driver
need dot graphviz

if ((${#packages[@]} == 0)); then
    exit 0
fi
if ! command -v apt-get >/dev/null || ((EUID != 0)); then
    echo "Tests will skip what needs ${packages[*]}: install them with apt-get as root." >&2
    exit 0
fi
echo "Installing ${packages[*]} …"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null || true # an offline mirror may still have them
if ! apt-get install -q -y --no-install-recommends "${packages[@]}" >/dev/null; then
    echo "Tests will skip what needs ${packages[*]}: apt-get could not install them." >&2
fi
