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

Failure explain_open_failure(const ElfFile& elf, const ImportBinding& binding,
                             std::string_view location, std::string_view system_text) {
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
    if (symbol.defined() || symbol.binding == SymbolBinding::weak || binding.binds(symbol.name))
      continue;
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
