// SPDX-License-Identifier: Apache-2.0
//
// The library that libfake_missing_dependency.so requires and that is in no search path; as an
// upgrade that lacks the function, and as a defective one.
#include <stdlib.h>

int fake_dependency(void);
int fake_later_function(void);

#ifdef FAKE_DEPENDENCY_ABORTS
int fake_dependency(void) { abort(); }
#elif !defined(FAKE_DEPENDENCY_UPGRADED)
int fake_dependency(void) { return 7; }
#endif
int fake_later_function(void) { return 8; }
