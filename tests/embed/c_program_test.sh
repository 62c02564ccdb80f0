#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares sdk/EMBED.md with the program that it contains and with the functions that the library exports, installs what an
# embedder needs into an empty prefix, builds sdk/embed/digits.c against the installed header with nothing but pkg-config, runs
# the commands of the page, and compares the digits that they print with TVM's.
#
# usage: c_program_test.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "embed: FAILED: $*" >&2; exit 1; }

for function in $(nm -D --defined-only "$build/lib/libgantry.so" | sed 's/.* //; s/@.*//'); do
  grep -q "\`$function\`" "$source/sdk/EMBED.md" || fail "EMBED.md does not name $function, which the library exports"
done
awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' "$source/sdk/EMBED.md" | cmp - "$source/sdk/embed/digits.c" ||
  fail "EMBED.md and digits.c differ"

for component in core dev sdk plugin-graph; do
  cmake --install "$build" --prefix "$work/prefix" --component $component >"$work/install.log" 2>&1 ||
    { cat "$work/install.log"; fail "installing $component"; }
done
libdir=$(dirname "$(find "$work/prefix" -name libgantry.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$work/digits" "$source/sdk/embed/digits.c" \
  $(pkg-config --cflags --libs gantry) || fail "building the program"

golden=$source/tests/golden/data/tvm-0.12
export LD_LIBRARY_PATH=$libdir
mkdir "$work/page"
cp "$source/tools/demo/data/images.npy" "$work/page"
"$build/bin/gantry" -q pack "$source/tools/demo/digits.yaml" -o "$work/page/digits.so" || fail "packing the demo's model"
awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' "$source/sdk/EMBED.md" >"$work/commands"
grep -q '^\./digits ' "$work/commands" || fail "EMBED.md has no command that runs the program"
(cd "$work/page" && env -u PKG_CONFIG_PATH -u LD_LIBRARY_PATH PREFIX="$work/prefix" sh -eu "$work/commands") >"$work/answers" ||
  fail "running the commands of EMBED.md"
cmp "$work/answers" "$source/tests/install/embed/answers.txt" || fail "the results differ from TVM's"

# Errors are printed and the status is 1.
for arguments in "" "absent.so $golden/digits_mlp.input.npz" "$golden/digits_mlp_llvm.so absent.npz"; do
  # shellcheck disable=SC2086
  if "$work/digits" $arguments >"$work/out" 2>"$work/error"; then fail "the program succeeds with \"$arguments\""; fi
  grep -q '^digits: ' "$work/error" || fail "the program prints no error with \"$arguments\""
done
