// SPDX-License-Identifier: Apache-2.0
//
// The payload layouts that manifests declare.
#pragma once

#include "core/formats/payload_layout.hpp"
#include "core/plugins/manifest/candidate.hpp"

#include <span>
#include <string>

namespace gantry {

// Adds the payload layouts of the candidates' manifests to `layouts`, in order of precedence. The
// first declaration of a key is used, unless `layouts` already contains the key. An alias has the
// layout of its key.
//
// Layouts of unusable plugins are used, too, since the format of a payload does not depend on the
// plugins that can run, unless the host does not trust their manifests. If a usable plugin serves a
// key, layouts of unusable ones are ignored for it.
//
// candidates [in]   as discover() returns them
// served     [in]   type keys and aliases that usable candidates serve, sorted bytewise
void add_declared_layouts(std::span<const Candidate> candidates,
                          std::span<const std::string> served, PayloadLayouts& layouts);

}  // namespace gantry
