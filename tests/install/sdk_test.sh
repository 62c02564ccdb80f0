#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the component `sdk` alone into an empty prefix and uses it as a vendor does:
#   every link in its pages refers to a file in the prefix,
#   `gantry plugins new` writes plugins in both languages that build against it, pass their tests and the
#   installed conformance kit, and make packages; the examples build and conform,
#   a template that is built with a newer minor of the ABI runs in this core.
#
# usage: sdk_test.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CMAKE_GENERATOR=Ninja
say() { echo "sdk: $*"; }
fail() { say "FAILED: $*" >&2; exit 1; }
gantry=$build/bin/gantry

# quietly LOG COMMAND...: shows the output of a command that fails
quietly() {
  log=$1
  shift
  "$@" >"$log" 2>&1 || { cat "$log"; fail "$*"; }
}
# build_plugin PREFIX DIRECTORY NAME: builds what is installed in share/gantry/sdk/DIRECTORY as NAME
build_plugin() {
  cp -r "$1/share/gantry/sdk/$2" "$work/$3"
  quietly "$work/$3.log" cmake -S "$work/$3" -B "$work/$3/build" -DCMAKE_PREFIX_PATH="$1"
  [ -z "$(find "$work/$3/build/share" -name '*.yaml' 2>/dev/null)" ] || fail "a manifest of $2 is written before its library"
  quietly "$work/$3.log" cmake --build "$work/$3/build"
}

quietly "$work/install.log" cmake --install "$build" --prefix "$work/sdk" --component sdk

say "nothing of the core is installed"
[ "$(ls "$work/sdk" | tr '\n' ' ')" = "bin include lib share " ] || fail "the prefix has $(ls "$work/sdk")"
[ "$(cd "$work/sdk" && find lib -type f)" = lib/pkgconfig/gantry-sdk.pc ] || fail "lib has $(cd "$work/sdk" && find lib -type f)"
[ "$(ls "$work/sdk/bin")" = gantry-conformance ] || fail "bin has $(ls "$work/sdk/bin")"
[ -z "$(find "$work/sdk" -name 'lib*.so*')" ] || fail "the prefix has a library"

say "its pages exist, and their links resolve"
for page in README.md ABI.md MANIFEST.md REASONS.md CONFORMANCE.md LICENSE; do
  [ -s "$work/sdk/share/gantry/sdk/$page" ] || fail "share/gantry/sdk/$page does not exist"
done
find "$work/sdk" -name '*.md' >"$work/pages"
count=0
while read -r page; do
  for link in $(grep -oE '\]\([^)]+\)' "$page" | sed -e 's/^](//' -e 's/)$//' -e 's/#.*//'); do
    case $link in http*) continue ;; esac
    [ -e "$(dirname "$page")/$link" ] || fail "${page#"$work/sdk/"} links to $link, which does not exist"
    count=$((count + 1))
  done
done <"$work/pages"
[ "$count" -ge 10 ] || fail "the pages have $count links, expected 10 or more"

# An artifact with a payload for the templates' type key.
mkdir "$work/model"
printf '\005\0\0\0\0\0\0\0hello' >"$work/model/note.bin"
echo 'int unused_function(void) { return 0; }' >"$work/model/host.c"
cat >"$work/model/model.yaml" <<'RECIPE'
schema: "1.0"
sources: [host.c]
device_modules: [{type_key: example.null, data: note.bin}]
RECIPE
quietly "$work/pack.log" "$gantry" -q pack "$work/model/model.yaml" -o "$work/model.so"
# runs PLUGINS_DIRECTORY: calls a function of the payload
runs() {
  "$gantry" --plugins "$1" run "$work/model.so" --function note >"$work/answer" 2>"$work/error" ||
    { cat "$work/error"; fail "running a function of $1"; }
  grep -q hello "$work/answer" || { cat "$work/answer"; fail "note() of $1 is not the payload's text"; }
}

# new_plugin PREFIX LANGUAGE NAME: writes a plugin with the installed templates, builds it, runs its tests
new_plugin() {
  quietly "$work/$3.log" "$gantry" plugins new acme.npu --language "$2" -o "$work/$3" --template "$1/share/gantry/sdk/template"
  quietly "$work/$3.log" env PATH="$work/sdk/bin:$build/bin:$PATH" cmake -S "$work/$3" -B "$work/$3/build" -DCMAKE_PREFIX_PATH="$1" -DBUILD_TESTING=ON
  quietly "$work/$3.log" cmake --build "$work/$3/build"
  quietly "$work/$3.log" ctest --test-dir "$work/$3/build" --no-tests=error
}

# conforms DIRECTORY NAME: runs the installed kit with the payloads of the directory
conforms() {
  quietly "$work/kit.log" "$work/sdk/bin/gantry-conformance" --seed 1 --soak 0.2 --payloads "$1/payloads.yaml" \
    --beside "$build/share/gantry/plugins.d/graph/graph.yaml" \
    "$1/build/share/gantry/plugins.d/$2/$2.yaml"
  # Not every container permits case 47 to hide /dev.
  grep -qE '^level: silver$|^skipped 47 .*permit' "$work/kit.log" || { cat "$work/kit.log"; fail "the plugin $2 does not reach silver"; }
}

for language in c cxx; do
  say "a new plugin in $language builds, conforms, passes its tests and makes a package"
  new_plugin "$work/sdk" $language new_$language
  conforms "$work/new_$language" npu
  if grep -rliE 'example|null[_. ]' "$work/new_$language" --exclude-dir=build; then
    fail "the files above have names of the template"
  fi
  for program in dpkg-shlibdeps file; do
    command -v "$program" >/dev/null || fail "$program is not installed, which cpack requires"
  done
  (cd "$work/new_$language/build" && quietly "$work/cpack.log" cpack)
  deb=$work/new_$language/build/gantry-plugin-acme-npu_1.0.0_$(dpkg --print-architecture).deb
  dpkg-deb -x "$deb" "$work/package_$language"
  manifest=$work/package_$language/usr/share/gantry/plugins.d/acme.npu.$(uname -m).yaml
  [ -s "$work/package_$language$(sed -n 's/^library: //p' "$manifest")" ] || fail "the package of $language has no library"
  dpkg-deb -f "$deb" Depends | grep -q 'gantry-abi-1 (>= 1.0)' || fail "the package of $language does not depend on the ABI"
done

say "a plugin with the address sanitizer runs in the kit, which shows what the sanitizer finds"
runtime=$(c++ -print-file-name=libasan.so)
cp -r "$work/new_c" "$work/sanitized"
rm -rf "$work/sanitized/build"
# sanitized ARGUMENT...: the kit with the runtime in its process
sanitized() {
  LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 "$work/sdk/bin/gantry-conformance" "$work/sanitized/build/share/gantry/plugins.d/npu/npu.yaml" \
    --payloads "$work/sanitized/payloads.yaml" --seed 1 --mutations 100 --soak 0.2 "$@" >"$work/kit.log" 2>&1
}
# The same command as that of CONFORMANCE.md.
grep -q 'LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0' "$work/sdk/share/gantry/sdk/CONFORMANCE.md" ||
  fail "CONFORMANCE.md has another command"
build_sanitized() {
  quietly "$work/sanitized.log" cmake -S "$work/sanitized" -B "$work/sanitized/build" -DCMAKE_PREFIX_PATH="$work/sdk" \
    -DCMAKE_C_FLAGS=-fsanitize=address
  quietly "$work/sanitized.log" cmake --build "$work/sanitized/build"
}
build_sanitized
sanitized || { cat "$work/kit.log"; fail "the kit over a plugin with the sanitizer"; }
grep -q ' 0 failed' "$work/kit.log" || { cat "$work/kit.log"; fail "a case fails"; }
# A function that writes behind a block.
sed -i -e 's/^#include <string.h>/&\nstatic void write_behind(void) { volatile char* p = malloc(16); p[16] = 1; free((void*)p); }/' \
  -e 's/^  (void)env;/&\n  write_behind();/' "$work/sanitized/npu_backend.c"
build_sanitized
! sanitized --case 51 || { cat "$work/kit.log"; fail "the kit passes a plugin that writes behind a block"; }
grep -q 'heap-buffer-overflow' "$work/kit.log" || { cat "$work/kit.log"; fail "the report has no text of the sanitizer"; }

say "the example builds and lists its devices"
build_plugin "$work/sdk" example example
"$gantry" --plugins "$work/example/build/share/gantry/plugins.d" devices >"$work/devices" || fail "gantry devices"
grep -q '^abacus:1  example\.abacus' "$work/devices" || { cat "$work/devices"; fail "the accelerator is not listed"; }

say "the example conforms"
quietly "$work/pack.log" "$gantry" -q pack "$work/example/model/model.yaml" -o "$work/example/model.so"
conforms "$work/example" abacus

say "the example of an executor builds, conforms and runs its model"
build_plugin "$work/sdk" example_executor executor
quietly "$work/pack.log" "$gantry" -q pack "$work/executor/model/model.yaml" -o "$work/executor/model.so"
conforms "$work/executor" ensemble
# float32[4], 3 in each element
{ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
  for _ in 1 2 3 4; do printf '\000\000\100\100'; done; } >"$work/x.npy"
"$gantry" --plugins "$work/executor/build/share/gantry/plugins.d" run "$work/executor/model.so" --input "x=$work/x.npy" \
  >"$work/answer" || fail "running the model of the ensemble"
grep -q '^out  float32\[4\]  7\.5 7\.5 ' "$work/answer" || { cat "$work/answer"; fail "the output of the ensemble is wrong"; }

say "a template that is built with a newer minor runs in this core"
cp -r "$work/sdk" "$work/newer"
sed -i 's/^#define GANTRY_ABI_MINOR .*/#define GANTRY_ABI_MINOR 1u/' "$work/newer/include/gantry/abi.h"
for language in c cxx; do
  build_plugin "$work/newer" "template/$language" "newer_$language"
  plugins=$work/newer_$language/build/share/gantry/plugins.d
  grep -q 'max_minor: 1' "$plugins/null/null.yaml" || fail "the manifest does not have the SDK's minor"
  runs "$plugins"
  [ ! -s "$work/error" ] || { cat "$work/error"; fail "a warning for ranges that are equal"; }

  # A manifest that was written for the older SDK.
  sed -i 's/max_minor: 1/max_minor: 0/' "$plugins/null/null.yaml"
  ! "$gantry" --plugins "$plugins" run "$work/model.so" --function note >"$work/answer" 2>"$work/error" ||
    fail "a manifest with another range is accepted"
  grep -q 'null.yaml declares ABI 1.0, ' "$work/error" || { cat "$work/error"; fail "no error for ranges that differ"; }
done
say "passed"
