// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/program.hpp"

int main(int argc, char** argv) { return gantry::probe::run_program(argc, argv); }

#ifdef GANTRY_PROBE_SANITIZED
// Signals and failed allocations end the process as they do without sanitizers. The sanitizer calls these functions
// before its own state exists, so they are not instrumented.
#define GANTRY_SANITIZER_OPTIONS \
  [[gnu::visibility("default"), gnu::no_sanitize_address, gnu::no_sanitize_thread]]
namespace {
constexpr char kSanitizerOptions[] =
    "handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:handle_abort=0:"
    "allow_user_segv_handler=1:allocator_may_return_null=1:detect_leaks=0";
}
extern "C" {
GANTRY_SANITIZER_OPTIONS const char* __asan_default_options() { return kSanitizerOptions; }
GANTRY_SANITIZER_OPTIONS const char* __tsan_default_options() { return kSanitizerOptions; }
}
#endif
