# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Installs the packages that a build needs and builds gantry in $build; the demos source it.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
build=build/release

step() { printf '\n== %s\n' "$*"; }

step "packages: what the build requires; a minute, if they are missing"
tools/dev/install-dependencies build

step "build, seven minutes on two CPUs, and beside it the packages of the drivers on which the demo runs"
drivers=$(mktemp)
trap 'rm -f "$drivers"' EXIT
tools/dev/install-dependencies run >"$drivers" 2>&1 &
installing=$!
cmake --preset release -DBUILD_TESTING=OFF >/dev/null
cmake --build "$build" -j "$(nproc)"
installed=0
wait "$installing" || installed=$?
cat "$drivers"
[ "$installed" = 0 ] || exit "$installed"
