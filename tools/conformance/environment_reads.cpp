// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/environment_reads.hpp"

#include <gantry/abi.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>

namespace gantry::kit {
namespace {

// Start of the recorded library; NULL: nothing is recorded. getenv() has no argument that could
// carry this state.
constinit std::atomic<const void*> recorded_library{nullptr};
constinit std::mutex reads_mutex;
std::vector<std::string>& reads() {
  static auto& all = *new std::vector<std::string>;
  return all;
}

const void* start_of_library(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

void record(const char* name, const void* caller) {
  const void* const library = recorded_library.load();
  if (library == nullptr || start_of_library(caller) != library) return;
  const std::lock_guard lock(reads_mutex);
  if (std::find(reads().begin(), reads().end(), name) == reads().end()) reads().emplace_back(name);
}

char* value_of_variable(const char* name) {
  const std::size_t size = std::strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, size) == 0 && (*entry)[size] == '=') return *entry + size + 1;
  }
  return nullptr;
}

}  // namespace

void record_environment_reads_of(const void* address) {
  recorded_library = start_of_library(address);
}

std::vector<std::string> environment_reads() {
  const std::lock_guard lock(reads_mutex);
  return reads();
}

}  // namespace gantry::kit

extern "C" GANTRY_EXPORT char* getenv(const char* name) noexcept {
  gantry::kit::record(name, __builtin_return_address(0));
  return gantry::kit::value_of_variable(name);
}
extern "C" GANTRY_EXPORT char* secure_getenv(const char* name) noexcept {
  gantry::kit::record(name, __builtin_return_address(0));
  return gantry::kit::value_of_variable(name);
}
