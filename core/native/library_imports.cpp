// SPDX-License-Identifier: Apache-2.0
#include "core/native/library_imports.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <string>

namespace gantry {
namespace {

constexpr std::size_t kMaxListedNames = 8;

constexpr std::string_view kProvided[] = {
    "TVMFuncCall",
    "TVMAPISetLastError",
    "TVMBackendGetFuncFromEnv",
    "TVMBackendAllocWorkspace",
    "TVMBackendFreeWorkspace",
    "TVMBackendParallelLaunch",
    "TVMBackendParallelBarrier",
    "TVMBackendRunOnce",
    "TVMBackendRegisterSystemLibSymbol",
    "__gnu_f2h_ieee",
    "__gnu_h2f_ieee",
    "__truncdfhf2",
    "__truncsfhf2",
    "__extendhfsf2",
};

bool is_provided(std::string_view name) {
  return std::find(std::begin(kProvided), std::end(kProvided), name) != std::end(kProvided);
}

// True for Itanium names in namespace tvm: functions, const methods, type infos, type info names
// and virtual tables.
bool is_tvm_cpp(std::string_view name) {
  return name.starts_with("_ZN3tvm") || name.starts_with("_ZNK3tvm") ||
         name.starts_with("_ZTIN3tvm") || name.starts_with("_ZTSN3tvm") ||
         name.starts_with("_ZTVN3tvm");
}

// Keeps a library open for the lifetime of the object.
class Opened {
 public:
  explicit Opened(const std::string& name)
      : handle_(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {}
  ~Opened() {
    if (handle_) dlclose(handle_);
  }
  Opened(Opened&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Opened& operator=(Opened&&) = delete;
  void* get() const { return handle_; }

 private:
  void* handle_;
};

}  // namespace

std::span<const std::string_view> names_of_tvm_symbols() { return kProvided; }

Result<std::vector<std::string_view>> check_tvm_imports(const ElfFile& elf,
                                                        std::string_view location) {
  std::vector<std::string_view> wanted, missing, cpp;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.defined()) continue;
    if (is_provided(symbol.name)) {
      wanted.push_back(symbol.name);
    } else if (symbol.binding == SymbolBinding::weak) {
      continue;
    } else if (is_tvm_cpp(symbol.name)) {
      cpp.push_back(symbol.name);
    } else if (symbol.name.starts_with("TVM")) {
      missing.push_back(symbol.name);
    }
  }
  if (!cpp.empty()) {
    return unsupported(location, " imports ", join(cpp, ", ", in_quotes, kMaxListedNames),
                       " of TVM's C++ runtime: only the libtvm that it was built with can run it")
        .with_reason("TVM_CPP");
  }
  if (!missing.empty()) {
    return unsupported(location, " imports ", join(missing, ", ", in_quotes, kMaxListedNames),
                       " from its runtime, which gantry does not provide")
        .with_reason("TVM_SYMBOLS");
  }
  return wanted;
}

Failure explain_open_failure(const ElfFile& elf, std::string_view location,
                             std::string_view system_text) {
  std::vector<std::string_view> missing;
  std::vector<Opened> needed;
  for (const std::string_view name : elf.needed()) {
    needed.emplace_back(std::string(name));
    if (needed.back().get() == nullptr) missing.push_back(name);
  }
  const bool has_search_path = !elf.runpath().empty() || !elf.rpath().empty();
  if (!missing.empty() && !has_search_path) {
    return unavailable(location, " needs ", join(missing, ", ", in_quotes, kMaxListedNames),
                       ", which this host does not have")
        .with_reason("LIBRARY_NEEDED");
  }

  std::vector<std::string_view> undefined;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.defined() || symbol.binding == SymbolBinding::weak) continue;
    const std::string name(symbol.name);
    const auto provides = [&](const Opened& library) {
      return library.get() && dlsym(library.get(), name.c_str());
    };
    if (dlsym(RTLD_DEFAULT, name.c_str()) || std::any_of(needed.begin(), needed.end(), provides))
      continue;
    undefined.push_back(symbol.name);
  }
  if (!undefined.empty() && missing.empty()) {
    return unavailable(location, " imports ", join(undefined, ", ", in_quotes, kMaxListedNames),
                       ", which no library on this host provides")
        .with_reason("LIBRARY_SYMBOLS");
  }
  return unavailable(location, " cannot be opened: ", system_text).with_reason("LIBRARY_OPEN");
}

}  // namespace gantry
