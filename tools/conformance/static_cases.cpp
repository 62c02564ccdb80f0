// SPDX-License-Identifier: Apache-2.0
//
// Cases 1 to 15: the files, without running them. tools/conformance/static/check.hpp has them; `gantry plugins
// check` runs all of them at once.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/subject.hpp"

#include "tools/conformance/static/check.hpp"

#include <algorithm>

namespace gantry::kit {
namespace {

template <int Number>
Status finding(Subject& subject) {
  const PluginCheck check = check_plugin(subject.manifest().file);
  const auto found =
      std::find_if(check.findings.begin(), check.findings.end(),
                   [](const CheckFinding& finding) { return finding.number == Number; });
  if (found == check.findings.end()) return not_run("it was not checked");
  if (found->outcome == CheckOutcome::passed) return {};
  if (found->outcome == CheckOutcome::skipped) return skipped(found->text);
  return bug(found->text);
}

// Finding 0 is about the library, on which all others depend.
Status files(Subject& subject) {
  GANTRY_CHECK(finding<0>(subject));
  return finding<1>(subject);
}

constexpr std::string_view kInText = "the text has what to change";

constexpr Case kStaticCases[] = {
    {1, Level::S, Weight::must, "files",
     "the manifest has no error and no warning; the library is complete, for this machine", kInText,
     files},
    {2, Level::S, Weight::must, "identity",
     "id, version, ABI range, CPU level and sanitizer of manifest and note are equal or fit",
     kInText, finding<2>},
    {3, Level::S, Weight::must, "exports", "the library exports the query and nothing else",
     kInText, finding<3>},
    {4, Level::S, Weight::should, "unique-symbols", "no symbol is unique in the process", kInText,
     finding<4>},
    {5, Level::S, Weight::must, "undefined-symbols",
     "the needed libraries define all symbols that the library imports", kInText, finding<5>},
    {6, Level::S, Weight::must, "needed-libraries",
     "all needed libraries are found without LD_LIBRARY_PATH", kInText, finding<6>},
    {7, Level::S, Weight::must, "search-paths", "search paths begin with $ORIGIN", kInText,
     finding<7>},
    {8, Level::S, Weight::must, "protection",
     "no executable stack, no text relocations; relocations are read-only, bound when loaded",
     kInText, finding<8>},
    {9, Level::S, Weight::must, "static-tls", "static thread-local storage of at most 256 bytes",
     kInText, finding<9>},
    {10, Level::S, Weight::must, "symbol-versions",
     "symbol versions are not above targets.libc and those of this host", kInText, finding<10>},
    {12, Level::S, Weight::must, "digest",
     "the library has the sha256 of the manifest; a signature is well-formed and covers it",
     kInText, finding<12>},
    {13, Level::S, Weight::must, "note-is-loaded",
     "the note is in a loaded segment, which strip keeps", kInText, finding<13>},
    {14, Level::S, Weight::must, "self-contained",
     "a library with self_contained: true needs only those of the C and C++ runtime", kInText,
     finding<14>},
    {15, Level::S, Weight::must, "no-core-library", "the package contains no library of the core",
     kInText, finding<15>},
};

}  // namespace

std::span<const Case> static_cases() { return kStaticCases; }

}  // namespace gantry::kit
