// SPDX-License-Identifier: Apache-2.0
//
// The built-in generators, a row each. Opened, a row has the table of gantry.generator/1, as the
// generators of plugins have.
#pragma once

#include "core/formats/target/generator.hpp"
#include "core/writing/generator/generator_tools.hpp"

#include <gantry/generator.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// When a generator is used for a payload whose code is `automatic` (build_job.hpp).
enum class GeneratorUse {
  // after the generators of plugins; the payload contains compiled code
  compiled,
  // after all others; the payload contains the sources
  source_last,
  // before those of plugins unless a target is stated, then never; the payload contains the sources
  source_first,
};

struct BuiltInGenerator {
  // "nvcc"
  std::string_view name;
  // of targets, and of the payloads that it writes; library_key: CPU code
  std::string_view target_kind, type_key;
  // empty: any
  std::span<const std::string_view> languages;
  GeneratorUse use;
  // what it starts; NULL: nothing
  std::vector<std::string> GeneratorPrograms::*program;
  // added to the error if the program is missing, and the warning about a payload of sources that
  // `automatic` results in; may be empty
  std::string_view hint, warning;
  // Writes the payload. Kernel records have no names, and shaders of Vulkan no size before them.
  Status (*build)(const GeneratorTools& tools, const Build& what, const Sink& sink);
};

// In the order in which they are tried.
std::span<const BuiltInGenerator> built_in_generators();

// Returns the path of a generator's program; empty: it starts none.
//
// returns  the errors of find_program(), with the hint; unavailable: the path is no program
Result<std::string> find_generator_program(const BuiltInGenerator& row,
                                           const GeneratorPrograms& programs);

// tools    [in]   borrowed by the result
Generator open_built_in(const BuiltInGenerator& row, const GeneratorTools& tools);

}  // namespace gantry
