// SPDX-License-Identifier: Apache-2.0
//
// Completes the last word of a command line:
//
//     run --dev        -> the options that begin with --dev
//     run --log=       -> the fixed values of --log, after the prefix "--log="
//     run --device     -> devices, from the installed plugins
//     run mod          -> files, from the shell
#pragma once

#include "tools/gantry/common/command_text.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::cli {

// The kind of values that a word may have besides the listed ones.
// file: also a directory, which may contain it
enum class CompletedValue { none, file, directory, plugin, type_key, device, reason };

struct CompletedWord {
  // with the part that was typed
  std::string word;
  // may be empty
  std::string description;
};

struct Completion {
  std::vector<CompletedWord> words;
  CompletedValue value = CompletedValue::none;
  // the part of the last word before the value: "--device="
  std::string prefix;
  // the part of the value that was typed
  std::string typed;
  // options before the last word with their values: {"--plugins", "DIR"}
  std::vector<std::pair<std::string, std::string>> given;
};

// words    [in]   after the name of the program; the last one is completed and may be empty
// returns  nothing after a command that does not exist
Completion complete(const CommandText& root, std::span<const std::string> words);

// Adds those of the values that begin with the typed part.
void add_values(std::span<const std::string> values, Completion& completion);

// The text for the scripts of the shells: a line `word<TAB>description` for each word, and the line
// ":files" or ":directories" if the shell completes the value.
std::string to_lines(const Completion& completion);

}  // namespace gantry::cli
