#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs the Debian packages of a build and checks their contents without installing them:
#   each package is there, and no file belongs to two of them,
#   files are only where Debian expects them, and no file is writable by others,
#   each manifest names a library that is in its own package,
#   packing again gives the same bytes, and the build tree is configured as before.
#
# usage: packages_test.sh BUILD_DIR
set -eu
build=$(realpath "$1")
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "packages: FAILED: $*" >&2; exit 1; }

grep -E '^CMAKE_INSTALL_(PREFIX|LIBDIR):' "$build/CMakeCache.txt" >"$work/before"
"$source/tools/package/deb" "$build" "$work/debs" >"$work/log" 2>&1 || { cat "$work/log"; fail "tools/package/deb"; }
grep -E '^CMAKE_INSTALL_(PREFIX|LIBDIR):' "$build/CMakeCache.txt" | cmp - "$work/before" || fail "the build tree is configured differently"

for name in gantry-core gantry-tools gantry-dev gantry-plugin-opencl gantry-plugin-vulkan; do
  ls "$work/debs/${name}_"*.deb >/dev/null 2>&1 || { cat "$work/log"; fail "$name is not packed"; }
done
for deb in "$work"/debs/*.deb; do
  name=$(basename "$deb" | sed 's/_.*//')
  dpkg-deb -x "$deb" "$work/$name"
  (cd "$work/$name" && find . -type f -o -type l | sed 's/^\.//') >"$work/files"
  cat "$work/files" >>"$work/all"
  if grep -vE '^/usr/(bin|include/gantry|lib/[a-z0-9_]+-linux-gnu|libexec/gantry|share/(gantry|doc/gantry[a-z-]*|cmake/gantry-sdk|pkgconfig|man/man1|bash-completion/completions|zsh/vendor-completions|fish/vendor_completions.d|lintian/overrides))/' "$work/files"; then
    fail "$name has the files above in unexpected directories"
  fi
  [ -z "$(find "$work/$name" -perm /022 ! -type l)" ] || fail "$name has files that others may write"
  for document in copyright changelog.gz; do
    [ -s "$work/$name/usr/share/doc/$name/$document" ] || fail "$name has no $document"
  done
  for manifest in "$work/$name"/usr/share/gantry/plugins.d/*.yaml; do
    [ -e "$manifest" ] || continue
    id=$(sed -n 's/^id: //p' "$manifest")
    library=$(sed -n 's/^library: //p' "$manifest")
    case $manifest in */"$id.$(uname -m).yaml") ;; *) fail "$manifest has the id $id" ;; esac
    case $library in /usr/lib/*-linux-gnu/gantry/plugins.d/"$id"/*) ;; *) fail "the library of $id is $library" ;; esac
    [ -s "$work/$name$library" ] || fail "$name has no $library"
  done
done
[ -z "$(sort "$work/all" | uniq -d)" ] || fail "files are in two packages: $(sort "$work/all" | uniq -d | head -n 5)"
for file in /usr/bin/gantry /usr/include/gantry/plugin.h /usr/include/gantry/runtime.hpp /usr/share/cmake/gantry-sdk/gantry-sdkConfig.cmake; do
  grep -qx "$file" "$work/all" || fail "no package has $file"
done
"$source/tools/package/deb" "$build" "$work/again" >"$work/log" 2>&1 || { cat "$work/log"; fail "tools/package/deb"; }
for deb in "$work"/debs/*.deb; do
  cmp "$deb" "$work/again/$(basename "$deb")" || fail "packing again gives other bytes"
done
echo "packages: $(ls "$work/debs" | wc -l) packages have what they should"
