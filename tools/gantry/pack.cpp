// SPDX-License-Identifier: Apache-2.0
#include "core/pack/pack.hpp"

#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/status_line.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/text.hpp"
#include "core/runtime/environment.hpp"

#include <string>
#include <vector>

namespace gantry::cli {
namespace {

struct RecipeOptions {
  std::string recipe;
  std::string output;
};

Result<ExitStatus> pack_recipe(const RecipeOptions& options, const Globals& globals) {
  GANTRY_TRY(const Recipe recipe, read_recipe(options.recipe));
  PackOptions how;
  how.inputs = input_files(globals, {});
  const Environment environment = read_environment();
  const std::vector<std::string> compiler = words_of(environment.compiler);
  const std::vector<std::string> glslang = words_of(environment.glslang);
  if (!compiler.empty()) how.compiler = compiler;
  if (!glslang.empty()) how.glslang = glslang;
  if (!environment.program_path.empty()) how.search.path = environment.program_path;
  if (!environment.temporary_directory.empty()) how.temporary = environment.temporary_directory;
  how.search.allow_relative = !environment.elevated;
  StatusLine line(globals.quiet);
  how.progress = [&line](std::string_view step) { line.show(escaped(step)); };
  GANTRY_CHECK(pack(recipe, options.output, how));
  return kDone;
}

}  // namespace

void add_pack(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RecipeOptions>();
  CLI::App* command = app.add_subcommand(
      "pack", "build an artifact from host code, kernels, a graph and parameters");
  command->add_option("RECIPE", options->recipe, "the recipe, a YAML file")
      ->required()
      ->check(not_empty());
  add_text(*command, "-o,--output", "FILE.so", options->output,
           "write the artifact to this file, to a pipe, or to standard output (-)")
      ->required();
  command->footer(
      "Examples:\n"
      "  gantry pack digits.yaml -o digits.so\n"
      "  gantry pack digits.yaml -o - | ssh board 'cat > digits.so'");
  set_action(*command, invocation, options, pack_recipe);
}

}  // namespace gantry::cli
