// SPDX-License-Identifier: Apache-2.0
//
// Cases 1 to 15: the file, without running it.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/subject.hpp"

#include "core/plugin/inspect.hpp"

namespace gantry::kit {
namespace {

// 1
Status passes_the_inspection(Subject& subject) {
  const Manifest& manifest = subject.manifest();
  for (const Message& warning : manifest.warnings)
    return bug("the manifest has a warning: ", warning);
  GANTRY_TRY(const Inspection inspection,
             inspect_plugin(manifest, core_info().abi, Depth::dependencies));
  for (const Message& warning : inspection.warnings)
    return bug("the library has a warning: ", warning);
  return {};
}

constexpr Case kStaticCases[] = {
    {1, Level::S, Weight::must, "inspection",
     "manifest and library are valid, all needed libraries and versions exist on this host",
     "see the text and REASONS.md", passes_the_inspection},
};

}  // namespace

std::span<const Case> static_cases() { return kStaticCases; }

}  // namespace gantry::kit
