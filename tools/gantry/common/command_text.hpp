// SPDX-License-Identifier: Apache-2.0
//
// The sub-commands and options that the parser of the command line accepts, as plain data: the
// source of help, of completions and of man pages.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::cli {

// An option, or an argument by position.
struct OptionText {
  // "-q", "--quiet"; empty for an argument by position
  std::vector<std::string> names;
  // "FILE", "LEVEL", "[NAME=]FILE"; empty for a flag
  std::string value;
  // without line breaks
  std::string description;
  // empty: none, or stated in the description
  std::string default_value;
  // all values, if they are fixed
  std::vector<std::string> choices;
  // "1 - 1024"; empty: not a range
  std::string range;
  // names of the options that are required beside it or excluded by it
  std::vector<std::string> needs, excludes;
  bool required = false;
  bool repeatable = false;

  bool is_called(std::string_view name) const;
  // "-q, --quiet", "--log LEVEL"
  std::string title() const;
  // The description with the values that are possible and the options that are required beside it.
  std::string explanation() const;
};

struct CommandText {
  // "run"
  std::string name;
  // other names: "ls" of list
  std::vector<std::string> aliases;
  // in lower case and without a full stop; that of gantry is a sentence
  std::string description;
  // sentences, then "Example:" or "Examples:" and lines of commands
  std::string footer;
  std::vector<OptionText> options;
  // by position
  std::vector<OptionText> arguments;
  // one of them is required
  std::vector<CommandText> commands;

  // By its name or one of its aliases; NULL: there is none.
  const CommandText* command(std::string_view called) const;
};

// The options that every sub-command accepts: those of the whole program except --help and
// --version.
std::vector<OptionText> global_options(const CommandText& root);

// The sentences and the example commands of a footer.
std::pair<std::string, std::string> split_footer(std::string_view footer);

}  // namespace gantry::cli
