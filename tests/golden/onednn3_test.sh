#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds gantry.dnnl against oneDNN 3.2, whose wheels have the headers that Debian 12 does not, and runs its tests and golden files
# with it. Without a package index one line says so. A build whose own oneDNN is version 3 is not built again.
#
# usage: onednn3_test.sh BUILD_DIR
set -eu
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "oneDNN 3: FAILED: $*" >&2; exit 1; }

if readelf -d "$build/share/gantry/plugins.d/dnnl/libgantry_dnnl.so" | grep -q 'NEEDED.*libdnnl.so.3'; then
  echo "oneDNN 3: $build is built with it"
  exit 0
fi
cat >"$work/requirements.txt" <<'EOF'
onednn-cpu-gomp==2023.2.0 \
  --hash=sha256:2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb
onednn-devel-cpu-gomp==2023.2.0 \
  --hash=sha256:9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284
EOF
pip=$(ls /usr/share/python-wheels/pip-*.whl | tail -n 1)
if ! python3 "$pip/pip" download --quiet --no-deps --require-hashes --only-binary=:all: --timeout 20 --retries 3 \
  --disable-pip-version-check -r "$work/requirements.txt" -d "$work" >"$work/log" 2>&1; then
  echo "oneDNN 3: not tested, its wheels cannot be downloaded: $(tail -n 1 "$work/log")"
  exit 0
fi
for wheel in "$work"/*.whl; do
  python3 -m zipfile -e "$wheel" "$work"
done
mkdir "$work/onednn"
cp -r "$work"/onednn_devel_cpu_gomp-*.data/data/. "$work"/onednn_cpu_gomp-*.data/data/. "$work/onednn"
# with_onednn3: GANTRY_TESTS, because these tests run under the sanitizers otherwise
cat >"$work/with_onednn3" <<'EOF'
set -eu
cmake "$1" -Ddnnl_DIR="$2/lib/cmake/dnnl" -DGANTRY_TESTS=ALL
cmake --build "$1" -j "$(nproc)" --target unit_dnnl golden_dnnl
readelf -d "$1/share/gantry/plugins.d/dnnl/libgantry_dnnl.so" | grep -q 'NEEDED.*libdnnl.so.3'
# Plugins have no path of a build.
LD_LIBRARY_PATH=$2/lib ctest --test-dir "$1" -R '^(unit_dnnl|unit_dnnl_avx2|golden_dnnl)$' --no-tests=error --verbose
EOF
tests/support/restore_build "$build" sh "$work/with_onednn3" "$build" "$work/onednn" >"$work/log" 2>&1 || {
  grep -E -A 8 'error:|FAILED|Failure' "$work/log" | head -n 100
  tail -n 20 "$work/log"
  fail "the build, or its tests"
}
echo "oneDNN 3: $(tools/dev/summarize-tests "$work/log" | tail -n 1 | cut -d ' ' -f 1) cases passed with oneDNN 3.2"
