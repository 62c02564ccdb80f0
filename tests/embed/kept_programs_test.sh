#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the C programs of earlier releases, tests/embed/binaries, with the library of this build, and compares the digits
# that they recognize with TVM's. Exits with 77 on machines for which there are no programs.
#
# usage: kept_programs_test.sh SOURCE_DIR LIBRARY_DIR
set -eu
source=$1
fail() { echo "embed: FAILED: $*" >&2; exit 1; }
if [ "$(uname -m)" != x86_64 ]; then
  echo "embed: the programs are for x86_64, this machine is $(uname -m)"
  exit 77
fi

golden=$source/tests/golden/data/tvm-0.12
export LD_LIBRARY_PATH="$2"
count=0
for set in "$source"/tests/embed/binaries/*/; do
  (cd "$set" && sha256sum --quiet -c SHA256SUMS) || fail "$set was changed"
  found=$("$set/digits" "$golden/digits_mlp_llvm.so" "$golden/digits_mlp.input.npz") || fail "running $set"
  [ "$found" = "$(cat "$source/tests/install/embed/answers.txt")" ] || fail "the results of $set differ from TVM's"
  # A failure fills the status of the program.
  if error=$("$set/digits" absent.so absent.npz 2>&1); then fail "$set succeeds without a model"; fi
  case $error in *absent.so*) ;; *) fail "$set prints \"$error\"" ;; esac
  count=$((count + 1))
done
[ $count != 0 ] || fail "there are no programs"
echo "embed: $count programs of earlier releases run"
