#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs the wheel for the Python of Debian from a build tree, compiling only the extension, installs it into a virtual
# environment, and runs the tests of the package there.
#
# usage: wheel_test.sh BUILD_DIR [DIRECTORY]   DIRECTORY: receives the wheel
set -eu
cd "$(dirname "$0")/../.."
build=$1
packages=$PWD/build/dependencies/python
python=${PYTHON:-/usr/bin/python3}
max_bytes=6500000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "wheel: FAILED: $*" >&2; exit 1; }

[ -e "$packages" ] || { echo "wheel: not tested, tools/dev/fetch-python-packages has found no package index"; exit 0; }
# Without headers of CPython, CMake names their package.
mkdir "$work/no_headers"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(no_headers LANGUAGES NONE)' 'set(GANTRY_PYTHON ON)' \
  'set(CMAKE_DISABLE_FIND_PACKAGE_Python ON)' "add_subdirectory($PWD/sdk/python python)" >"$work/no_headers/CMakeLists.txt"
! cmake -S "$work/no_headers" -B "$work/no_headers/build" >"$work/no_headers.log" 2>&1 &&
  tr -s ' \n' ' ' <"$work/no_headers.log" | grep -qF 'apt-get install python3-dev python3-venv' ||
  { cat "$work/no_headers.log"; fail "CMake's error without headers of CPython"; }
PYTHONPATH=$packages tests/support/restore_build "$build" \
  "$python" -B tests/python/pack_wheel --build "$build" "$work" . >"$work/build.log" 2>&1 || {
  tail -n 40 "$work/build.log"
  fail "packing"
}
wheel=$(ls "$work"/gantry_runtime-*.whl)
bytes=$(stat -c %s "$wheel")
[ -z "${2-}" ] || cp "$wheel" "$2"

# a vendor's executor and device, if the tree has them
executor=
[ ! -e "$build/tests/conformance/plugins.d/ensemble" ] || [ ! -e "$build/tests/conformance/plugins.d/abacus" ] ||
  executor=$(realpath "$build/tests/conformance")
"$python" -m venv --without-pip --system-site-packages "$work/venv"
pip=$(ls /usr/share/python-wheels/pip-*.whl | tail -n 1)
"$work/venv/bin/python" "$pip/pip" install --quiet --no-index --no-deps "$wheel"
(cd "$work" && PYTHONDONTWRITEBYTECODE=1 GANTRY_TEST_EXECUTOR=$executor venv/bin/python -m unittest discover -s "$OLDPWD/tests/python") >"$work/test.log" 2>&1 || {
  tail -n 60 "$work/test.log"
  fail "tests of the package"
}
for library in "$work"/venv/share/gantry/plugins.d/*/*.so; do
  ! objdump -p "$library" | grep -q 'NEEDED *libstdc++' || fail "$library requires libstdc++ of the host"
done
golden=tests/golden/data/tvm-0.12
"$work/venv/bin/gantry" -q run "$golden/digits_mlp_c.so" --each --input "$golden/digits_mlp.input.npz" \
  --expect "$golden/digits_mlp_c.expected.npz" >"$work/run.log" 2>&1 || { cat "$work/run.log"; fail "gantry run"; }
tests/install/readme_test.sh . "$build" "$work/venv" || fail "the Python of README.md"
# What has no environment: functions as a service, vendored packages.
"$work/venv/bin/python" "$pip/pip" install --quiet --no-index --no-deps --target "$work/target" "$wheel"
(cd "$work" && PYTHONPATH=$work/target PYTHONDONTWRITEBYTECODE=1 "$python" -c "
import gantry
assert gantry.__file__.startswith('$work/target/'), gantry.__file__
gantry.load('$OLDPWD/$golden/digits_mlp_c.so')
gantry.load('$OLDPWD/tests/golden/data/relax/cnn_llvm.so')") >"$work/target.log" 2>&1 || {
  tail -n 20 "$work/target.log"
  fail "a package in a directory of its own finds no plugins"
}
tests/python/plugin_wheel_test.sh "$build" "$work/venv"
"$work/venv/bin/python" "$pip/pip" uninstall --quiet --yes gantry-runtime
left=$(find "$work/venv" -path '*gantry*' ! -type d)
[ -z "$left" ] || fail "uninstalling leaves $left"
# Without optimization the extension has ten times the size.
! grep -q '^CMAKE_BUILD_TYPE:STRING=Release' "$build/CMakeCache.txt" || [ "$bytes" -le "$max_bytes" ] || fail "$(basename "$wheel") has $bytes bytes, limit is $max_bytes"
echo "wheel: $(basename "$wheel"), $bytes bytes; $(grep "^Ran" "$work/test.log")"
