# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Installs the packages that a build needs and builds gantry in $build; the demos source it.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
build=build/release

step() { printf '\n== %s\n' "$*"; }

step "packages"
tools/dev/install-dependencies build

step "build"
cmake --preset release -DBUILD_TESTING=OFF >/dev/null
cmake --build "$build" -j "$(nproc)"
