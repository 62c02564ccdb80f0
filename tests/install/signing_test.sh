#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A vendor signs a plugin's package and wheel, and a host uses only what is signed:
#   the manifest in the package has the absolute path and the digest of the stripped library, minisign verifies it, and
#   packing again gives the same manifest and signature,
#   a host with `policies: {system: require}` uses it, and refuses it after a byte of the library or the manifest has
#   changed, with another key, and unsigned,
#   write-digests signs a wheel, whose list of files stays right,
#   a key with a password, which minisign asks for,
#   a key that is no file, and a host of the vendor without dpkg-dev, are errors; such a host can make archives.
#
# The package is for /usr/local, over which root mounts it for the host. Where that is not permitted, it is for a directory,
# which is the tier `program`.
#
# usage: signing_test.sh BUILD_DIR
set -eu
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { [ ! -s "$work/log" ] || cat "$work/log"; echo "signing: FAILED: $*" >&2; exit 1; }
for program in minisign dpkg-deb dpkg-shlibdeps file; do
  command -v "$program" >/dev/null || fail "$program is not installed"
done

# As packages install it.
umask 022
for component in core tools sdk; do
  cmake --install "$build" --prefix "$work/prefix" --component "$component" >"$work/log" 2>&1 || fail "cmake --install"
done
export PATH="$work/prefix/bin:$PATH" CMAKE_PREFIX_PATH="$work/prefix" CMAKE_GENERATOR=Ninja
sdk=$work/prefix/share/gantry/sdk
for key in acme other; do
  minisign -G -W -p "$work/$key.pub" -s "$work/$key.key" >"$work/log" 2>&1 || fail "minisign -G"
done

mkdir "$work/local"
if unshare --mount mount --bind "$work/local" /usr/local 2>/dev/null; then
  tier=system prefix=/usr/local
else
  tier=program prefix=$work/host
fi
cat >"$work/trust.yaml" <<TRUST
keys: [{id: acme, public_key: $(tail -n 1 "$work/acme.pub")}]
policies: {$tier: require}
TRUST
chmod 644 "$work/trust.yaml"
echo "plugins: {trust: $work/trust.yaml}" >"$work/runtime.yaml"

# doctor: explains the plugin of the package that is in $work/local
doctor() {
  if [ "$tier" = system ]; then
    unshare --mount sh -c 'mount --bind "$1" /usr/local && shift && exec "$@"' sh "$work/local" \
      gantry --config "$work/runtime.yaml" plugins doctor --key acme.npu >"$work/log" 2>&1
  else
    rm -rf "$prefix"
    cp -r "$work/local" "$prefix"
    gantry --config "$work/runtime.yaml" --plugins "$prefix/share/gantry/plugins.d" plugins doctor --key acme.npu >"$work/log" 2>&1
  fi
}
chosen() { doctor && grep -q '  CHOSEN   acme.npu 1.0.0 ' "$work/log" || fail "$1 is not used"; }
# refused WHAT REASON
refused() {
  ! doctor || fail "$1 is used"
  grep -qE "REFUSED .*GANTRY-D[0-9]+ $2\b" "$work/log" || fail "$1 is refused for another reason than $2"
}

# With the umask of systems with user-private groups.
umask 002
gantry plugins new acme.npu --language c -o "$work/npu" >"$work/log" || fail "gantry plugins new"
cmake -S "$work/npu" -B "$work/npu/build" >"$work/log" 2>&1 && cmake --build "$work/npu/build" >"$work/log" 2>&1 || fail "building"
# pack [KEY [COMMAND]]: makes the package, signed with the key, and unpacks it; the command executes cpack
pack() {
  rm -rf "$work/local" "$work/root" "$work"/npu/build/*.deb
  (cd "$work/npu/build" && GANTRY_SIGN_KEY=${1-} ${2-} cpack -D CPACK_INSTALL_PREFIX="$prefix") >"$work/log" 2>&1 || return 1
  deb=$(ls "$work"/npu/build/*.deb)
  dpkg-deb -x "$deb" "$work/root"
  # A directory that others may not write to, as those that lead to it on a host.
  cp -a "$work/root$prefix" "$work/local"
  manifest=$work/local/share/gantry/plugins.d/acme.npu.$(uname -m).yaml
  library=$work/local${prefix:+$(sed -n "s|^library: $prefix||p" "$manifest")}
}

pack "$work/acme.key" || fail "cpack with a key"
[ -z "$(find "$work/root$prefix" -perm /022)" ] || fail "others may write to $(find "$work/root$prefix" -perm /022 | head -n 1)"
[ "$(dpkg-deb -f "$deb" Section)" = libs ] || fail "the package is in the section $(dpkg-deb -f "$deb" Section)"
dpkg-deb -f "$deb" Depends | grep -q libc6 || fail "the package does not depend on the C library"
[ -f "$library" ] || fail "the manifest does not have the absolute path of the library"
! readelf --sections --wide "$library" | grep -q '\.symtab' || fail "the library is not stripped"
[ "$(sed -n 's/^sha256: //p' "$manifest")" = "$(sha256sum "$library" | cut -d ' ' -f 1)" ] || fail "the digest is not that of the library"
minisign -V -q -p "$work/acme.pub" -m "$manifest" >"$work/log" 2>&1 || fail "minisign does not verify the manifest"
chosen "the signed package"

cp "$library" "$work/library"
printf X | dd of="$library" bs=1 seek=$(($(stat -c %s "$library") - 1)) conv=notrunc 2>/dev/null
refused "a changed library" DIGEST
cp "$work/library" "$library"
cp "$manifest" "$manifest.minisig" "$work"
sed -i 's/^vendor: acme$/vendor: acmf/' "$manifest"
refused "a changed manifest" SIGNATURE_INVALID
cp "$work/$(basename "$manifest")" "$manifest"
chosen "the package as it was"
rm "$manifest.minisig"
refused "a manifest without its signature" SIGNATURE_MISSING

pack "$work/acme.key" || fail "packing again"
for file in "$manifest" "$manifest.minisig"; do
  cmp "$file" "$work/$(basename "$file")" || fail "packing again gives another $(basename "$file")"
done
pack "$work/other.key" || fail "cpack with another key"
refused "the package of another key" SIGNATURE_KEY
pack || fail "cpack without a key"
[ "$(sed -n 's/^sha256: //p' "$manifest")" = "$(sha256sum "$library" | cut -d ' ' -f 1)" ] || fail "the digest without a key"
refused "an unsigned package" SIGNATURE_MISSING
echo "signing: a package, tier $tier"

# Installed as a directory: a signature of an earlier installation does not stay.
install() { GANTRY_SIGN_KEY=${1-} cmake --install "$work/npu/build" --prefix "$work/archive" --component plugin-npu >"$work/log" 2>&1; }
installed=$work/archive/share/gantry/plugins.d/npu/npu.yaml
install "$work/acme.key" && minisign -V -q -p "$work/acme.pub" -m "$installed" >"$work/log" 2>&1 || fail "the signature of a directory"
install && [ ! -e "$installed.minisig" ] || fail "a signature of an earlier installation stays"
[ "$(find "$work/npu/build" -maxdepth 1 -name '*.installed')" = "" ] || fail "files are left in the build tree"
# Within a second, with another library, whose time is another.
built=$work/npu/build/share/gantry/plugins.d/npu/libgantry_npu.so
cp -p "$built" "$work/built"
install "$work/acme.key" || fail "installing before the library changes"
printf changed >>"$built"
touch -d '1 hour ago' "$built"
install "$work/acme.key" || fail "installing after the library has changed"
cp -p "$work/built" "$built"
changed=$work/archive/share/gantry/plugins.d/npu/libgantry_npu.so
[ "$(tail -c 7 "$changed")" = changed ] || fail "the library is that of an earlier installation"
[ "$(sed -n 's/^sha256: //p' "$installed")" = "$(sha256sum "$changed" | cut -d ' ' -f 1)" ] || fail "the digest is that of an earlier library"
minisign -V -q -p "$work/acme.pub" -m "$installed" >"$work/log" 2>&1 || fail "the signature is not that of the manifest"
install || fail "installing the library as it was"

# As scikit-build-core makes a wheel, without the package of Python: tests/python/plugin_wheel_test.sh does it with that.
cat >"$work/wheel.py" <<'PYTHON'
import base64, csv, hashlib, io, sys, zipfile
command, path = sys.argv[1:3]
data = "gantry_plugin_acme_npu-1.0.0.data/data/share/gantry/plugins.d/acme.npu/"
record = "gantry_plugin_acme_npu-1.0.0.dist-info/RECORD"


def row(name, content):
    return name, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("="), len(content)


if command == "make":
    with zipfile.ZipFile(path, "w") as wheel:
        rows = []
        for file in sys.argv[3:]:
            content = open(file, "rb").read()
            name = data + file.split("/")[-1]
            wheel.writestr(name, content)
            rows.append(row(name, content))
        output = io.StringIO()
        csv.writer(output, lineterminator="\n").writerows(rows + [(record, "", "")])
        wheel.writestr(record, output.getvalue())
else:
    wheel = zipfile.ZipFile(path)
    rows = {entry[0]: tuple(entry) for entry in csv.reader(io.StringIO(wheel.read(record).decode()))}
    assert sorted(rows) == sorted(wheel.namelist()), (sorted(rows), wheel.namelist())
    for name in wheel.namelist():
        expected = (record, "", "") if name == record else tuple(map(str, row(name, wheel.read(name))))
        assert rows[name] == expected, (rows[name], expected)
        if name.startswith(data):
            open(f"{sys.argv[3]}/{name.split('/')[-1]}", "wb").write(wheel.read(name))
PYTHON
wheel=$work/gantry_plugin_acme_npu-1.0.0-py3-none-any.whl
directory=$work/archive/share/gantry/plugins.d/npu
# unpack: checks the list of files of the wheel, and unpacks the plugin
unpack() { rm -rf "$work/wheel" && mkdir "$work/wheel" && python3 "$work/wheel.py" unpack "$wheel" "$work/wheel" >"$work/log" 2>&1 || fail "the files of the wheel"; }
write_digests() { GANTRY_SIGN_KEY=${1-} ${2-} "$sdk/wheel/write-digests" "$wheel" >"$work/log" 2>&1; }
make_wheel() { rm -f "$wheel" && python3 "$work/wheel.py" make "$wheel" "$@"; }
make_wheel "$directory/npu.yaml" "$directory/libgantry_npu.so"
write_digests || fail "write-digests"
unpack
cmp "$work/wheel/npu.yaml" "$directory/npu.yaml" || fail "write-digests and cmake --install write different manifests"
# A manifest whose last line, without an end, is the digest of another library: it has one digest afterwards.
mkdir "$work/unended"
{ grep -v '^sha256: ' "$directory/npu.yaml" && printf 'sha256: "aa"'; } >"$work/unended/npu.yaml"
cmake -D "manifest=$work/unended/npu.yaml" -D "library=$directory/libgantry_npu.so" -D "installed=$work/unended/installed/npu.yaml" \
  -D is_absolute=FALSE -D has_digest=TRUE -P "$work/prefix/share/cmake/gantry-sdk/InstallManifest.cmake" >"$work/log" 2>&1 ||
  fail "installing a manifest without a last end of line"
cmp "$work/unended/installed/npu.yaml" "$directory/npu.yaml" || fail "cmake --install keeps the digest in a last line without an end"
make_wheel "$work/unended/npu.yaml" "$directory/libgantry_npu.so"
write_digests || fail "write-digests of a manifest without a last end of line"
unpack
cmp "$work/wheel/npu.yaml" "$directory/npu.yaml" || fail "write-digests keeps the digest in a last line without an end"
# A tool has changed the library.
cp "$work/library" "$directory/libgantry_npu.so"
printf changed >>"$directory/libgantry_npu.so"
make_wheel "$directory/npu.yaml" "$directory/libgantry_npu.so"
write_digests "$work/acme.key" || fail "write-digests with a key"
unpack
[ "$(sed -n 's/^sha256: //p' "$work/wheel/npu.yaml")" = "$(sha256sum "$directory/libgantry_npu.so" | cut -d ' ' -f 1)" ] || fail "the digest in the wheel"
minisign -V -q -p "$work/acme.pub" -m "$work/wheel/npu.yaml" >"$work/log" 2>&1 || fail "minisign does not verify the manifest of the wheel"
cp "$wheel" "$work/first.whl"
write_digests "$work/acme.key" && cmp "$wheel" "$work/first.whl" || fail "write-digests again gives other bytes"
# unverified WHAT: without the key, which could replace the signature, the wheel is refused, and stays as it was
unverified() {
  cp "$wheel" "$work/first.whl"
  ! write_digests || fail "without a key, $1 is kept"
  grep -q 'npu.yaml.minisig, which is not verified .*: set GANTRY_SIGN_KEY' "$work/log" || fail "the error of $1"
  cmp "$wheel" "$work/first.whl" || fail "a refused wheel with $1 is changed"
}
unverified "a signature"
sed -i 's/^vendor: acme$/vendor: acmf/' "$work/wheel/npu.yaml"
make_wheel "$work/wheel/npu.yaml" "$work/wheel/npu.yaml.minisig" "$directory/libgantry_npu.so"
unverified "a signature of another manifest, whose digest is right"
printf more >>"$directory/libgantry_npu.so"
make_wheel "$work/wheel/npu.yaml" "$work/wheel/npu.yaml.minisig" "$directory/libgantry_npu.so"
unverified "a signature of another digest"
write_digests "$work/acme.key" || fail "write-digests of a wheel with a stale signature"
unpack
minisign -V -q -p "$work/acme.pub" -m "$work/wheel/npu.yaml" >"$work/log" 2>&1 || fail "the stale signature is kept"
echo "signing: a wheel"

# A key with a password: minisign asks for it on the terminal, and cannot sign without one.
cat >"$work/terminal.py" <<'PYTHON'
import os, pty, select, sys, termios
password, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
output, answers = b"", 0
while True:
    try:
        if select.select([terminal], [], [], 0.01)[0]:
            output += os.read(terminal, 4096)
        # What is written before minisign has turned off the echo is discarded.
        if output.count(b"Password") > answers and not termios.tcgetattr(terminal)[3] & termios.ECHO:
            answers += 1
            os.write(terminal, password.encode() + b"\n")
    except OSError:
        break
print(f"{output.decode()}passwords: {answers}")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
# terminal COMMAND...: answers each question for a password
terminal() { timeout 60 python3 "$work/terminal.py" secret "$@"; }
# asked COUNT WHAT
asked() { grep -q "^passwords: $1\$" "$work/log" || fail "$2 does not ask $1 times for the password"; }
terminal minisign -G -p "$work/asking.pub" -s "$work/asking.key" >"$work/log" 2>&1 || fail "a key with a password"
asked 2 "minisign -G"
! pack "$work/asking.key" </dev/null || fail "cpack signs without the password"
grep -q 'minisign cannot sign' "$work/log" || fail "the error without a password"
pack "$work/asking.key" terminal || fail "cpack with a password"
asked 1 cpack
minisign -V -q -p "$work/asking.pub" -m "$manifest" >"$work/log" 2>&1 || fail "cpack with a password gives another signature"
write_digests "$work/asking.key" terminal || fail "write-digests with a password"
asked 1 write-digests
unpack
minisign -V -q -p "$work/asking.pub" -m "$work/wheel/npu.yaml" >"$work/log" 2>&1 || fail "write-digests with a password gives another signature"
echo "signing: a key with a password"

# What is wrong is named.
for key in acme.key "$work/none.key"; do
  ! pack "$key" || fail "cpack with the key $key"
  tr -s '\n ' ' ' <"$work/log" | grep -q "GANTRY_SIGN_KEY is \"$key\", expected the absolute path of a secret key" || fail "the error of $key"
  ! write_digests "$key" || fail "write-digests with the key $key"
  grep -q "GANTRY_SIGN_KEY is \"$key\", expected the absolute path of a secret key" "$work/log" || fail "the error of $key"
done
! pack "$work/acme.pub" || fail "cpack with a public key"
tr -s '\n ' ' ' <"$work/log" | grep -q "minisign cannot sign acme.npu.$(uname -m).yaml with GANTRY_SIGN_KEY, $work/acme.pub" || fail "the error of a public key"
# A host without dpkg-dev makes no Debian package, but others, and a project has a file of its own for cpack.
echo 'message(STATUS "the project makes ${CPACK_GENERATOR}")' >"$work/npu/project.cmake"
sed -i 's|^gantry_package_plugin|set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/project.cmake")\n&|' "$work/npu/CMakeLists.txt"
cmake -S "$work/npu" -B "$work/npu/build" >"$work/log" 2>&1 || fail "a project with a file for cpack"
mkdir "$work/bin"
ln -s /usr/bin/* "$work/bin"
rm "$work/bin/dpkg-shlibdeps"
without_dpkg_dev() { (cd "$work/npu/build" && PATH=$work/bin cpack -D 'CMAKE_IGNORE_PATH=/usr/bin;/bin' "$@") >"$work/log" 2>&1; }
! without_dpkg_dev || fail "a host without dpkg-dev"
grep -q 'apt-get install dpkg-dev' "$work/log" || fail "the error of a host without dpkg-dev"
grep -q 'the project makes DEB' "$work/log" || fail "cpack does not run the project's own file"
without_dpkg_dev -G TGZ || fail "an archive on a host without dpkg-dev"
[ -e "$work"/npu/build/*.tar.gz ] || fail "cpack -G TGZ makes no archive"
pack && grep -q 'the project makes DEB' "$work/log" || fail "a package of a project with a file for cpack"
echo "signing: passed"
