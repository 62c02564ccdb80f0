#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Executes the commands of sdk/TUTORIAL.md word by word, on an installed tree without the sources, with the umask of
# systems with user-private groups. Prints the seconds from `gantry plugins new` to the end of the conformance run.
#
# usage: tutorial_test.sh BUILD_DIR
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { cat "$work/log"; echo "tutorial: FAILED: $*" >&2; exit 1; }

# As packages install it: a core that its group may write to accepts plugins that the group may write to.
umask 022
for component in core tools sdk plugin-graph; do
  cmake --install "$build" --prefix "$work/prefix" --component "$component" >"$work/log" 2>&1 || fail "cmake --install"
done
page=$work/prefix/share/gantry/sdk/TUTORIAL.md
awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' "$page" >"$work/commands"
[ "$(wc -l <"$work/commands")" -gt 80 ] || fail "the page has too few commands"
lines=$(awk '/^cat >npu_backend.cpp/ {on = 1; next} /^CODE$/ {on = 0} on' "$work/commands" | grep -cvE '^[[:space:]]*(//|$)')
[ "$lines" -lt 60 ] || fail "the backend has $lines lines, limit is 59"
# A home directory is not writable by its group.
mkdir "$work/vendor" "$work/home"
cd "$work/vendor"
echo 'date +%s >conformed' >"$work/stop"
sed -i "/^gantry-conformance /r $work/stop" "$work/commands"
umask 002
started=$(date +%s)
env -i PATH="$work/prefix/bin:$PATH" HOME="$work/home" CMAKE_PREFIX_PATH="$work/prefix" bash -eu "$work/commands" >"$work/log" 2>&1 ||
  fail "a command of the page"
grep -q '  CHOSEN   acme.npu 1.0.0 ' "$work/log" || fail "the plugin is not chosen"
[ "$(grep -c '^result  int.*  42$' "$work/log")" = 2 ] || fail "scale(14) is not 42"
# Not every container permits case 47 to hide /dev.
grep -qE '^level: silver$|^skipped 47 .*permit' "$work/log" || fail "the plugin does not reach silver"
seconds=$(($(cat npu/conformed) - started))
[ "$seconds" -lt 120 ] || fail "from \`gantry plugins new\` to the conformance run $seconds s have passed, limit is 119"
echo "tutorial: passed, $lines lines of code, $seconds s to a passed conformance run"
