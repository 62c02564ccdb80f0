#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the README's C++ program with each compiler and standard library of this machine, and with the old layout of
# std::string, against the same library, which one compiler has built. Each must recognize the digits that TVM does.
# Clang must also compile the SDK's examples and template.
#
# usage: compilers_test.sh SOURCE_DIR LIBRARY_DIR
#
# GANTRY_LIBCXX   options for a libc++ that is not installed where clang searches, e.g. "-nostdinc++ -isystem DIR -LDIR"
set -eu
source=$1
library=$2
golden=$source/tests/golden/data/tvm-0.12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "embed: FAILED: $*" >&2; exit 1; }

count=0
# works COMPILER OPTION...
works() {
  command -v "$1" >/dev/null || return 0
  # shellcheck disable=SC2086
  if ! echo '#include <string>' | "$@" -fsyntax-only -x c++ - 2>/dev/null; then
    echo "embed: $* has no standard library here"
    return 0
  fi
  "$@" -std=c++20 -Wall -Wextra -Wpedantic -Werror -O1 -o "$work/digits" "$source/tests/install/embed/digits.cpp" \
    -I"$source/sdk/include" -I"$source/sdk/cxx" -L"$library" -lgantry || fail "compiling with $*"
  LD_LIBRARY_PATH=$library:${LD_LIBRARY_PATH:-} "$work/digits" "$golden/digits_mlp_llvm.so" "$golden/digits_mlp.input.npz" \
    >"$work/answers" || fail "running the program of $*"
  cmp "$work/answers" "$source/tests/install/embed/answers.txt" || fail "the results of the program of $* differ from TVM's"
  echo "embed: $* works"
  count=$((count + 1))
}
# compiles COMPILER: the SDK's examples and template
compiles() {
  command -v "$1" >/dev/null || return 0
  for file in example/plugin.cpp example_executor/plugin.cpp template/cxx/null_backend.cpp; do
    "$1" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -DGANTRY_PLUGIN_ID='"acme.npu"' -DGANTRY_PLUGIN_VERSION='"1.0.0"' \
      -DGANTRY_PLUGIN_MIN_MINOR=0u \
      -I"$source/sdk/include" -I"$source/sdk/cxx" "$source/sdk/$file" || fail "compiling $file with $1"
  done
  echo "embed: $1 compiles the SDK's plugins"
}
works g++
works g++ -D_GLIBCXX_USE_CXX11_ABI=0
works clang++
# shellcheck disable=SC2086
works clang++ -stdlib=libc++ ${GANTRY_LIBCXX:-}
# of Debian 12 and 13; GCC compiles them in other tests
for version in 14 19; do compiles "clang++-$version"; done
[ $count != 0 ] || fail "no compiler was found"
