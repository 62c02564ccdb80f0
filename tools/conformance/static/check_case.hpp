// SPDX-License-Identifier: Apache-2.0
//
// One static case of the conformance kit: a function from a plugin's parts to a result.
#pragma once

#include "core/plugins/library/library_file.hpp"
#include "core/plugins/library/linker.hpp"
#include "core/plugins/library/plugin_note.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "tools/conformance/static/check.hpp"

#include <gantry/concat.hpp>

#include <string>

namespace gantry {

struct CaseResult {
  CheckOutcome outcome;
  std::string text;

  template <class... Part>
  static CaseResult passed(const Part&... part) {
    return {CheckOutcome::passed, concat(part...)};
  }
  template <class... Part>
  static CaseResult failed(const Part&... part) {
    return {CheckOutcome::failed, concat(part...)};
  }
  template <class... Part>
  static CaseResult skipped(const Part&... part) {
    return {CheckOutcome::skipped, concat(part...)};
  }
};

// What the cases examine.
struct CheckSubject {
  const Manifest& manifest;
  const ElfFile& elf;
  // of the library
  const std::string& path;
  const Result<PluginNote>& note;
  // found without LD_LIBRARY_PATH; only the file itself if it is for another machine
  const NeededLibraries& needed;
  bool is_for_this_machine;
};

// Names at most in a text.
constexpr std::size_t kMaxCheckedNames = 8;

namespace check_case {
// check_symbols.cpp
CaseResult exports(const CheckSubject& subject);
CaseResult unique_symbols(const CheckSubject& subject);
CaseResult undefined_symbols(const CheckSubject& subject);
// check_linking.cpp
CaseResult needed_libraries(const CheckSubject& subject);
CaseResult search_paths(const CheckSubject& subject);
CaseResult protection(const CheckSubject& subject);
CaseResult static_tls(const CheckSubject& subject);
CaseResult symbol_versions(const CheckSubject& subject);
CaseResult self_contained(const CheckSubject& subject);
// check_package.cpp
CaseResult identity(const CheckSubject& subject);
CaseResult digest(const CheckSubject& subject);
CaseResult loaded_note(const CheckSubject& subject);
CaseResult core_library(const CheckSubject& subject);
}  // namespace check_case

}  // namespace gantry
