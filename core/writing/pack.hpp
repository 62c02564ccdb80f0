// SPDX-License-Identifier: Apache-2.0
//
// Builds an artifact from a recipe.
//
//     CPU code sources + placeholder -> compiler, linker -> shared library --+
//     recipe -> graph, parameters, device modules -> container ---------------+-> output
//
// The container is written once, from the files of the recipe to the output: no compiler reads it,
// and its size does not matter for the memory that is used.
#pragma once

#include "core/base/input_files.hpp"
#include "core/base/output_file.hpp"
#include "core/formats/target/generator.hpp"
#include "core/formats/target/target_kinds.hpp"
#include "core/writing/container.hpp"
#include "core/writing/generator/generator_tools.hpp"
#include "core/writing/recipe.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Symbol of packed libraries without a container, which have no other mark of a compiler.
constexpr std::string_view packed_mark = "__gantry_packed";

enum class PackForm : std::uint8_t {
  // CPU code and container: a shared library
  library,
  // the container alone: an object file, C source, or its bytes
  object,
  source,
  container,
};

// OutputFile::check_replaces() for the files of a form.
Status check_replaced(const OutputFile& output, PackForm form);

struct PackedModule {
  std::string type_key;
  // of the payload
  std::uint64_t bytes = 0;
};

// What was written.
struct PackReport {
  // of the container; 0: CPU code needs none
  std::uint64_t bytes = 0;
  // its entries, in order
  std::vector<PackedModule> modules;
};

struct PackOptions {
  PackForm form = PackForm::library;
  // g3: TVM 0.8 to 0.20 can load the artifact, one with a graph up to 0.19; g4: 0.21; g5: 0.22 or
  // newer, its kernels 0.24 or newer. CPU code must have the dialect of the generation.
  Generation generation = Generation::g3;
  // With forms object and source: the container is that of a system library, which code in the
  // program itself registers before main(). The text is the prefix of its symbols; may be empty.
  std::optional<std::string> system_library;

  // the compilers of the built-in generators
  GeneratorPrograms programs;
  // Target kinds; NULL: those of the host. Borrowed.
  const TargetKinds* kinds = nullptr;
  // Opens the code generator of a plugin that declares a kind; empty: there are no plugins.
  std::function<Result<Generator>(std::string_view plugin)> open_generator;
  // Receives what a person should know about an artifact that is written, for example that it
  // contains source because this host has no compiler. May be empty.
  std::function<void(const Message&)> warn;
  // Receives a line at the start of each step: "compiling 3 sources".
  std::function<void(std::string_view)> progress;
  // Written before the artifact is. NULL: nobody needs it. Borrowed.
  PackReport* report = nullptr;
  // The caller prints to standard output: an output that goes there is refused.
  bool uses_standard_output = false;
  // further files that the output must not replace
  InputFiles inputs;
  // The directory of temporary files if the output is a stream, or if another user can change its
  // directory; else the output's directory is.
  std::filesystem::path temporary = "/tmp";
};

// Writes `output`, a path of OutputFile::open(). After a failure the output is unchanged, and
// nothing is written to a stream; temporary files are always removed. The same recipe and files
// produce the same bytes with the same compilers, in any directory.
//
// returns  not_found    a file, a member, the output's directory or a function that the graph
//                       calls does not exist
//          invalid      parts that do not match; COMPILE_FAILED with a compiler's diagnostics;
//                       HOST_DIALECT: CPU code of another generation; the output is the recipe, a
//                       file that it names, a file of another kind, or a terminal
//          malformed    a file has a wrong format
//          unsupported  no release of the generation has such a module, or one of its launch tags
//          unavailable  a compiler cannot run, the output cannot be written
// costs    seconds for the compilers; memory O(graph) and one compressed parameter
Status pack(const Recipe& recipe, const std::filesystem::path& output,
            const PackOptions& options = {});

}  // namespace gantry
