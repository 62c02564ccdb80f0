// SPDX-License-Identifier: Apache-2.0
//
// What the leak sanitizer does not tell of: PoCL keeps its compiler, and what that has made, for the life of the process.
// Memory that the plugin forgets is still seen; of the driver's objects, those that the driver counts for us are tested
// by their numbers.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM\nleak:libclang-cpp\nleak:libhwloc\nleak:libxml2\n";
}
