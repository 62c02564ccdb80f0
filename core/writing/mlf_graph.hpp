// SPDX-License-Identifier: Apache-2.0
//
// A graph with its parameters, from the factory in a container or from an archive. Part of
// mlf_archive.cpp.
#pragma once

#include "core/formats/arrays/params.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/graph_json.hpp"
#include "core/formats/mlf/model_library.hpp"
#include "core/writing/pieces.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct MlfGraph {
  // of the file's bytes
  std::string_view text;
  Graph graph;
  // without fillers; views of the file's bytes
  std::vector<Param> parameters;
  std::string module_name;
};

// Reads the first graph factory of a container.
//
// returns  not_found  with the type keys of the modules
Result<MlfGraph> read_factory(const Container& container);

// Precondition: the model has a graph.
Result<MlfGraph> read_archived_graph(const ModelLibrary& archive, std::size_t model);

// Returns a parameter file. The data stay in `file`, whose bytes they view.
//
// source   sdk/cxx/gantry/param_names.hpp
Pieces params_of(const std::shared_ptr<const MappedFile>& file,
                 const std::vector<Param>& parameters);

}  // namespace gantry
