#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Executes the commands of README.md, in their order, with the build tree in place of the one that tools/demo/run makes. Commands that
# need root, or that .ci/run executes elsewhere, are left out; tests/debian/walk executes them all.
#
#   the page has at most 1,300 words,
#   its C++ is in the program that its commands build,
#   the program, and the Python of the page, recognize the digits that TVM does,
#   tools/demo/run ends with the page's next commands.
#
# usage: readme_test.sh SOURCE_DIR BUILD_DIR [ENVIRONMENT]
#
# ENVIRONMENT   a virtual environment with the package: executes the page's Python there, and nothing else
set -eu
source=$(realpath "$1")
build=$(realpath "$2")
environment=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "readme: FAILED: $*" >&2; exit 1; }
page=$source/README.md
answers=$source/tests/install/embed/answers.txt

# a checkout in which build/release has what is in the build tree, and the demo's model
tree=$work/gantry
mkdir -p "$tree/build/release" "$work/home"
for entry in "$source"/*; do
  [ "$(basename "$entry")" = build ] || ln -s "$entry" "$tree"
done
for entry in "$build"/*; do
  [ "$(basename "$entry")" = digits.so ] || ln -s "$entry" "$tree/build/release"
done
"$build/bin/gantry" -q pack "$source/tools/demo/digits.yaml" -o "$tree/build/release/digits.so" || fail "packing the demo's model"

# execute COMMANDS: in the checkout, with the output in $work/output
execute() {
  (cd "$tree" && HOME=$work/home XDG_CACHE_HOME=$work/cache bash -eu "$1") >"$work/output" 2>&1 ||
    { tail -n 40 "$work/output"; fail "the commands of README.md"; }
}
"$source/tools/dev/page-commands" "$page" >"$work/all"
if [ -n "$environment" ]; then
  sed -n '/^python - /,/^END_OF_PYTHON$/p' "$work/all" >"$work/python"
  [ -s "$work/python" ] || fail "README.md has no Python"
  PATH=$(realpath "$environment")/bin:$PATH execute "$work/python"
  head -n 1 "$answers" >"$work/answer"
  grep -x '[0-9]' "$work/output" | cmp - "$work/answer" || { cat "$work/output"; fail "Python recognizes another digit than TVM"; }
  exit 0
fi

words=$(wc -w <"$page")
[ "$words" -le 1300 ] || fail "README.md has $words words, limit is 1300"
awk '/^```cpp$/ {on = 1; next} /^```$/ {on = 0} on' "$page" >"$work/readme.cpp"
case $(cat "$source/tests/install/embed/digits.cpp") in
  *"$(cat "$work/readme.cpp")"*) ;;
  *) fail "README.md has a function that is not in tests/install/embed/digits.cpp" ;;
esac

sed '/^python - /,/^END_OF_PYTHON$/d' "$work/all" >"$work/commands"
while read -r command; do
  grep -qxF "$command" "$work/commands" || fail "README.md does not have the command \"$command\""
  grep -vxF "$command" "$work/commands" >"$work/left"
  mv "$work/left" "$work/commands"
done <<'ELSEWHERE'
tools/demo/run
sudo apt-get install --yes python3-dev python3-venv
python3 -m venv .venv
. .venv/bin/activate
pip install .
tools/demo/generate
sudo apt-get install --yes dpkg-dev
tools/package/deb
sudo apt-get install --yes ./build/packages/*.deb
tools/dev/test
ELSEWHERE
execute "$work/commands"
# The program's lines are the only ones of one digit.
grep -x '[0-9]' "$work/output" | cmp - "$answers" || fail "the program recognizes other digits than TVM"
[ -s "$tree/build/digits.npz" ] || fail "gantry run has not written build/digits.npz"
"$source/tools/demo/next" | sed -n 's/^  //p' >"$work/next"
sed '/^gantry report /q' "$work/commands" | cmp - "$work/next" || { cat "$work/next"; fail "tools/demo/run ends with other commands"; }
echo "readme: $(wc -l <"$work/commands") commands work"
