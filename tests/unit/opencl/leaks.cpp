// SPDX-License-Identifier: Apache-2.0
//
// Suppressions of the leak sanitizer: PoCL keeps its compiler and the compiler's allocations for
// the life of the process. Leaks of the plugin's own memory are still reported; leaks of driver
// objects are tested by reference counts where the driver reports them.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM\nleak:libclang-cpp\nleak:libhwloc\nleak:libxml2\n";
}
