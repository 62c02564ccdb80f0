// SPDX-License-Identifier: Apache-2.0
//
// What a defective plugin does to the process that opens it.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace harm {

[[maybe_unused]] inline void crash() { *reinterpret_cast<volatile int*>(std::uintptr_t{0x10}) = 1; }
// Returns for 0 only.
[[maybe_unused]] inline int use_stack(int depth) {
  volatile char frame[4096];
  frame[0] = 1;
  return depth == 0 ? 0 : use_stack(depth - 1) + frame[0];
}
[[maybe_unused]] inline void overflow_stack() { std::printf("%d\n", use_stack(1 << 30)); }
[[maybe_unused]] inline void run_unknown_instruction() {
#if defined(__x86_64__)
  asm volatile("ud2");
#else
  asm volatile(".inst 0");
#endif
}
[[maybe_unused]] inline void divide_by_zero() {
#if defined(__x86_64__)
  volatile int zero = 0;
  std::printf("%d\n", 7 / zero);
#else
  // Other processors return a number.
  raise(SIGFPE);
#endif
}
// Reads a page of its own file, which is truncated.
[[maybe_unused]] inline void read_lost_page() {
  const int file = memfd_create("fake", 0);
  if (ftruncate(file, 4096) != 0) return;
  const void* const page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  if (ftruncate(file, 0) != 0) return;
  std::printf("%d\n", *static_cast<const volatile char*>(page));
}
#if defined(__x86_64__)
// The stack segment has no such address, which the kernel reports as SIGBUS without an address.
[[maybe_unused]] inline void read_beyond_addresses() {
  asm volatile(
      "push %%rbp\n"
      "movabs $0x8000000000000000, %%rbp\n"
      "mov (%%rbp), %%eax\n"
      "pop %%rbp\n"
      :
      :
      : "rax", "memory");
}
#endif
[[maybe_unused]] inline void call_nothing() {
  void (*volatile nothing)() = nullptr;
  nothing();
}
// A frame that cannot be read: the addresses to which it returns are no code.
[[maybe_unused]] inline void spoil_stack() {
  volatile std::uintptr_t* const frame =
      static_cast<volatile std::uintptr_t*>(__builtin_frame_address(0));
  for (int i = 0; i < 64; ++i) frame[i] = 0x10;
  crash();
}
[[maybe_unused]] inline void exit_with_3() { std::exit(3); }
[[maybe_unused]] inline void abort_with_text() {
  std::fputs("fake: File already exists in database: acme.proto\n", stderr);
  std::abort();
}
[[maybe_unused]] inline void throw_text() { throw std::runtime_error("fake: thrown"); }
[[maybe_unused]] inline void hang() {
  std::puts("fake: waiting for the device");
  std::fflush(stdout);
  for (;;) pause();
}
// Stands for a process that waits in the kernel for a driver: the end of a process that is traced is
// not reported to its parent before its tracer ends, also if it is killed. The tracer ends when the
// file FAKE_STUCK is removed, or after a minute. Returns if tracing is forbidden.
[[maybe_unused]] inline void hang_traced() {
  const char* const file = std::getenv("FAKE_STUCK");
  int go[2], traced[2];
  if (file == nullptr || pipe(go) != 0 || pipe(traced) != 0) return;
  const pid_t self = getpid();
  const pid_t tracer = fork();
  char byte = 0;
  if (tracer == 0) {
    // Outside of the group that is killed.
    setpgid(0, 0);
    (void)!read(go[0], &byte, 1);
    byte = ptrace(PTRACE_SEIZE, self, nullptr, nullptr) == 0;
    (void)!write(traced[1], &byte, 1);
    for (int i = 0; byte != 0 && i < 6000 && access(file, F_OK) == 0; ++i) usleep(10'000);
    _exit(0);
  }
  prctl(PR_SET_PTRACER, tracer);
  (void)!write(go[1], &byte, 1);
  (void)!read(traced[0], &byte, 1);
  while (byte != 0) pause();
}
// Prints what a probe must not have, and aborts.
[[maybe_unused]] inline void describe_process() {
  rlimit core{};
  getrlimit(RLIMIT_CORE, &core);
  char byte = 0;
  std::fprintf(stderr,
               "privileges %d, core %lu, leader %d, input %zd, descriptor 100 %d, variable %s\n",
               prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), static_cast<unsigned long>(core.rlim_cur),
               static_cast<int>(getpgrp() == getpid()), read(0, &byte, 1), fcntl(100, F_GETFD),
               std::getenv("GANTRY_TEST_SECRET") == nullptr ? "none" : "there");
  std::abort();
}
// A child of the plugin holds its descriptors.
[[maybe_unused]] inline void hang_in_a_child() {
  if (fork() == 0) {
    for (;;) pause();
  }
}
// Does no harm.
[[maybe_unused]] inline void open_a_library() {
  if (dlopen("libresolv.so.2", RTLD_NOW) == nullptr) std::abort();
}
// The linker holds its lock while a constructor runs, so the other thread never loads anything.
[[maybe_unused]] inline void wait_for_another_load() {
  std::puts("fake: waiting for another thread");
  std::fflush(stdout);
  pthread_t thread{};
  const auto load = [](void*) -> void* { return dlopen("libresolv.so.2", RTLD_NOW); };
  if (pthread_create(&thread, nullptr, load, nullptr) == 0) pthread_join(thread, nullptr);
}
[[maybe_unused]] inline void print_without_end() {
  for (;;) std::puts("fake: and so on, and so on, and so on, and so on");
}
// Returns when there is no more memory.
[[maybe_unused]] inline void allocate_without_end() {
  constexpr std::size_t size = 1 << 20;
  while (void* const memory = std::malloc(size)) std::memset(memory, 1, size);
}

}  // namespace harm
