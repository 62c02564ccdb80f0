// SPDX-License-Identifier: Apache-2.0
//
// The payload layouts that manifests declare.
#pragma once

#include "core/format/payload_layout.hpp"
#include "core/manifest/candidate.hpp"

#include <span>
#include <string>

namespace gantry {

// Adds the payload layouts that the candidates' manifests declare to `layouts`, in order of
// precedence; of several declarations of one key the first counts, and a layout that is already in
// `layouts` before all of them. An alias has the layout of its key.
//
// Layouts of plugins that cannot be used here count too: how a payload is written does not depend
// on which plugins run. But where a usable plugin serves a key, only usable ones declare it.
//
// candidates [in]   as merge_plugins() returns them
// served     [in]   type keys and aliases that a usable candidate serves, sorted bytewise
void add_declared_layouts(std::span<const Candidate> candidates,
                          std::span<const std::string> served, PayloadLayouts& layouts);

}  // namespace gantry
