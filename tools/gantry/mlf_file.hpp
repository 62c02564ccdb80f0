// SPDX-License-Identifier: Apache-2.0
//
// The argument of commands that read a Model Library Format archive.
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace gantry::cli {

struct MlfFileOptions {
  std::string file;
  bool json = false;
};

// Adds FILE and --json.
void add_mlf_file(CLI::App& command, MlfFileOptions& options);

// returns  malformed  the file is no tar archive, with its kind
Result<std::shared_ptr<const MappedFile>> open_mlf_file(const std::string& path);

}  // namespace gantry::cli
