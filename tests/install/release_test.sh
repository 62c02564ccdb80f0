#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the README's first command has built, and checks that nothing is missing: every
# manifest has its library, and artifacts that import from their runtime run.
#
# usage: release_test.sh BUILD_DIR
set -eu
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "release: FAILED: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" 2>&1 || { cat "$work/install.log"; fail "cmake --install"; }
for plugins in "$build/share/gantry/plugins.d" "$work/prefix/share/gantry/plugins.d"; do
  for manifest in "$plugins"/*/*.yaml; do
    name=$(basename "$manifest" .yaml)
    [ -s "$plugins/$name/libgantry_$name.so" ] || fail "$manifest has no library"
  done
done
for file in man/man1/gantry.1 man/man1/gantry-run.1 man/man1/gantry-plugins-doctor.1 man/man1/gantry-conformance.1 bash-completion/completions/gantry \
  zsh/vendor-completions/_gantry fish/vendor_completions.d/gantry.fish; do
  [ -s "$work/prefix/share/$file" ] || fail "share/$file is missing or empty"
done
golden=$source/tests/golden/data/tvm-0.12
"$work/prefix/bin/gantry" -q run "$golden/resnet20_c.so" --each --input data="$golden/resnet20.input.npz" \
  --expect "$golden/resnet20_c.expected.npz" >"$work/run.log" || { cat "$work/run.log"; fail "gantry run resnet20_c.so"; }
echo "release: everything that is installed is built"
