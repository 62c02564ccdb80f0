// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/pack_programs.hpp"

#include "core/base/text.hpp"
#include "core/engine/runtime/environment.hpp"

#include <string>
#include <vector>

namespace gantry::cli {

PackOptions options_of_environment() {
  PackOptions options;
  const Environment environment = read_environment();
  const std::vector<std::string> compiler = words_of(environment.compiler);
  const std::vector<std::string> glslang = words_of(environment.glslang);
  if (!compiler.empty()) options.programs.compiler = compiler;
  if (!glslang.empty()) options.programs.glslang = glslang;
  if (!environment.program_path.empty()) options.programs.search.path = environment.program_path;
  if (!environment.temporary_directory.empty()) options.temporary = environment.temporary_directory;
  options.programs.search.allow_relative = !environment.elevated;
  return options;
}

}  // namespace gantry::cli
