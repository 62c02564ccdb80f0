// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/imports.hpp"

#include "core/base/reason.hpp"

#include <gantry/join.hpp>

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <unordered_set>
#include <vector>

namespace gantry {
namespace {

// symbols and libraries listed in a message
constexpr std::size_t max_listed_names = 5;
// source   NT_GNU_BUILD_ID of <elf.h>
constexpr std::uint32_t kBuildIdType = 3;

std::string build_id_of(const ElfFile& elf) {
  for (const ElfNote& note : elf.notes()) {
    if (note.owner != "GNU" || note.type != kBuildIdType) continue;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : note.content) {
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
    return text;
  }
  return "";
}

// "libacme.so.4 (/opt/acme/lib/libacme.so.4.2.1, build id 0a1b)": the real name has the version.
std::string library_text(const NeededLibrary& library) {
  std::error_code failed;
  const auto real = std::filesystem::canonical(library.path, failed);
  const std::string build_id = build_id_of(library.elf);
  return concat(library.path.substr(library.path.find_last_of('/') + 1), " (",
                failed ? library.path : real.string(), build_id.empty() ? "" : ", build id ",
                build_id, ")");
}

bool has_versions(const ElfFile& elf) {
  return elf.dynamic().find(dynamic_tag::version_definitions) != nullptr;
}

// Returns the libraries that `user` needs directly and that define no versions.
std::vector<std::string> possible_providers(const NeededLibrary& user,
                                            const NeededLibraries& needed) {
  std::vector<std::string> texts;
  for (const std::string_view soname : user.elf.needed()) {
    const auto& all = needed.libraries;
    const auto at = std::find_if(all.begin(), all.end(), [&](const NeededLibrary& library) {
      return library.soname == soname || library.elf.soname() == soname;
    });
    if (at != all.end() && !has_versions(at->elf)) texts.push_back(library_text(*at));
  }
  return texts;
}

// A library of this process was bound when it was opened.
bool is_loaded(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) {
    dlerror();
    return false;
  }
  dlclose(handle);
  return true;
}

Error undefined_error(const std::vector<std::string_view>& symbols, const NeededLibrary& user,
                      const NeededLibraries& needed) {
  const std::vector<std::string> providers = possible_providers(user, needed);
  const std::string other =
      providers.empty()
          ? "another version of one of its libraries"
          : concat(providers.size() == 1 ? "another version of " : "another version of one of ",
                   join(providers, ", ", {}, max_listed_names));
  return unavailable(needed.libraries.front().path, ": no library defines ",
                     join(symbols, ", ", symbol_text, max_listed_names), ", which ", user.chain,
                     " needs: it was built against ", other,
                     "; install the version that it was built with")
      .with_reason(reason::symbol_missing.tag);
}

}  // namespace

std::string symbol_text(std::string_view symbol) {
  const std::string name(symbol);
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> shown(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failed), std::free);
  return failed == 0 && shown ? concat(name, " (", shown.get(), ")") : name;
}

Status check_imports(const NeededLibraries& needed) {
  std::unordered_set<std::string_view> defined;
  for (const NeededLibrary& library : needed.libraries) {
    for (const ElfSymbol& symbol : library.elf.symbols()) {
      if (symbol.exported()) defined.insert(symbol.name);
    }
  }
  for (const NeededLibrary& user : needed.libraries) {
    if (is_loaded(user.path)) continue;
    std::vector<std::string_view> undefined;
    for (const ElfSymbol& symbol : user.elf.symbols()) {
      if (symbol.defined() || symbol.binding != SymbolBinding::global) continue;
      if (defined.contains(symbol.name)) continue;
      // The program and the libraries that it has opened globally come first in every search.
      if (dlsym(RTLD_DEFAULT, std::string(symbol.name).c_str()) != nullptr) continue;
      dlerror();
      undefined.push_back(symbol.name);
    }
    if (!undefined.empty()) return undefined_error(undefined, user, needed);
  }
  return {};
}

}  // namespace gantry
