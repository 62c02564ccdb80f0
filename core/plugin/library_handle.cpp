// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/library_handle.hpp"

#include "core/base/mapping.hpp"
#include "core/manifest/reason.hpp"

#include <boost/dll/shared_library.hpp>

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace gantry {
namespace {

// Boost's handles close their library when they are destroyed. They are stored on the heap,
// reachable and never destroyed.
void keep(boost::dll::shared_library library) {
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::vector<boost::dll::shared_library>;
  const std::lock_guard lock(mutex);
  // One handle of each library suffices for all runtimes.
  for (const auto& other : kept) {
    if (other.native() == library.native()) return;
  }
  kept.push_back(std::move(library));
}

std::string demangle(const std::string& symbol) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &failed), std::free);
  return failed == 0 && name ? concat(symbol, " (", name.get(), ")") : symbol;
}

}  // namespace

Failure linker_error(const std::string& path, std::string_view message) {
  const auto contains = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  const std::string_view subject = message.substr(0, message.find(':'));
  if (contains("undefined symbol: ")) {
    const std::size_t at = message.find("undefined symbol: ") + 18;
    const std::string symbol(message.substr(at, message.find_first_of(" ,\n", at) - at));
    return unavailable(path, ": no library defines ", demangle(symbol), ", which ", subject,
                       " needs: it was built against another version of one of its libraries")
        .with_reason(reason::symbol_missing.tag);
  }
  if (contains("version `") && contains("not found")) {
    return unavailable(path, ": ", message).with_reason(reason::version_needed.tag);
  }
  if (contains("static TLS")) {
    return unavailable(path, ": ", message, ": build it with -ftls-model=global-dynamic")
        .with_reason(reason::static_tls.tag);
  }
  if (contains("executable stack"))
    return unsupported(path, ": ", message).with_reason(reason::exec_stack.tag);
  if (contains("cannot open shared object file")) {
    return unavailable(path, ": ", message).with_reason(reason::lib_needed_missing.tag);
  }
  return unavailable(path, ": ", message).with_reason(reason::linker.tag);
}

Result<LibraryHandle> LibraryHandle::open(const std::string& path) {
  using boost::dll::load_mode::type;
  boost::dll::shared_library library;
  boost::dll::fs::error_code failed;
  dlerror();
  try {
    library.load(path, static_cast<type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), failed);
  } catch (...) {
    // std::bad_alloc of Boost: an exception of a library's constructor terminates the process.
    return exhausted(path, ": out of memory while opening it").with_reason(reason::linker.tag);
  }
  if (failed || !library.is_loaded()) {
    // Boost reports "bad file descriptor" for every failure, so the linker's message is read first.
    const char* message = dlerror();
    return linker_error(path, message ? message : "the linker rejects it without a message");
  }
  void* const handle = library.native();
  keep(std::move(library));
  return LibraryHandle(handle, path);
}

void* LibraryHandle::symbol(const char* name) const { return dlsym(handle_, name); }

Status LibraryHandle::confirm(const MappedFile& inspected) const {
  const MappingPair mappings = mappings_of_library(handle_, inspected);
  if (mappings.is_one_file()) return {};
  return unavailable(path_, ": the mapped library is another file (", mappings.first,
                     ") than the inspected one (", mappings.second,
                     "): it was replaced after it was inspected or first opened; restart the "
                     "program to use it")
      .with_reason(reason::replaced_during_load.tag);
}

}  // namespace gantry
