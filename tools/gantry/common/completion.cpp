// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/completion.hpp"

#include "tools/gantry/common/escape.hpp"

#include <algorithm>
#include <set>

namespace gantry::cli {
namespace {

// The kind of an option's values, from the name of the value in the help.
CompletedValue kind_of(const OptionText& option) {
  const std::string_view value = option.value;
  const auto contains = [&](std::string_view part) { return value.find(part) != value.npos; };
  if (value == "ID") return CompletedValue::plugin;
  if (value == "KEY") return CompletedValue::type_key;
  if (value == "CODE") return CompletedValue::reason;
  if (value == "NAME[:N]") return CompletedValue::device;
  if (contains("FILE") || contains("VALUE") || value == "RECIPE" || value == "SPEC" ||
      value == "PLUGIN")
    return CompletedValue::file;
  if (contains("DIR")) return CompletedValue::directory;
  return CompletedValue::none;
}

// The state of the command line before the last word.
class Walk {
 public:
  Walk(const CommandText& root, Completion& out)
      : root_(root), out_(out), globals_(global_options(root)) {}

  void read(const std::string& word) {
    if (waiting_) return take_value(word);
    const bool is_option = word.size() > 1 && word.starts_with("-") && !only_arguments_;
    if (word == "--" && !only_arguments_) {
      only_arguments_ = true;
    } else if (is_option) {
      read_option(word);
    } else if (const CommandText* next = next_command(word)) {
      command_ = next;
    } else {
      arguments_.push_back(word);
    }
  }

  void complete(const std::string& word) {
    if (waiting_) return complete_value(*waiting_, "", word);
    const std::size_t equals = word.find('=');
    if (word.starts_with("--") && !only_arguments_ && equals != word.npos) {
      if (const OptionText* option = find(word.substr(0, equals)))
        complete_value(*option, word.substr(0, equals + 1), word.substr(equals + 1));
    } else if (word.starts_with("-") && !only_arguments_) {
      complete_options(word);
    } else if (!command_->commands.empty()) {
      if (arguments_.empty()) complete_commands(*command_, word);
    } else if (const OptionText* argument = next_argument()) {
      complete_argument(*argument, word);
    } else if (word.empty()) {
      complete_options(word);
    }
  }

 private:
  const OptionText* find(std::string_view name) const {
    for (const auto* options : {&command_->options, &globals_}) {
      for (const OptionText& option : *options) {
        if (option.is_called(name)) return &option;
      }
    }
    return nullptr;
  }

  // A word in place of a missing command is no command after it.
  const CommandText* next_command(const std::string& word) const {
    return arguments_.empty() && !only_arguments_ ? command_->command(word) : nullptr;
  }

  void take_value(const std::string& value) {
    out_.given.emplace_back(waiting_->names.back(), value);
    waiting_ = nullptr;
  }

  void read_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--")) return read_letters(word.substr(1));
    const OptionText* option = find(word.substr(0, equals));
    if (option == nullptr) return;
    used_.insert(option->names.back());
    if (option->value.empty()) return;
    waiting_ = option;
    if (equals != word.npos) take_value(word.substr(equals + 1));
  }

  // "qo" and "ofile" of -qo and -ofile.
  void read_letters(const std::string& letters) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const OptionText* option = find(std::string("-") + letters[i]);
      if (option == nullptr) return;
      used_.insert(option->names.back());
      if (option->value.empty()) continue;
      waiting_ = option;
      if (i + 1 < letters.size()) take_value(letters.substr(i + 1));
      return;
    }
  }

  const OptionText* next_argument() const {
    const auto& all = command_->arguments;
    if (arguments_.size() < all.size()) return &all[arguments_.size()];
    return !all.empty() && all.back().repeatable ? &all.back() : nullptr;
  }

  void complete_options(const std::string& word) {
    for (const auto* options : {&command_->options, &globals_}) {
      // the root's own options contain the global ones
      if (options == &globals_ && command_ == &root_) break;
      for (const OptionText& option : *options) {
        if (used_.contains(option.names.back()) && !option.repeatable) continue;
        for (const std::string& name : option.names) add(name, word, option.description);
      }
    }
  }

  void complete_commands(const CommandText& command, const std::string& word) {
    for (const CommandText& each : command.commands) add(each.name, word, each.description);
  }

  // The words of `gantry help` are commands.
  void complete_argument(const OptionText& argument, const std::string& word) {
    if (argument.value != "COMMAND") return complete_value(argument, "", word);
    const CommandText* command = &root_;
    for (const std::string& name : arguments_) {
      command = command->command(name);
      if (command == nullptr) return;
    }
    complete_commands(*command, word);
  }

  void complete_value(const OptionText& option, const std::string& prefix,
                      const std::string& typed) {
    out_.prefix = prefix;
    out_.typed = typed;
    out_.value = kind_of(option);
    add_values(option.choices, out_);
  }

  void add(const std::string& name, const std::string& typed, const std::string& description) {
    if (name.starts_with(typed)) out_.words.push_back({name, description});
  }

  const CommandText& root_;
  Completion& out_;
  const std::vector<OptionText> globals_;
  const CommandText* command_ = &root_;
  // requires a value, which is the next word
  const OptionText* waiting_ = nullptr;
  // after "--"
  bool only_arguments_ = false;
  std::vector<std::string> arguments_;
  // the last names of options
  std::set<std::string> used_;
};

}  // namespace

Completion complete(const CommandText& root, std::span<const std::string> words) {
  Completion out;
  if (words.empty()) return out;
  Walk walk(root, out);
  for (const std::string& word : words.first(words.size() - 1)) walk.read(word);
  walk.complete(words.back());
  return out;
}

void add_values(std::span<const std::string> values, Completion& completion) {
  // Other characters would require quotes, which the shells' scripts do not add.
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:+-";
  for (const std::string& value : values) {
    if (value.find_first_not_of(plain) != value.npos) continue;
    if (value.starts_with(completion.typed))
      completion.words.push_back({completion.prefix + value, ""});
  }
}

std::string to_lines(const Completion& completion) {
  std::string text;
  for (const auto& [word, description] : completion.words) {
    text += escaped(word) + (description.empty() ? "" : "\t" + escaped(description)) + "\n";
  }
  if (completion.value == CompletedValue::file) text += ":files\n";
  if (completion.value == CompletedValue::directory) text += ":directories\n";
  return text;
}

}  // namespace gantry::cli
