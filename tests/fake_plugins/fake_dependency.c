// SPDX-License-Identifier: Apache-2.0
//
// The library that libfake_missing_dependency.so needs and that no search path leads to.
int fake_dependency(void);
int fake_dependency(void) { return 7; }
