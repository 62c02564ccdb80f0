#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the build tree into an empty prefix and uses only the installed files:
#   the README's program builds with find_package(gantry) and runs the digits network,
#   so does the program of core/engine/runtime/LOADING.md, which contains the code of a model,
#   every C++ fragment of a page compiles, and the demos of tools/demo run,
#   the plugin template and the example accelerator build, and are found after their directories are
#   copied,
#   after the removal of a plugin's directory exactly its type keys are missing,
#   pkg-config has what a compiler needs,
#   plugins that are installed as packages install them are found, with their libraries elsewhere.
#
# usage: install_test.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
export CMAKE_GENERATOR=Ninja
say() { echo "install: $*"; }
fail() { say "FAILED: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" 2>&1 || { cat "$work/install.log"; fail "cmake --install"; }
gantry=$work/prefix/bin/gantry
golden=$source/tests/golden/data/tvm-0.12

say "the installed tool runs"
"$gantry" version >"$work/version" || fail "gantry version"

say "the documents are installed"
for page in doc/gantry/FORMAT.md doc/gantry/LICENSE doc/gantry/RECIPE.md gantry/sdk/ABI.md gantry/sdk/MANIFEST.md; do
  [ -s "$work/prefix/share/$page" ] || fail "share/$page is missing or empty"
done

say "the example builds with find_package(gantry) and runs the digits network"
cmake -S "$source/tests/install/embed" -B "$work/embed" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/embed.log" 2>&1 &&
  cmake --build "$work/embed" >>"$work/embed.log" 2>&1 || { cat "$work/embed.log"; fail "building the example"; }
"$work/embed/digits" "$golden/digits_mlp_llvm.so" "$golden/digits_mlp.input.npz" >"$work/answers" || fail "running the example"
# The index of the largest value of each row of digits_mlp_llvm.expected.npz, which TVM computed.
cmp "$work/answers" "$source/tests/install/embed/answers.txt" || fail "the results differ from TVM's"

say "the C++ fragments of the pages compile"
mkdir "$work/fragments"
# The function in README.md is part of a program, see readme_test.sh.
for page in core/engine/runtime/LOADING.md plugins/relax/README.md plugins/relay_vm/README.md; do
  awk -v "base=$work/fragments/$(echo "$page" | tr / _)" \
    '/^```cpp$/ {on = 1; file = base "." ++count ".cpp"; next} /^```$/ {on = 0} on {print >file}' "$source/$page"
done
pages=$(cd "$source" && find . -name build -prune -o -name '*.md' -exec grep -l '^```cpp$' {} + | wc -l)
[ "$pages" = 4 ] || fail "$pages pages have C++, the test has 3 and README.md"
for fragment in "$work"/fragments/*.cpp; do
  # What its page assumes to exist.
  grep -q '^#include' "$fragment" || {
    { echo '#include <gantry/embed.hpp>'
      echo 'using namespace gantry;'
      echo 'Status example(const Runtime& runtime, const Module& vm, const Tensor& x) {'
      cat "$fragment"
      echo 'return {};'
      echo '}'; } >"$work/fragment.cpp"
    mv "$work/fragment.cpp" "$fragment"
  }
  c++ -std=c++20 -Wall -Werror -Wno-unused -fsyntax-only -I"$work/prefix/include" "$fragment" ||
    fail "$(basename "$fragment") does not compile"
done

say "the demo of handwritten digits needs the installed headers and libgantry alone"
mkdir -p "$work/demo/tools"
cp -r "$source/tools/demo" "$work/demo/tools/demo"
c++ -std=c++20 -Wall -Werror -I"$work/prefix/include" -I"$work/demo" -o "$work/demo/digits" \
  "$work/demo/tools/demo/digits.cpp" "$work/demo/tools/demo/child.cpp" "$work/demo/tools/demo/drawing.cpp" \
  "$work/demo/tools/demo/recognise.cpp" \
  -L"$work/prefix/lib" -lgantry || fail "building tools/demo/digits.cpp"
"$gantry" -q pack "$work/demo/tools/demo/digits.yaml" -o "$work/demo/digits.so" || fail "packing tools/demo/digits.yaml"
LD_LIBRARY_PATH=$work/prefix/lib "$work/demo/digits" "$work/demo/digits.so" "$work/demo/tools/demo/data/images.npy" \
  "$work/demo/tools/demo/data/labels.npy" >"$work/demo/output" || fail "running the demo of handwritten digits"
grep -q '^cpu:0 *348 of 360 ' "$work/demo/output" || { cat "$work/demo/output"; fail "the demo's results are wrong"; }

say "the demo of a language model needs the installed headers and libgantry alone"
c++ -std=c++20 -Wall -Werror -I"$work/prefix/include" -o "$work/generate" "$source/tools/demo/generate.cpp" \
  -L"$work/prefix/lib" -lgantry || fail "building tools/demo/generate.cpp"
LD_LIBRARY_PATH=$work/prefix/lib "$work/generate" "$source/tests/golden/data/relax/lm_paged_llvm.so" \
  "$source/tests/golden/data/relax/lm_paged.weights" 4 | grep -q '^4 tokens, ' || fail "running the demo of a language model"

say "pkg-config has the compiler's options for the example"
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
# shellcheck disable=SC2046
c++ -std=c++20 -fsyntax-only "$source/tests/install/embed/digits.cpp" $(pkg-config --cflags gantry) ||
  fail "pkg-config --cflags gantry"
[ -e "$(pkg-config --variable=libdir gantry)/libgantry.so" ] || fail "pkg-config --variable=libdir gantry"
[ "$(pkg-config --libs-only-l gantry | tr -d ' ')" = -lgantry ] || fail "pkg-config --libs gantry"

if [ "$(uname -m)" = x86_64 ]; then
  say "the page on loading contains the program with a model in it that is tested"
  page=$source/core/engine/runtime/LOADING.md
  # without the line of its licence
  tail -n +2 "$source/tests/install/linked/linked.cpp" >"$work/linked.cpp"
  awk '/^```cpp$/ {on = 1; next} /^```$/ {on = 0} on' "$page" | cmp - "$work/linked.cpp" ||
    fail "LOADING.md and tests/install/linked/linked.cpp differ"
  awk '/^```cmake$/ {on = 1; next} /^```$/ {on = 0} on' "$page" | cmp - "$source/tests/install/linked/CMakeLists.txt" ||
    fail "LOADING.md and tests/install/linked/CMakeLists.txt differ"
  cp -r "$source/tests/install/linked" "$work/linked"
  cp "$source/tests/golden/data/relax/tir_syslib_llvm.o" "$work/linked/model.o"
  cmake -S "$work/linked" -B "$work/linked/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/linked.log" 2>&1 &&
    cmake --build "$work/linked/build" >>"$work/linked.log" 2>&1 || { cat "$work/linked.log"; fail "building the program with a model"; }
  [ "$("$work/linked/build/linked")" = 4.5 ] || fail "running the program with a model"
  # shellcheck disable=SC2046
  c++ -std=c++20 -o "$work/linked/by_hand" "$work/linked/linked.cpp" "$work/linked/model.o" \
    $(pkg-config --cflags --libs gantry-system-library) || fail "pkg-config gantry-system-library"
  [ "$(LD_LIBRARY_PATH=$work/prefix/lib "$work/linked/by_hand")" = 4.5 ] || fail "running the program of pkg-config"
fi

say "the plugin template builds against the installed SDK and is found"
cp -r "$work/prefix/share/gantry/sdk/template/c" "$work/template"
cmake -S "$work/template" -B "$work/template/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/template.log" 2>&1 &&
  cmake --build "$work/template/build" >>"$work/template.log" 2>&1 || { cat "$work/template.log"; fail "building the template"; }
cp -r "$work"/template/build/share/gantry/plugins.d/* "$work/prefix/share/gantry/plugins.d/"
"$gantry" plugins list >"$work/list" || fail "gantry plugins list"
grep -q 'example\.null' "$work/list" || { cat "$work/list"; fail "the template's plugin is not listed"; }

say "the example accelerator builds against the installed SDK and runs its model"
cp -r "$work/prefix/share/gantry/sdk/example" "$work/example"
cmake -S "$work/example" -B "$work/example/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/example.log" 2>&1 &&
  cmake --build "$work/example/build" >>"$work/example.log" 2>&1 || { cat "$work/example.log"; fail "building the example accelerator"; }
"$gantry" -q pack "$work/example/model/model.yaml" -o "$work/model.so" || fail "packing the accelerator's model"
if "$gantry" run "$work/model.so" --function axpy2 >/dev/null 2>"$work/error"; then
  fail "the model runs without the accelerator's plugin"
fi
grep -q 'example\.abacus' "$work/error" || { cat "$work/error"; fail "the error does not name the type key"; }
cp -r "$work/example/build/share/gantry/plugins.d/abacus" "$work/prefix/share/gantry/plugins.d/"
"$gantry" devices >"$work/devices" || fail "gantry devices"
grep -q '^abacus:1  example\.abacus' "$work/devices" || { cat "$work/devices"; fail "the accelerator is not listed"; }
[ -n "$(ls "$work/cache/gantry/probe")" ] || fail "the accelerator was opened without a probe"
"$gantry" run "$work/model.so" --device abacus:1 --function axpy2 --arg zeros:float32[100] --arg zeros:float32[100] \
  --arg zeros:float32[100] >"$work/axpy2" || fail "running the accelerator's function"
grep -q '^arg2  float32\[100\]  0 0 ' "$work/axpy2" || { cat "$work/axpy2"; fail "the accelerator's result is wrong"; }
rm -r "$work/prefix/share/gantry/plugins.d/abacus"

say "without the graph plugin's directory its type key is missing"
mv "$work/prefix/share/gantry/plugins.d/graph" "$work/graph"
if "$work/embed/digits" "$golden/digits_mlp_llvm.so" "$golden/digits_mlp.input.npz" >/dev/null 2>"$work/error"; then
  fail "the example runs without the graph plugin"
fi
grep -q 'GraphExecutorFactory' "$work/error" || { cat "$work/error"; fail "the error does not name the type key"; }
mv "$work/graph" "$work/prefix/share/gantry/plugins.d/graph"
"$work/embed/digits" "$golden/digits_mlp_llvm.so" "$golden/digits_mlp.input.npz" | cmp - "$work/answers" || fail "the results differ after the plugin is restored"
say "plugins are found where packages install them"
for component in tools system-graph; do
  cmake --install "$build" --prefix "$work/system" --component $component >"$work/install.log" 2>&1 ||
    { cat "$work/install.log"; fail "cmake --install --component $component"; }
done
machine=$(uname -m)
[ -s "$work/system/share/gantry/plugins.d/gantry.graph.$machine.yaml" ] || fail "the manifest is not in share/gantry/plugins.d"
[ -n "$(find "$work/system/lib" -path '*/gantry/plugins.d/gantry.graph/libgantry_graph.so')" ] ||
  fail "the library is not in lib/*/gantry/plugins.d"
"$work/system/bin/gantry" -q run "$golden/digits_mlp_llvm.so" --each --input "$golden/digits_mlp.input.npz" \
  --expect "$golden/digits_mlp_llvm.expected.npz" >"$work/run.log" || { cat "$work/run.log"; fail "gantry run"; }
say "passed"
