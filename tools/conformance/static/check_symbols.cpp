// SPDX-License-Identifier: Apache-2.0
//
// Cases 3, 4 and 5: what the library exports and what it imports.
#include "tools/conformance/static/check_case.hpp"

#include "core/base/reason.hpp"

#include <gantry/join.hpp>

#include <string_view>
#include <unordered_set>
#include <vector>

namespace gantry {
namespace {

constexpr std::string_view kEntry = "gantry_plugin_query_v1";

std::string names_text(const std::vector<std::string_view>& names) {
  return join(names, ", ", {}, kMaxCheckedNames);
}

}  // namespace

namespace check_case {

CaseResult exports(const CheckSubject& subject) {
  bool has_entry = false;
  std::vector<std::string_view> others;
  for (const ElfSymbol& symbol : subject.elf.symbols()) {
    if (!symbol.exported()) continue;
    if (symbol.name == kEntry) {
      has_entry = true;
    } else {
      others.push_back(symbol.name);
    }
  }
  if (!has_entry) {
    return CaseResult::failed(
        "does not export ", kEntry, ", exports ", others.empty() ? "nothing" : names_text(others),
        ": define it with GANTRY_EXPORT and link the library with gantry_add_plugin()");
  }
  if (others.empty()) return CaseResult::passed("only ", kEntry);
  return CaseResult::failed("exports ", others.size(), " symbols besides ", kEntry, ": ",
                            names_text(others),
                            ": link it with the version script of the SDK, plugin_exports.map");
}

CaseResult unique_symbols(const CheckSubject& subject) {
  std::vector<std::string_view> unique;
  for (const ElfSymbol& symbol : subject.elf.symbols()) {
    if (symbol.binding == SymbolBinding::unique) unique.push_back(symbol.name);
  }
  if (unique.empty()) return CaseResult::passed("none");
  return CaseResult::failed(
      unique.size(), " symbols are STB_GNU_UNIQUE, which every copy of the library in a process ",
      "shares: ", names_text(unique), ": compile it with -fno-gnu-unique");
}

CaseResult undefined_symbols(const CheckSubject& subject) {
  if (!subject.is_for_this_machine) {
    return CaseResult::skipped("the library is for another machine");
  }
  if (subject.note.ok() && subject.note->sanitizer != GANTRY_SANITIZER_NONE) {
    return CaseResult::skipped("the program defines the symbols of ",
                               sanitizer_text(subject.note->sanitizer));
  }
  for (const Error& problem : subject.needed.problems) {
    if (problem.reason == reason::lib_needed_missing.tag)
      return CaseResult::skipped("case 6 has failed");
  }
  if (subject.needed.has_unreadable) {
    return CaseResult::skipped("a needed library cannot be read");
  }
  std::unordered_set<std::string_view> defined;
  for (const NeededLibrary& library : subject.needed.libraries) {
    for (const ElfSymbol& symbol : library.elf.symbols()) {
      if (symbol.exported()) defined.insert(symbol.name);
    }
  }
  std::vector<std::string_view> undefined;
  for (const ElfSymbol& symbol : subject.elf.symbols()) {
    if (symbol.defined() || symbol.binding != SymbolBinding::global) continue;
    if (!defined.contains(symbol.name)) undefined.push_back(symbol.name);
  }
  if (undefined.empty()) {
    return CaseResult::passed("all symbols are in ", subject.needed.libraries.size() - 1,
                              " needed libraries");
  }
  return CaseResult::failed(
      "no needed library defines ", names_text(undefined),
      ": link the libraries that define them, with -Wl,-z,defs; functions of the core are in the "
      "host table");
}

}  // namespace check_case
}  // namespace gantry
