// SPDX-License-Identifier: Apache-2.0
//
// The library that libfake_missing_dependency.so requires and that is in no search path.
int fake_dependency(void);
int fake_dependency(void) { return 7; }
