// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/library_imports.hpp"

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

// What is known about needed libraries that are missing; else empty.
std::string advice_for(std::span<const std::string_view> missing) {
  const auto is_missing = [&](std::string_view beginning) {
    return std::ranges::any_of(missing,
                               [&](std::string_view name) { return name.starts_with(beginning); });
  };
  if (is_missing("libtvm")) {
    return "; gantry provides the functions of TVM's runtime itself: link the file without the "
           "library, or install it if the code calls it directly";
  }
  const bool is_of_musl = is_missing("libc.musl-") || is_missing("ld-musl-") ||
                          std::ranges::find(missing, "libc.so") != missing.end();
  if (is_of_musl) return "; the file is built for musl, this host has glibc: build it for glibc";
  return {};
}

// Returns what follows `words` in a message, up to a character; empty: it has none of both.
std::string_view between(std::string_view message, std::string_view words, char end) {
  const std::size_t at = message.find(words);
  if (at == std::string_view::npos) return {};
  message.remove_prefix(at + words.size());
  const std::size_t size = message.find(end);
  return size == std::string_view::npos ? std::string_view() : message.substr(0, size);
}

}  // namespace

Failure explain_open_failure(const ElfFile& elf, const ImportBinding& binding,
                             std::string_view location, std::string_view system_text) {
  // "/lib/libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required by /m/model.so)"
  if (const std::string_view version = between(system_text, ": version `", '\'');
      !version.empty()) {
    const std::string_view library = system_text.substr(0, system_text.find(": version `"));
    return unavailable(location, " needs ", version, " of ", library, ", which does not have it: ",
                       "install a newer one, or build the file for this system")
        .with_reason("LIBRARY_SYMBOLS");
  }
  std::vector<std::string_view> missing;
  std::vector<Opened> needed;
  for (const std::string_view name : elf.needed()) {
    if (binding.drops(name)) continue;
    needed.emplace_back(std::string(name));
    if (needed.back().get() == nullptr) missing.push_back(name);
  }
  const bool has_search_path = !elf.runpath().empty() || !elf.rpath().empty();
  if (!missing.empty() && !has_search_path) {
    return unavailable(location, " needs ", join(missing, ", ", in_quotes, kMaxListedNames),
                       ", which this host does not have", advice_for(missing))
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
