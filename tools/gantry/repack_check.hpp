// SPDX-License-Identifier: Apache-2.0
//
// Loads a rewritten artifact before it replaces its output.
#pragma once

#include "tools/gantry/isolated_command.hpp"

#include "core/formats/payload_layout.hpp"
#include "core/writing/repack.hpp"

#include <gantry/message.hpp>
#include <gantry/result.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace gantry::cli {

struct LoadCheck {
  // false: nothing was loaded, which a warning reports
  bool is_loaded = false;
  std::vector<Message> warnings;
};

// Loads every container of the result with the plugins of this host: the one that `gantry run`
// loads together with the CPU code, the others of a library alone. A child process does so, so that
// code that ends its process leaves the command to remove its files. The end of what the code prints,
// up to 64 KiB, is written to standard error.
//
// globals  [in]   of the runtime
// source   [in]   the file that was rewritten
// form     [in]   of the result; object and source: `path` is the bare container
// returns  the failures of Runtime::load(); unavailable if the child process ends or takes longer
//          than ten minutes
Result<LoadCheck> check_loading(const Globals& globals, const PayloadLayouts& layouts,
                                const ContainerFile& source, PackForm form,
                                const std::filesystem::path& path);

// Prepares the call in the child process, see IsolatedWork. Its answer is a text of IsolatedOutcome.
Result<IsolatedCall> load_isolated(const IsolatedCommand& command, const Runtime& runtime);

}  // namespace gantry::cli
