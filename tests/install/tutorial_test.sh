#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Executes the commands of sdk/TUTORIAL.md word by word, on an installed tree without the sources, with the umask of
# systems with user-private groups. Prints the seconds from `gantry plugins new` to the signed package and the wheel. The wheel
# is made with the packages of tools/dev/fetch-python-packages; where it has found no package index, there is none, and the last
# line states that.
#
# usage: tutorial_test.sh BUILD_DIR
set -eu
build=$1
packages=$(cd "$(dirname "$0")/../.." && pwd)/build/dependencies/python
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
# `pip wheel` without a package index: with Debian's pip, and the packages that it would download.
mkdir "$work/bin"
pip=$(ls /usr/share/python-wheels/pip-*.whl 2>/dev/null | tail -n 1)
cat >"$work/bin/pip" <<PIP
#!/bin/sh
PYTHONPATH=$packages exec /usr/bin/python3 -B "$pip/pip" "\$@" --no-index --no-build-isolation
PIP
chmod 755 "$work/bin/pip"
has_wheel=yes made="a signed package and a wheel"
if [ ! -e "$packages" ] || [ -z "$pip" ]; then
  has_wheel=no made="a signed package, without a wheel: tools/dev/fetch-python-packages has found no package index"
  sed -i '/^pip wheel /d' "$work/commands"
fi
umask 002
started=$(date +%s)
env -i PATH="$work/bin:$work/prefix/bin:$PATH" HOME="$work/home" CMAKE_PREFIX_PATH="$work/prefix" bash -eu "$work/commands" >"$work/log" 2>&1 ||
  fail "a command of the page"
grep -q '  CHOSEN   acme.npu 1.0.0 ' "$work/log" || fail "the plugin is not chosen"
[ "$(grep -c '^result  int.*  42$' "$work/log")" = 2 ] || fail "scale(14) is not 42"
# Not every container permits case 47 to hide /dev.
grep -qE '^level: silver$|^skipped 47 .*permit' "$work/log" || fail "the plugin does not reach silver"
grep -q '^Trusted comment: file:acme.npu' "$work/log" || fail "the package is not signed"
seconds=$(($(date +%s) - started))
[ "$seconds" -lt 120 ] || fail "from \`gantry plugins new\` to the end of the page $seconds s have passed, limit is 119"
if [ "$has_wheel" = yes ]; then
  python3 -m zipfile -l npu/gantry_plugin_acme_npu-1.0.0-*.whl >"$work/log" 2>&1 || fail "pip has made no wheel"
  for file in npu.yaml npu.yaml.minisig libgantry_npu.so; do
    grep -q "/share/gantry/plugins.d/acme.npu/$file " "$work/log" || fail "the wheel does not contain $file"
  done
fi
# What the last step requires, as the project states it.
python=$(sed -n 's/^requires-python = ">=\(.*\)"$/\1/p' npu/pyproject.toml)
package=$(sed -n 's/^requires = \["\([a-z-]*\)[^"]*"\]$/\1/p' npu/pyproject.toml)
tr '\n' ' ' <"$page" | grep -qF "Python $python or later with pip and a package index, from which pip downloads \`$package\`" ||
  fail "the page does not require Python $python and $package"
echo "tutorial: passed, $lines lines of code, $seconds s to $made"
