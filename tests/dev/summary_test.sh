#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the summary of a log of `ctest --verbose` with what it must be.
#
# usage: summary_test.sh DIRECTORY_OF_SCRIPTS
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/log" <<'EOF'
1: [ RUN      ] A.passes
1: [       OK ] A.passes (0 ms)
2: [ RUN      ] Golden.skipped
1: [ RUN      ] A.fails
2: why.cpp:1: Skipped
1: a.cpp:3: Failure
1: [  FAILED  ] A.fails, where GetParam() = 3 (1 ms)
1: [ RUN      ] A.skipped
1: [  SKIPPED ] A.skipped (0 ms)
2: [  SKIPPED ] Golden.skipped (0 ms)
1: [==========] 3 tests from 1 test suite ran. (1 ms total)
1: [  FAILED  ] A.fails, where GetParam() = 3
2: [==========] 2 tests from 1 test suite ran. (0 ms total)
1/6 Test #1: unit_a ...........***Failed    0.01 sec
2/6 Test #2: golden_b .........   Passed    0.01 sec
3: [ RUN      ] C.fine
3: [       OK ] C.fine (0 ms)
3: [ RUN      ] C.ends_the_process
3: last words
3/6 Test #3: unit_c ...........***Exception: SegFault  0.01 sec
4: a script
4/6 Test #4: script ...........   Passed    0.01 sec
5: not here
5/6 Test #5: other ............***Skipped   0.01 sec
6/6 Test #6: wrong ............***Failed    0.01 sec
7: [ RUN      ] Oracle.is_absent
7: d.cpp:1: Skipped
7: zsh is not installed
7: [  SKIPPED ] Oracle.is_absent (0 ms)
7: [ RUN      ] Oracle.passes
7: [       OK ] Oracle.passes (0 ms)
7: [==========] 2 tests from 1 test suite ran. (0 ms total)
7/7 Test #7: unit_d ...........   Passed    0.01 sec
EOF
cat >"$work/expected" <<'EOF'
---- failed
[ RUN      ] A.fails
a.cpp:3: Failure
[  FAILED  ] A.fails, where GetParam() = 3 (1 ms)

---- golden_b skipped golden cases
[ RUN      ] Golden.skipped
why.cpp:1: Skipped
[  SKIPPED ] Golden.skipped (0 ms)

---- 3/6 Test #3: unit_c ...........***Exception: SegFault  0.01 sec
[ RUN      ] C.ends_the_process
last words

---- 6/6 Test #6: wrong ............***Failed    0.01 sec

---- skipped without a program
[ RUN      ] Oracle.is_absent
d.cpp:1: Skipped
zsh is not installed
[  SKIPPED ] Oracle.is_absent (0 ms)

4 5 2
EOF
"$1/summarize-tests" "$work/log" >"$work/found"
diff "$work/expected" "$work/found" || { echo "summary: FAILED" >&2; exit 1; }
echo "summary: passed"
