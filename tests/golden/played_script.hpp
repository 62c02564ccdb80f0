// SPDX-License-Identifier: Apache-2.0
//
// Plays the call scripts of golden artifacts in this process.
#pragma once

#include "tools/gantry/script/script_player.hpp"

#include "tests/support/built_runtime.hpp"

#include <gantry/join.hpp>

#include <span>
#include <string>
#include <vector>

namespace gantry::test {

// Plays a script on its artifact; returns a line for each difference.
//
// directory  [in]  of both, below the golden files
inline std::vector<std::string> play(Runtime runtime, const cli::CallScript& script,
                                     std::span<const std::string> devices, cli::Tolerance tolerance,
                                     const std::string& directory = "relax") {
  std::vector<std::string> lines;
  const auto model = runtime.load(golden(directory + "/" + script.file).string());
  if (!model.ok()) return {model.error().message.text()};
  auto player = cli::ScriptPlayer::create(runtime, *model, script, devices);
  if (!player.ok()) return {player.error().message.text()};
  for (std::size_t i = 0; i < script.calls.size(); ++i) {
    const auto played = player->play(i, tolerance);
    if (!played.ok()) return {played.error().message.text()};
    for (const std::string& text : (*played)->differences)
      lines.push_back(
          concat("call ", i, " ", script.calls[i].function, ": ", Message::lines(text)));
  }
  return lines;
}

}  // namespace gantry::test
