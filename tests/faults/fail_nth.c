// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "fail_nth.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* glibc's functions under their reserved names: dlsym() would allocate. */
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

#define EXPORT __attribute__((visibility("default")))

static atomic_int armed;
static atomic_int fired;
static atomic_ulong count;
static atomic_long live;
static unsigned long failing;
static int onward; /* every later allocation fails, too */
static int backtrace_wanted;
static char report_file[512];

/* Called for each failed allocation: set a breakpoint here. */
__attribute__((noinline)) static void on_failure(void) {
  if (!backtrace_wanted) return;
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
}

static int fails_now(void) {
  if (!atomic_load_explicit(&armed, memory_order_relaxed)) return 0;
  const unsigned long nth = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
  if (onward ? failing == 0 || nth < failing : nth != failing) return 0;
  atomic_store(&fired, 1);
  on_failure();
  errno = ENOMEM;
  return 1;
}

static void* made(void* block) {
  if (block) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
  return block;
}

EXPORT void* malloc(size_t size) { return fails_now() ? NULL : made(__libc_malloc(size)); }
EXPORT void* calloc(size_t n, size_t size) {
  return fails_now() ? NULL : made(__libc_calloc(n, size));
}
EXPORT void* realloc(void* block, size_t size) {
  if (fails_now()) return NULL;
  void* const moved = __libc_realloc(block, size);
  if (!block) made(moved);
  if (block && !moved && size == 0) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  return moved;
}
EXPORT void* memalign(size_t alignment, size_t size) {
  return fails_now() ? NULL : made(__libc_memalign(alignment, size));
}
EXPORT void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
EXPORT int posix_memalign(void** block, size_t alignment, size_t size) {
  void* const got = memalign(alignment, size);
  if (!got) return ENOMEM;
  *block = got;
  return 0;
}
EXPORT void free(void* block) {
  if (block) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  __libc_free(block);
}

static void arm(unsigned long nth, int all) {
  failing = nth;
  onward = all;
  atomic_store(&fired, 0);
  atomic_store(&count, 0);
  atomic_store(&armed, 1);
}
EXPORT void fail_nth_arm(unsigned long nth) { arm(nth, 0); }
EXPORT void fail_nth_arm_onward(unsigned long nth) { arm(nth, 1); }
EXPORT unsigned long fail_nth_disarm(void) {
  atomic_store(&armed, 0);
  return atomic_load(&count);
}
EXPORT int fail_nth_fired(void) { return atomic_load(&fired); }
EXPORT long fail_nth_live(void) { return atomic_load(&live); }
EXPORT void fail_nth_mark(int begin) { prctl(FAIL_NTH_MARK, begin, 0, 0, 0); }

static int (*program_main)(int, char**, char**);

static void report(unsigned long allocations) {
  if (report_file[0] == 0) return;
  char line[128];
  const int size = snprintf(line, sizeof line, "allocations %lu live %ld fired %d\n", allocations,
                            fail_nth_live(), fail_nth_fired());
  const int out = open(report_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (out < 0) return;
  if (write(out, line, (size_t)size) != size) abort();
  close(out);
}

static int counted_main(int argc, char** argv, char** environment) {
  const char* const nth = getenv("GANTRY_FAIL_ALLOCATION");
  const char* const file = getenv("GANTRY_FAIL_REPORT");
  const unsigned long wanted = nth ? strtoul(nth, NULL, 10) : 0;
  const int all = getenv("GANTRY_FAIL_ONWARD") != NULL;
  backtrace_wanted = getenv("GANTRY_FAIL_BACKTRACE") != NULL;
  if (backtrace_wanted) { /* the first call of backtrace() loads a library */
    void* frames[1];
    backtrace(frames, 1);
  }
  if (file) strncpy(report_file, file, sizeof report_file - 1);
  unsetenv("GANTRY_FAIL_ALLOCATION");
  unsetenv("GANTRY_FAIL_ONWARD");
  unsetenv("GANTRY_FAIL_REPORT");
  unsetenv("LD_PRELOAD");
  const int preloaded = nth || file;
  if (preloaded) arm(wanted, all);
  fail_nth_mark(1);
  const int status = program_main(argc, argv, environment);
  fail_nth_mark(0);
  if (preloaded) report(fail_nth_disarm());
  return status;
}

/* Calls main() through counted_main(): allocations before main() are not the program's. */
EXPORT int __libc_start_main(int (*entry)(int, char**, char**), int argc, char** argv,
                             void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                             void* stack_end) {
  typedef int Start(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
                    void (*)(void), void*);
  void* const real = dlsym(RTLD_NEXT, "__libc_start_main");
  if (!real) abort();
  program_main = entry;
  Start* start;
  memcpy(&start, &real, sizeof start);
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
