#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a copy of tools/dev/install-dependencies with programs that stand for Debian's package manager,
# sleep and Python.
#
# usage: dependencies_test.sh DIRECTORY_OF_SCRIPTS
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools/dev" "$work/bin" "$work/cuda" "$work/no_cuda" "$work/build/dependencies/python"
cp "$1/install-dependencies" "$1/fetch-cuda-header" "$1/fetch-python-packages" "$work/tools/dev"
touch "$work/cuda/cuda.h"
fail() {
  echo "dependencies: FAILED: $*" >&2
  cat "$work/out" "$work/calls" >&2
  exit 1
}
program() {
  { echo '#!/bin/sh'; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
# run STATUS ARGUMENT...: the programs' calls are in $work/calls, the output in $work/out.
run() {
  expected=$1
  shift
  : >"$work/calls"
  status=0
  PATH="$work/bin:$PATH" WORK="$work" CUDA_INCLUDES="$includes" \
    "$work/tools/dev/install-dependencies" "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" = "$expected" ] || fail "status is $status, expected $expected"
}
includes=$work/cuda
program id <<'E1'
echo 0
E1
program sleep <<'E1'
echo "sleep $*" >>"$WORK/calls"
E1
program ld.gold <<'E1'
E1
program aarch64-linux-gnu-ld.gold <<'E1'
E1
program python3 <<'E1'
echo "a long explanation of pip" >&2
exit 1
E1
program dpkg-query <<'E1'
for package; do :; done
if [ "$package" = cmake ] || [ "$package" = clang-format ]; then exit 1; fi
printf installed
E1

program apt-get <<'E1'
echo "apt-get $*" >>"$WORK/calls"
E1
run 0
grep -q '^apt-get update' "$work/calls" || fail "the package lists are not updated"
grep -q '^apt-get install .* cmake clang-format$' "$work/calls" || fail "the missing packages are not installed"
run 0 build
grep -q '^apt-get install .* cmake$' "$work/calls" || fail "build installs what only the tests require"
run 0 run
[ ! -s "$work/calls" ] || fail "run installs what it does not require"
run 2 walk
grep -q '"walk" is unknown, expected build, run or nothing' "$work/out" || fail "an unknown word is accepted"

# Of apt-get's progress, each tenth is one line; the rest of its output is not printed.
program apt-get <<'E1'
[ "$1" = install ] || exit 0
echo "Reading package lists..."
for percent in 0.0 9.9 10.1 12.5 57.0 100.0; do echo "dlstatus:1:$percent:Retrieving file 1 of 2"; done
echo "pmstatus:cmake:50.0000:Unpacking cmake (amd64)"
E1
run 0 build
printf '%s\n' "installing Debian packages: cmake" "  downloaded 10 %" "  downloaded 50 %" "  downloaded 100 %" "  installed 50 %" |
  cmp - "$work/out" || fail "the progress is printed differently"

# The first two calls find the lock held.
program apt-get <<'E1'
echo "apt-get $*" >>"$WORK/calls"
[ "$(grep -c apt-get "$WORK/calls")" -gt 2 ] || {
  echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt)" >&2
  exit 100
}
E1
run 0
[ "$(grep -c '^sleep' "$work/calls")" = 2 ] || fail "a held lock is not waited for"
[ "$(grep -c 'waiting for the lock' "$work/out")" = 1 ] || fail "waiting is not reported in one line"
grep -q '^apt-get install' "$work/calls" || fail "nothing is installed after the lock was released"

# The lock is held for ever.
program apt-get <<'E1'
echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt)" >&2
exit 100
E1
run 1
grep -q 'held by process 1' "$work/out" || fail "the holder of the lock is not reported"

# Any other failure ends the script.
program apt-get <<'E1'
echo "E: Unable to locate package cmake" >&2
exit 100
E1
run 1
grep -q sleep "$work/calls" && fail "a failure without a lock is repeated"
grep -q 'Unable to locate package cmake' "$work/out" || fail "the failure is not reported"

# No toolkit, no network: one line.
program dpkg-query <<'E1'
printf installed
E1
includes=$work/no_cuda
run 0
[ "$(wc -l <"$work/out")" = 1 ] || fail "an absent cuda.h is not one line"
grep -q 'the CUDA plugin is left out of the build' "$work/out" || fail "the line about cuda.h is missing"
includes=$work/cuda
rmdir "$work/build/dependencies/python"
run 0
[ "$(wc -l <"$work/out")" = 1 ] || fail "an absent nanobind is not one line"
grep -q 'the Python package is not built' "$work/out" || fail "the line about nanobind is missing"
run 0 build
[ ! -s "$work/out" ] || fail "build downloads what only the tests require"
mkdir "$work/build/dependencies/python"
run 0
[ ! -s "$work/out" ] || fail "a host with everything installed gets output"
echo "dependencies: passed"
