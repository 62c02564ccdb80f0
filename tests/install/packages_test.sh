#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs the Debian packages of a build and checks their contents without installing them:
#   each package is there and has its files, and no file belongs to two of them,
#   files are only where Debian expects them, and no file is writable by others,
#   each manifest names a library that is in its own package, and gantry-tools depends on what the command opens,
#   the archive runs in any directory, and BUILD says what it requires,
#   packing again gives the same bytes, and the build tree is configured as before.
#
# usage: packages_test.sh BUILD_DIR
set -eu
build=$(realpath "$1")
source=$(cd "$(dirname "$0")/../.." && pwd)
multiarch=$(uname -m)-linux-gnu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "packages: FAILED: $*" >&2; exit 1; }

grep -E '^CMAKE_INSTALL_(PREFIX|LIBDIR):' "$build/CMakeCache.txt" >"$work/before"
"$source/tools/package/deb" "$build" "$work/debs" >"$work/log" 2>&1 || { cat "$work/log"; fail "tools/package/deb"; }
grep -E '^CMAKE_INSTALL_(PREFIX|LIBDIR):' "$build/CMakeCache.txt" | cmp - "$work/before" || fail "the build tree is configured differently"

for name in gantry-core gantry-tools gantry-dev gantry-plugin-cuda-libraries gantry-plugin-dnnl gantry-plugin-opencl gantry-plugin-vulkan; do
  ls "$work/debs/${name}_"*.deb >/dev/null 2>&1 || { cat "$work/log"; fail "$name is not packed"; }
done
for deb in "$work"/debs/*.deb; do
  name=$(basename "$deb" | sed 's/_.*//')
  dpkg-deb -x "$deb" "$work/$name"
  (cd "$work/$name" && find . -type f -o -type l | sed 's/^\.//') >"$work/files"
  cat "$work/files" >>"$work/all"
  if grep -vE '^/usr/(bin|include/gantry|lib/[a-z0-9_]+-linux-gnu|libexec/gantry|share/(gantry|doc/gantry[a-z-]*|cmake/gantry-sdk|man/man1|bash-completion/completions|zsh/vendor-completions|fish/vendor_completions.d|lintian/overrides))/' "$work/files"; then
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
# The profiles name this directory; what is in it is removed with the package.
cache=$(sed -n 's/^cache: //p' "$work"/gantry-core/usr/share/gantry/configs/examples/*/runtime.yaml | sort -u)
[ "$cache" = /var/cache/gantry ] && [ -d "$work/gantry-core$cache" ] || fail "gantry-core does not make \"$cache\", the cache of the profiles"
dpkg-deb --info "$work"/debs/gantry-core_*.deb postrm | grep -qF "rm -rf $cache" || fail "purging gantry-core leaves $cache"
# The command opens this library itself.
if [ "$(uname -m)" = x86_64 ]; then
  dpkg-deb -f "$work"/debs/gantry-tools_*.deb Depends | grep -q 'libzydis' || fail "gantry-tools does not depend on libZydis"
fi
# package:file below /usr; libgantry.so is a link to a file of another package
while IFS=: read -r name file; do
  [ -s "$work/$name/usr/$file" ] || [ -L "$work/$name/usr/$file" ] || fail "$name has no /usr/$file"
done <<FILES
gantry-core:lib/$multiarch/libgantry.so.0
gantry-core:lib/$multiarch/gantry/plugins.d/gantry.aot/libgantry_aot.so
gantry-core:lib/$multiarch/gantry/plugins.d/gantry.const-loader/libgantry_const_loader.so
gantry-core:lib/$multiarch/gantry/plugins.d/gantry.contrib/libgantry_contrib.so
gantry-core:lib/$multiarch/gantry/plugins.d/gantry.graph/libgantry_graph.so
gantry-core:lib/$multiarch/gantry/plugins.d/gantry.relax/libgantry_relax.so
gantry-core:lib/$multiarch/gantry/plugins.d/gantry.relay-vm/libgantry_relay_vm.so
gantry-core:libexec/gantry/gantry-probe
gantry-core:share/gantry/configs/README.md
gantry-core:share/gantry/configs/TRUST.md
gantry-core:share/gantry/configs/runtime.yaml
gantry-core:share/gantry/configs/trust.yaml
gantry-core:share/gantry/configs/schema/runtime.schema.json
gantry-core:share/gantry/configs/examples/edge-box/runtime.yaml
gantry-core:share/gantry/configs/examples/gpu-server/runtime.yaml
gantry-core:share/gantry/configs/examples/gpu-server/runtime.yaml.d/20-acme.yaml
gantry-core:share/gantry/configs/examples/laptop/runtime.yaml
gantry-tools:bin/gantry
gantry-tools:share/man/man1/gantry.1.gz
gantry-tools:share/man/man1/gantry-plugins-doctor.1.gz
gantry-tools:share/bash-completion/completions/gantry
gantry-tools:share/zsh/vendor-completions/_gantry
gantry-tools:share/fish/vendor_completions.d/gantry.fish
gantry-tools:share/doc/gantry/FORMAT.md
gantry-dev:bin/gantry-conformance
gantry-dev:share/man/man1/gantry-conformance.1.gz
gantry-dev:include/gantry/embed.h
gantry-dev:include/gantry/plugin.h
gantry-dev:include/gantry/plugin.hpp
gantry-dev:include/gantry/embed.hpp
gantry-dev:include/gantry/embed/runtime.hpp
gantry-dev:lib/$multiarch/libgantry.so
gantry-dev:lib/$multiarch/cmake/gantry/gantryConfig.cmake
gantry-dev:lib/$multiarch/libgantry_system_library.a
gantry-dev:lib/$multiarch/pkgconfig/gantry.pc
gantry-dev:lib/$multiarch/pkgconfig/gantry-sdk.pc
gantry-dev:lib/$multiarch/pkgconfig/gantry-system-library.pc
gantry-dev:share/cmake/gantry-sdk/gantry-sdkConfig.cmake
gantry-dev:share/cmake/gantry-sdk/GantryPlugin.cmake
gantry-dev:share/gantry/configs/examples/acme.yaml
gantry-dev:share/gantry/sdk/EMBED.md
gantry-dev:share/gantry/sdk/embed/digits.c
gantry-dev:share/gantry/sdk/TUTORIAL.md
gantry-dev:share/gantry/sdk/CONFORMANCE.md
gantry-dev:share/gantry/sdk/template/c/null_backend.c
gantry-dev:share/gantry/sdk/template/cxx/null_backend.cpp
gantry-dev:share/gantry/sdk/example/CMakeLists.txt
gantry-dev:share/gantry/sdk/example_executor/CMakeLists.txt
FILES
# ours: the release of the distribution, if it has a number
ours=$(. /etc/os-release && echo "${VERSION_ID:-}")
for deb in "$work"/debs/*.deb; do
  case $(dpkg-deb -f "$deb" Version) in *"~"*"$ours") ;; *) [ -z "$ours" ] || fail "$(basename "$deb") has the version $(dpkg-deb -f "$deb" Version)" ;; esac
done
# The last instruction decides; a number, because Kubernetes compares no names with runAsNonRoot.
user=$(sed -n 's/^USER //p' "$source/tools/package/Containerfile" | tail -n 1)
[ "${user:-0}" -gt 0 ] 2>/dev/null || fail "the image runs as \"${user:-root}\", expected the number of a user other than root"
"$source/tools/package/tarball" "$build" "$work/tar" >"$work/log" 2>&1 || { cat "$work/log"; fail "tools/package/tarball"; }
mkdir "$work/unpacked"
tar -xzf "$work"/tar/gantry-*.tar.gz --strip-components=1 -C "$work/unpacked"
"$work/unpacked/bin/gantry" version >"$work/log" || fail "gantry of the archive"
grep -qE '^requires: glibc 2\.[0-9]+, libstdc\+\+ with GLIBCXX_3\.4\.[0-9]+$' "$work/unpacked/BUILD" || { cat "$work/unpacked/BUILD"; fail "BUILD has no requirements"; }
# Only plugins require libraries that a host may not have.
! grep '^requires, for ' "$work/unpacked/BUILD" | grep -v '^requires, for share/gantry/plugins.d/' || fail "files of the archive require the libraries above"
"$source/tools/package/deb" "$build" "$work/again" >"$work/log" 2>&1 || { cat "$work/log"; fail "tools/package/deb"; }
for deb in "$work"/debs/*.deb; do
  cmp "$deb" "$work/again/$(basename "$deb")" || fail "packing again gives other bytes"
done
echo "packages: $(ls "$work/debs" | wc -l) packages have what they should"
