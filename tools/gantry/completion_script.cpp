// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/terminal.hpp"

#include <string_view>

namespace gantry {

// Of tools/gantry/shell, embedded by the build.
extern const std::string_view bash_completion;
extern const std::string_view zsh_completion;
extern const std::string_view fish_completion;

namespace cli {

void add_completion(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "print the script that completes gantry's options in a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Packages install the scripts. Elsewhere, a shell reads its script when it starts: bash from "
      "~/.bashrc, fish from ~/.config/fish/completions, zsh from a directory of its variable "
      "fpath, "
      "as the file _gantry.\n\n"
      "Examples:\n"
      "  gantry completion fish > ~/.config/fish/completions/gantry.fish\n"
      "  source <(gantry completion bash)");
  command->callback([&invocation, shell] {
    invocation.action = [shell]() -> Result<ExitStatus> {
      print(*shell == "bash"  ? bash_completion
            : *shell == "zsh" ? zsh_completion
                              : fish_completion);
      return kDone;
    };
  });
}

}  // namespace cli
}  // namespace gantry
