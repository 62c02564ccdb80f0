// SPDX-License-Identifier: Apache-2.0
//
// Changes one item of the state of the thread or the process, for libraries that do so while they
// are opened. C and C++.
#pragma once

#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// what     [in]   NULL or another text: nothing is changed
static inline void change_state(const char* what) {
  if (!what) return;
  if (strcmp(what, "rounding") == 0) fesetround(FE_UPWARD);
#if defined(__x86_64__)
  // As crtfastmath.o, which GCC links with -Ofast.
  if (strcmp(what, "flush") == 0) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  if (strcmp(what, "signals") == 0) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
  }
  if (strcmp(what, "directory") == 0 && chdir("/") != 0) abort();
  if (strcmp(what, "input") == 0) close(0);
  if (strcmp(what, "output") == 0) close(1);
  if (strcmp(what, "error") == 0) close(2);
  if (strcmp(what, "locale") == 0 && !setlocale(LC_ALL, "C.UTF-8")) abort();
  if (strcmp(what, "thread_locale") == 0) {
    // Never freed; volatile, so that the leak checker finds it.
    static locale_t volatile other;
    other = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    uselocale(other);
  }
  if (strcmp(what, "creation_mask") == 0) umask(0);
  if (strcmp(what, "action") == 0) signal(SIGUSR2, SIG_IGN);
}
