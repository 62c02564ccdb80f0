#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: note_test.sh SDK COMPILER...
#
# The note of a plugin (gantry/note.h) is in the loaded part of the library after every step that
# removes parts of a file, with every compiler and linker of this machine.
set -u -o pipefail
sdk=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "note_test: $*" >&2
  exit 1
}

# has_note FILE WHAT: one note of 272 bytes, in a segment of type NOTE
has_note() {
  local found
  found=$(readelf --notes --wide "$1" 2>/dev/null | grep -c '^ *GANTRY *0x00000110')
  [ "$found" = 1 ] || fail "$2: $found notes in the file, expected 1"
  readelf --segments --wide "$1" | grep -q '[.]note[.]gantry' || fail "$2: the note is in no segment"
}

flags=(-fPIC -DGANTRY_PLUGIN_ID="\"example.null\"" -DGANTRY_PLUGIN_VERSION="\"1.0.0\"" "-I$sdk/include" "-I$sdk/cxx")
# check COMPILER SOURCE OPTION...
check() {
  local compiler=$1 source=$2 what="$*"
  shift 2
  local library=$work/plugin.so
  "$compiler" -shared "${flags[@]}" "$@" "$source" -o "$library" 2>"$work/error" || { cat "$work/error"; fail "$what"; }
  has_note "$library" "$what"
  strip -o "$work/stripped.so" "$library" && has_note "$work/stripped.so" "$what, strip"
  objcopy --strip-unneeded "$library" "$work/copied.so" && has_note "$work/copied.so" "$what, objcopy --strip-unneeded"
  objcopy --strip-all "$library" "$work/copied.so" && has_note "$work/copied.so" "$what, objcopy --strip-all"
}

common=(-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections "-Wl,--version-script=$sdk/cmake/plugin_exports.map")
for compiler in "$@"; do
  case $compiler in
    *++*) check "$compiler" "$sdk/template/cxx/null_backend.cpp" -std=c++20 "${common[@]}" && continue ;;
  esac
  source=$sdk/template/c/null_backend.c
  check "$compiler" "$source" -std=c11 -O0
  check "$compiler" "$source" -std=c11 "${common[@]}"
  for linker in gold lld; do
    if command -v "ld.$linker" >/dev/null; then check "$compiler" "$source" "${common[@]}" "-fuse-ld=$linker"; fi
  done
  case $compiler in
    *clang*) ;;
    *) check "$compiler" "$source" "${common[@]}" -flto ;;
  esac
done

# The object alone: a cross compiler may be installed without a C library for C++.
if command -v aarch64-linux-gnu-gcc >/dev/null; then
  aarch64-linux-gnu-gcc -std=c11 -O2 "${flags[@]}" -c "$sdk/template/c/null_backend.c" -o "$work/arm.o" || fail "aarch64"
  readelf --sections --wide "$work/arm.o" | grep -q '[.]note[.]gantry *NOTE .* A ' || fail "aarch64: no allocated note"
fi
echo "note_test: passed"
