// SPDX-License-Identifier: Apache-2.0
#include "core/pack/pack.hpp"

#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/terminal.hpp"

#include "core/runtime/environment.hpp"

#include <unistd.h>

namespace gantry::cli {
namespace {

struct Options {
  std::string recipe;
  std::string output;
};

Status pack_recipe(const Options& options, bool quiet) {
  GANTRY_TRY(const Recipe recipe, read_recipe(options.recipe));
  PackOptions how;
  if (const std::string compiler = read_environment().compiler; !compiler.empty()) {
    how.compiler = {compiler};
  }
  if (terminal_of(STDERR_FILENO).present && !quiet) {
    how.progress = [](std::string_view step) {
      std::fprintf(stderr, "\r\x1b[K%s", escaped(step).c_str());
    };
  }
  Status status = pack(recipe, options.output, how);
  if (how.progress) std::fputs("\r\x1b[K", stderr);
  return status;
}

}  // namespace

void add_pack(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("pack", "build an artifact of host code, kernels, a graph and parameters");
  command->add_option("RECIPE", options->recipe, "what it is made of")->required();
  command->add_option("-o,--output", options->output, "the artifact")
      ->type_name("FILE.so")
      ->required();
  command->footer("Example:\n  gantry pack digits.yaml -o digits.so");
  command->callback([options, &invocation] {
    invocation.action = [options, &invocation] {
      const Status status = pack_recipe(*options, invocation.globals.quiet);
      return status.ok() ? static_cast<int>(kDone) : report(status.error());
    };
  });
}

}  // namespace gantry::cli
