// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/terminal.hpp"

#include <algorithm>

namespace gantry::cli {

void add_help(CLI::App& app, Invocation& invocation) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "show the help of a command");
  help->add_option("COMMAND", *words, "for example: plugins doctor; default: all commands");
  help->footer("Example:\n  gantry help run");
  help->callback([&app, &invocation, words] {
    const CLI::App* command = &app;
    for (const std::string& word : *words) {
      const std::vector<const CLI::App*> known = command->get_subcommands({});
      const auto found =
          std::ranges::find_if(known, [&](const CLI::App* each) { return each->check_name(word); });
      if (found == known.end()) {
        throw CLI::ArgumentMismatch(unknown_command_text(*command, word));
      }
      command = *found;
    }
    invocation.action = [command]() -> Result<ExitStatus> {
      print(command->get_formatter()->make_help(command, words_to(*command),
                                                CLI::AppFormatMode::Normal));
      return kDone;
    };
  });
}

}  // namespace gantry::cli
