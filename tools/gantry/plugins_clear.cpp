// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/near_name.hpp"
#include "core/base/reason.hpp"
#include "core/base/text.hpp"
#include "core/plugins/probe/prober.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

namespace gantry::cli {
namespace {

Failure unknown_id(const std::string& id, const std::vector<std::string>& known) {
  return not_found("plugin ", quoted(id), " not found",
                   did_you_mean(id, {known.begin(), known.end()}),
                   "; plugins: ", known.empty() ? "none" : join(known))
      .with_reason(reason::no_plugin.tag);
}

Result<ExitStatus> clear(const std::string& id, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  std::vector<std::string> known;
  bool found = false;
  for (const Candidate& candidate : runtime->plugins->candidates()) {
    if (!candidate.manifest || candidate.manifest->library_path.empty()) continue;
    known.push_back(candidate.manifest->id);
    if (candidate.manifest->id != id) continue;
    found = true;
    const bool removed = runtime->prober->forget(candidate);
    print(text_line(candidate.title(),
                    removed ? ": the verdict of its probe is removed, " : ": it has no verdict, ",
                    candidate.manifest->library_path));
  }
  if (!found) return unknown_id(id, known);
  return kDone;
}

}  // namespace

void add_plugins_clear(CLI::App& plugins, Invocation& invocation) {
  auto id = std::make_shared<std::string>();
  CLI::App* command = plugins.add_subcommand(
      "clear", "remove the verdict of a plugin's probe, so that it is probed again");
  add_text(*command, "id", "ID", *id, "id of the plugin")->required();
  command->footer(
      "A plugin that crashes or hangs in its probe three times is quarantined until one of its "
      "files changes, the\nsystem is restarted, or this command is run.\n\n"
      "Example:\n  gantry plugins clear acme.npu");
  set_action(*command, invocation, id, clear);
}

}  // namespace gantry::cli
