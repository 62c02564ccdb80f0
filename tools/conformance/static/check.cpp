// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/static/check.hpp"

#include "core/base/reason.hpp"
#include "core/plugins/manifest/search_path.hpp"
#include "tools/conformance/static/check_case.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/directory.hpp>
#include <gantry/join.hpp>

#include <algorithm>
#include <filesystem>

namespace gantry {
namespace {

namespace fs = std::filesystem;

struct StaticCase {
  int number;
  std::string_view name;
  bool must;
  CaseResult (*run)(const CheckSubject&);
};

// Cases 0 and 1 are the library file and the manifest.
constexpr StaticCase kStaticCases[] = {
    {2, "identity", true, check_case::identity},
    {3, "exports", true, check_case::exports},
    {4, "unique-symbols", false, check_case::unique_symbols},
    {5, "undefined-symbols", true, check_case::undefined_symbols},
    {6, "needed-libraries", true, check_case::needed_libraries},
    {7, "search-paths", true, check_case::search_paths},
    {8, "protection", true, check_case::protection},
    {9, "static-tls", true, check_case::static_tls},
    {10, "symbol-versions", true, check_case::symbol_versions},
    {12, "digest", true, check_case::digest},
    {13, "note-is-loaded", true, check_case::loaded_note},
    {14, "self-contained", true, check_case::self_contained},
    {15, "no-core-library", true, check_case::core_library},
};

CheckFinding finding(int number, std::string_view name, bool must, CaseResult result) {
  return {number, name, must, result.outcome, std::move(result.text)};
}

CaseResult check_manifest(const Result<Manifest>& manifest) {
  if (!manifest.ok()) return CaseResult::failed(manifest.error().message);
  if (manifest->warnings.empty()) return CaseResult::passed("no error and no warning");
  return CaseResult::failed(join(manifest->warnings, "\n"));
}

// A link to a file elsewhere is not part of the package.
CaseResult check_library(const Manifest& manifest, const Result<LibraryFile>& library) {
  if (!library.ok()) return CaseResult::failed(library.error().message);
  const fs::path path = manifest.library_path;
  std::error_code failed;
  if (fs::is_symlink(path, failed)) {
    const fs::path real = fs::canonical(path, failed);
    const fs::path directory = fs::canonical(path.parent_path(), failed);
    if (real.parent_path() != directory) {
      return CaseResult::failed(path.native(), " is a link to ", real.native(),
                                ", which is in another directory: install the library itself");
    }
  }
  return CaseResult::passed(path.filename().native(), ", ",
                            ByteCount(library->file->bytes().size()), ", ",
                            name_of(library->elf.machine()));
}

}  // namespace

std::string_view name_of(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::passed:
      return "passed";
    case CheckOutcome::failed:
      return "failed";
    case CheckOutcome::skipped:
      break;
  }
  return "skipped";
}

bool PluginCheck::conforms() const {
  return std::none_of(findings.begin(), findings.end(), [](const CheckFinding& finding) {
    return finding.must && finding.outcome == CheckOutcome::failed;
  });
}

Result<std::string> manifest_in(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) {
    return not_found(path, " does not exist, expected a manifest or the directory of a plugin")
        .with_reason(reason::not_found.tag);
  }
  if (!fs::is_directory(status)) return path;
  std::vector<std::string> found;
  for (const std::string& name : names_in(path, failed)) {
    if (is_manifest_here(name)) found.push_back((fs::path(path) / name).string());
  }
  if (failed) return unavailable(path, " cannot be read: ", failed.message());
  if (found.empty()) {
    return not_found(path, " contains no manifest for this machine: no file ends with .yaml")
        .with_reason(reason::not_found.tag);
  }
  if (found.size() > 1) {
    return invalid(path, " contains ", found.size(), " manifests, expected 1: pass one of ",
                   join(found, ", ", {}, kMaxCheckedNames))
        .with_reason(reason::manifest_folder.tag);
  }
  return std::move(found.front());
}

PluginCheck check_plugin(const std::string& manifest_path) {
  PluginCheck check;
  check.manifest = manifest_path;
  const Result<Manifest> manifest = open_manifest(manifest_path);
  Result<LibraryFile> library = invalid("the manifest cannot be read");
  if (manifest.ok()) {
    check.id = manifest->id;
    check.version = manifest->version.text;
    check.library = manifest->library_path;
    library = open_library_file(*manifest);
    check.findings.push_back(finding(0, "library", true, check_library(*manifest, library)));
  } else {
    check.findings.push_back(
        finding(0, "library", true, CaseResult::skipped("the manifest cannot be read")));
  }
  check.findings.push_back(finding(1, "manifest", true, check_manifest(manifest)));
  if (!manifest.ok() || !library.ok()) {
    const char* const why = manifest.ok() ? "case 0 has failed" : "case 1 has failed";
    for (const StaticCase& one : kStaticCases) {
      check.findings.push_back(finding(one.number, one.name, one.must, CaseResult::skipped(why)));
    }
    return check;
  }

  const std::string& path = check.library;
  const Result<PluginNote> note = read_plugin_note(library->elf, path);
  const bool is_native = library->elf.machine() == host_machine();
  NeededLibraries needed;
  if (is_native) {
    needed = find_needed(library->elf, path, Linker(Linker::Search::installed));
  } else {
    needed.libraries.push_back({library->elf, path, "", fs::path(path).filename().string()});
  }
  const CheckSubject subject{*manifest, library->elf, path, note, needed, is_native};
  for (const StaticCase& one : kStaticCases) {
    check.findings.push_back(finding(one.number, one.name, one.must, one.run(subject)));
  }
  return check;
}

}  // namespace gantry
