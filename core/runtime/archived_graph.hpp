// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace gantry {

// The parts of a graph that are members of an archive.
struct ArchivedGraph {
  // name of the factory's function
  std::string_view name;
  // JSON; not checked
  std::string_view text;
  // a .params file; empty: no parameters
  std::span<const std::uint8_t> parameters;
};

// Returns a container, layout one, in which a graph factory imports the library. The data of the
// parameters are aligned, so that an executor uses them in place.
//
// file     [in]   name of the archive, for messages
// returns  malformed: the parameters
// costs    a copy of the graph and the parameters
Result<std::shared_ptr<const MappedFile>> container_of_graph(const std::filesystem::path& file,
                                                             const ArchivedGraph& graph);

}  // namespace gantry
