#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs tests/bench/instructions with a program that stands for valgrind and writes chosen counts.
#
# usage: instructions_test.sh
set -eu
script=$(cd "$(dirname "$0")/../bench" && pwd)/instructions
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=$work/build
mkdir -p "$work/bin" "$build/bin" "$build/tests/bench/plugins.d" "$build/CMakeFiles/3.25.1"
for plugin in aot const_loader contrib graph relax relay_vm; do mkdir -p "$build/share/gantry/plugins.d/$plugin"; done
fail() {
  echo "instructions: FAILED: $*" >&2
  cat "$work/out" >&2
  exit 1
}
program() {
  { echo '#!/bin/sh'; cat; } >"$1"
  chmod +x "$1"
}
# run STATUS ARGUMENT...: the output is in $work/out.
run() {
  expected=$1
  shift
  status=0
  PATH="$work/bin:$PATH" "$script" "$build" --table "$work/table" "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" = "$expected" ] || fail "status is $status, expected $expected"
}
# has TEXT: a line of the output is TEXT.
has() { grep -qxF "$1" "$work/out" || fail "no line \"$1\""; }

echo 'CMAKE_BUILD_TYPE:STRING=Release' >"$build/CMakeCache.txt"
cat >"$build/CMakeFiles/3.25.1/CMakeCXXCompiler.cmake" <<'E1'
set(CMAKE_CXX_COMPILER_ID "GNU")
set(CMAKE_CXX_COMPILER_VERSION "12.2.0")
E1
program "$build/tests/gantry_bench_fixtures" <<'E1'
mkdir "$1"
E1
for name in bin/gantry tests/gantry_instruction_works tests/gantry_bench_first_output; do
  program "$build/$name" </dev/null
done
# The start of the process, two repetitions and its end; the model, libm, the second thread and called functions do not count.
program "$work/bin/valgrind" <<E1
for word; do
  case \$word in
    --callgrind-out-file=*) report=\${word#*=} ;;
  esac
done
read -r count <"$work/count"
cat >"\$report" <<E2
part: 1
thread: 1
ob=(1) /tmp/x/bin/gantry_instruction_works
fn=(1) main
0 777777
part: 2
thread: 1
ob=(1)
fn=(1)
0 500
+3 \$((count + 100 - 500))
cob=(2) /tmp/x/models/calls.so
cfn=(2) sum4
calls=100 0
0 66666
ob=(2)
fn=(2)
0 66666
ob=(3) /lib/x86_64-linux-gnu/libm.so.6
fn=(3) exp
0 66666
part: 2
thread: 2
ob=(1)
fn=(1)
0 66666
part: 3
thread: 1
ob=(1)
fn=(1)
0 500
* \$((count - 500))
part: 4
thread: 1
ob=(1)
fn=(1)
0 5
E2
E1

printf '# elsewhere\nwork\tinstructions\twhat\ngantry_instruction_works packed\t0\tcalls\npython3 calls.py\t7\tcalls\n' >"$work/table"
echo 100000 >"$work/count"
run 0
sed 's/this is .*/this is here/' "$work/out" >"$work/line"
[ "$(cat "$work/line")" = "no comparison: the table is for elsewhere; this is here" ] || fail "another machine is compared"
run 0 --update
grep -q ', GNU 12.2.0, Release$' "$work/table" || fail "the table does not have the compiler"
grep -qxF "$(printf 'gantry_instruction_works packed\t100000\tcalls')" "$work/table" || fail "the count is not in the table"
grep -qxF "$(printf 'python3 calls.py\t7\tcalls')" "$work/table" || fail "a row that was not counted has changed"

for passing in 98100 100000 101900; do
  echo $passing >"$work/count"
  run 0
done
has 'gantry_instruction_works packed: 101,900 instructions, table 100,000, +1.9 %'
has "python3 calls.py: not counted: $build has no Python package, which tests/python/wheel_test.sh builds"
echo 102100 >"$work/count"
run 1
has 'gantry_instruction_works packed: 102,100 instructions, table 100,000, +2.1 %: REFUSED, limit 2 %'
has '1 of 2 works differ from the table by more than 2 %. If that is intended, run tests/bench/instructions --update,'
has 'and give the reason in the commit that changes the table.'
echo 97900 >"$work/count"
run 1
has 'gantry_instruction_works packed: 97,900 instructions, table 100,000, -2.1 %: REFUSED, limit 2 %'
run 0 --only python3

# A work without a row is not counted by anyone.
program "$build/tests/gantry_instruction_works" <<'E1'
printf 'packed\nforgotten\n'
E1
run 2
has "error: the table has no row of gantry_instruction_works forgotten"
program "$build/tests/gantry_instruction_works" </dev/null

program "$work/bin/valgrind" <<'E1'
echo "the work fails" >&2
exit 3
E1
run 2
grep -q '^error: gantry_instruction_works packed: exit code 3: the work fails' "$work/out" || fail "a work that fails is not reported"
rm "$build/bin/gantry"
run 2
has "error: $build/bin/gantry is missing; cmake --build $build --target gantry_instruction_programs builds it"
echo "instructions: passed"
