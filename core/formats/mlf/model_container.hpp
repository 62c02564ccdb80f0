// SPDX-License-Identifier: Apache-2.0
//
// The container of a model whose library, graph and parameters are in three files, as TVM before 0.7
// exports them, or three members of an archive.
//
//     deploy.json, deploy.params --> a container with one GraphExecutorFactory --imports--> deploy.so
//
// A model that is compiled ahead of time has no graph; its container has an AotExecutorFactory and a
// metadata_module, as that of an exported library has.
//
// The container is in memory; the data of the parameters stay in the mapped file.
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// A module that a container contains with its payload.
struct ModelPayload {
  std::string_view type_key;
  std::span<const std::uint8_t> bytes;
};

// What the container of a model has: a graph, the library that it imports, and the modules that the
// library imports; each may be missing.
struct ModelParts {
  // of the factory's function; the default is the name under which TVM's exporter puts graphs
  std::string_view name = "default";
  // JSON; not checked. Empty: there is no graph
  std::string_view text;
  // Instead of a graph there are the factory and the metadata of code that is compiled ahead of time.
  bool is_ahead_of_time = false;
  // in which the parameters are; NULL: there are none
  const MappedFile* file = nullptr;
  // a .params file, part of `file`
  std::span<const std::uint8_t> params;
  // There is a module "_lib".
  bool has_library = false;
  std::vector<ModelPayload> payloads;
};

// Returns a container, layout one.
//
// path     [in]   for messages and MappedFile::path()
// returns  malformed: the parameters
// costs    a copy of all parts but the data of the parameters
Result<std::shared_ptr<const MappedFile>> model_container(const std::filesystem::path& path,
                                                          const ModelParts& parts);

}  // namespace gantry
