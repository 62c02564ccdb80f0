#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs the OpenCL plugin from a build tree and a plugin that a vendor writes with the SDK and signs, both as wheels, and
# installs and uninstalls them in a virtual environment that has the wheel of the core.
#
# usage: plugin_wheel_test.sh BUILD_DIR VIRTUAL_ENVIRONMENT
set -eu
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
venv=$(realpath "$2")
packages=$PWD/build/dependencies/python
pip=$(ls /usr/share/python-wheels/pip-*.whl | tail -n 1)
golden=$PWD/tests/golden/data/tvm-0.12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "plugin wheel: FAILED: $*" >&2; exit 1; }

# quietly COMMAND...
quietly() {
  PYTHONPATH=$packages "$@" >"$work/pack.log" 2>&1 || {
    tail -n 40 "$work/pack.log"
    fail "$*"
  }
}

# expect_files WHEEL ID NAME [SIGNATURE]: the wheel contains the plugin and its own description, and its list of files is correct
expect_files() {
  "$venv/bin/python" - "$@" <<'EOF' || fail "the content of $1"
import base64, csv, hashlib, io, pathlib, sys, zipfile
path, plugin_id, name, *signature = sys.argv[1:]
wheel = zipfile.ZipFile(path)
data = {entry.split(".data/")[1] for entry in wheel.namelist() if ".data/" in entry and not entry.endswith("/")}
directory = f"data/share/gantry/plugins.d/{plugin_id}"
expected = {f"{directory}/{name}.yaml", f"{directory}/libgantry_{name}.so", *(f"{directory}/{file}" for file in signature)}
assert data == expected, data
others = [entry for entry in wheel.namelist() if ".data/" not in entry and ".dist-info/" not in entry]
assert not others, others
assert "-py3-none-" in pathlib.Path(path).name, path
(record,) = [entry for entry in wheel.namelist() if entry.endswith("/RECORD")]
for entry, digest, size in csv.reader(io.StringIO(wheel.read(record).decode())):
    if digest:
        found = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(entry)).digest()).decode().rstrip("=")
        assert (digest, int(size)) == (f"sha256={found}", len(wheel.read(entry))), entry
EOF
}

# content WHEEL ENTRY
content() { "$venv/bin/python" -c "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))" "$@"; }
# files: those of the environment
files() { find "$venv" -type f -not -name '*.pyc' | sort; }
install() { "$venv/bin/python" -B "$pip/pip" install --quiet --no-index --no-deps "$1"; }
# uninstall DISTRIBUTION: also compares the files with those before the installation
uninstall() {
  "$venv/bin/python" -B "$pip/pip" uninstall --quiet --yes "$1"
  files >"$work/after"
  diff "$work/before" "$work/after" || fail "uninstalling $1 changes the files above"
}
# expect_plugin ID STATE: the command and the package have the plugin of the environment
expect_plugin() {
  "$venv/bin/gantry" plugins list --json >"$work/list" || fail "gantry plugins list"
  "$venv/bin/python" - "$1" "$venv" "$work/list" <<'EOF' || fail "$1 of the environment is not found"
import json, pathlib, sys
import gantry
plugin_id, venv, listed = sys.argv[1:]
listed = pathlib.Path(listed).read_text()
path = str(pathlib.Path(venv, "share/gantry/plugins.d", plugin_id))
assert path in listed, listed
found = gantry.Runtime().plugins()
assert path in str(found), found
EOF
}

files >"$work/before"
if [ -e "$build/plugins/opencl/opencl.yaml" ]; then
  quietly tests/support/restore_build "$build" "$venv/bin/python" -B tests/python/pack_wheel --build "$build" "$work" plugins/opencl
  wheel=$(ls "$work"/gantry_runtime_opencl-*.whl)
  bytes=$(stat -c %s "$wheel")
  sdk/wheel/write-digests "$wheel" >"$work/digests.log"
  expect_files "$wheel" gantry.opencl opencl
  install "$wheel"
  installed=$venv/share/gantry/plugins.d/gantry.opencl
  ! readelf -d "$installed/libgantry_opencl.so" | grep NEEDED | grep -q 'libstdc++' || fail "the library requires the system's libstdc++"
  [ "$(sed -n 's/^sha256: //p' "$installed/opencl.yaml")" = "$(sha256sum "$installed/libgantry_opencl.so" | cut -d ' ' -f 1)" ] ||
    fail "the manifest's digest is not that of the library"
  expect_plugin gantry.opencl
  "$venv/bin/gantry" plugins doctor --key opencl >"$work/doctor" || { cat "$work/doctor"; fail "gantry plugins doctor"; }
  # on a host without devices the plugin says so
  if "$venv/bin/gantry" devices 2>/dev/null | grep -q '^opencl:0'; then
    "$venv/bin/python" - "$golden" <<'EOF' || fail "a model on OpenCL"
import pathlib, sys
import gantry, numpy
golden = pathlib.Path(sys.argv[1])
model = gantry.load(golden / "digits_mlp_opencl.so")
images = numpy.load(golden / "digits_mlp.input.npz")["x"]
expected = numpy.load(golden / "digits_mlp_opencl.expected.npz")["output"]
numpy.testing.assert_allclose(model.run({"x": images[0]}, device="opencl:0"), expected[0], rtol=1e-4, atol=1e-5)
EOF
    ran="a model ran on $("$venv/bin/gantry" devices | sed -n 's/^\(opencl:0\).*/\1/p')"
  else
    ran="no device of OpenCL"
  fi
  uninstall gantry-runtime-opencl
  ! "$venv/bin/gantry" plugins doctor --key opencl >"$work/doctor" || fail "opencl is served after its wheel is uninstalled"
  echo "plugin wheel: $(basename "$wheel"), $bytes bytes; $ran"
else
  echo "plugin wheel: OpenCL is not tested, $build does not have the plugin"
fi

cmake --install "$build" --component sdk --prefix "$work/sdk" >"$work/sdk.log"
minisign -G -W -p "$work/acme.pub" -s "$work/acme.key" >"$work/sdk.log" || fail "minisign -G"
cat >"$work/trust.yaml" <<TRUST
keys: [{id: acme, public_key: $(tail -n 1 "$work/acme.pub")}]
policies: {core: require}
TRUST
echo "plugins: {trust: $work/trust.yaml}" >"$work/runtime.yaml"
chmod 644 "$work/trust.yaml" "$work/runtime.yaml"
# doctor: of a host that requires the signature
doctor() { "$venv/bin/gantry" --config "$work/runtime.yaml" plugins doctor --key acme.npu >"$work/doctor"; }
for language in c cxx; do
  "$venv/bin/gantry" plugins new acme.npu --language $language --template sdk/template -o "$work/$language" >"$work/new.log" || fail "gantry plugins new"
  GANTRY_SIGN_KEY=$work/acme.key CMAKE_PREFIX_PATH=$work/sdk quietly "$venv/bin/python" -B tests/python/pack_wheel "$work/$language" "$work/$language"
  wheel=$(ls "$work/$language"/gantry_plugin_acme_npu-1.0.0-*.whl)
  # Nothing has changed the library since.
  cp "$wheel" "$work/packed.whl"
  GANTRY_SIGN_KEY=$work/acme.key "$work/sdk/share/gantry/sdk/wheel/write-digests" "$wheel" >"$work/digests.log"
  for file in npu.yaml npu.yaml.minisig; do
    entry=gantry_plugin_acme_npu-1.0.0.data/data/share/gantry/plugins.d/acme.npu/$file
    [ "$(content "$wheel" "$entry" | sha256sum)" = "$(content "$work/packed.whl" "$entry" | sha256sum)" ] || fail "write-digests changes $file"
  done
  expect_files "$wheel" acme.npu npu npu.yaml.minisig
  install "$wheel"
  expect_plugin acme.npu
  doctor || { cat "$work/doctor"; fail "a signed plugin is refused"; }
  mv "$venv/share/gantry/plugins.d/acme.npu/npu.yaml.minisig" "$work"
  ! doctor || fail "a plugin without its signature is accepted"
  grep -q SIGNATURE_MISSING "$work/doctor" || { cat "$work/doctor"; fail "the reason is another"; }
  mv "$work/npu.yaml.minisig" "$venv/share/gantry/plugins.d/acme.npu"
  printf x >>"$venv/share/gantry/plugins.d/acme.npu/libgantry_npu.so"
  ! doctor || fail "a library with another digest is accepted"
  grep -q DIGEST "$work/doctor" || { cat "$work/doctor"; fail "the reason is another"; }
  uninstall gantry-plugin-acme-npu
done
echo "plugin wheel: a vendor's plugins, in C and in C++"
