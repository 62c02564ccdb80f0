// SPDX-License-Identifier: Apache-2.0
//
// Loads a file and links its module graph.
//
//     map -> kind -> symbols -> container -> plugin of each type key (all, before any is opened)
//         -> plugins -> the artifact's library -> payloads to their loaders -> imports -> module 0
//
// A payload whose length only its plugin can determine is loaded while the container is read.
#pragma once

#include <gantry/runtime.hpp>
#include "core/engine/module/module.hpp"
#include "core/formats/exporter_facts.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// See Runtime::load. Runs no code of the file until a plugin is found for each of its type keys.
Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadOptions& options);

// See Runtime::load_bytes.
Result<Ref<ModuleNode>> load_bytes(RuntimeState& state, std::span<const std::uint8_t> bytes,
                                   std::string_view name, const LoadOptions& options);

// See Runtime::load_linked.
Result<Ref<ModuleNode>> load_linked_code(RuntimeState& state, const gantry_linked_symbols& symbols,
                                         std::string_view prefix, const LoadOptions& options);

// Loads an artifact whose container is not read yet.
//
// facts    [in]   of the container's exporter, if they are known otherwise; NULL: they follow from
//                 the artifact
Result<Ref<ModuleNode>> load_artifact(RuntimeState& state, std::shared_ptr<Artifact> artifact,
                                      const LoadOptions& options,
                                      const ExporterFacts* facts = nullptr);

}  // namespace gantry
