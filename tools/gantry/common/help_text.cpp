// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/help_text.hpp"

#include <gantry/concat.hpp>
#include <gantry/join.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

class HelpWriter {
 public:
  static constexpr std::size_t indent = 2;
  // Titles that are longer have a line of their own.
  static constexpr std::size_t text_column = 26;

  // Breaks a text at blanks. All lines but the first begin with `column` blanks, the first one begins
  // there.
  static std::string filled(std::string_view text, std::size_t column) {
    std::string lines;
    std::size_t width = column;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!lines.empty() && width + 1 + word.size() > help_columns) {
        lines += "\n" + std::string(column, ' ');
        width = column;
      } else if (!lines.empty()) {
        lines += ' ';
        ++width;
      }
      lines += word;
      width += word.size();
    }
    return lines;
  }

  static std::string entry(std::string_view title, std::string_view text, std::size_t column) {
    std::string line = std::string(indent, ' ').append(title);
    if (text.empty()) return line + "\n";
    line += line.size() + 1 < column ? std::string(column - line.size(), ' ')
                                     : "\n" + std::string(column, ' ');
    return line + filled(text, column) + "\n";
  }

  // "-q,--quiet", "--log LEVEL", "FILE"
  static std::string title_of(const OptionText& option) {
    if (option.names.empty()) return option.value + (option.repeatable ? " ..." : "");
    return join(option.names, ",") + (option.value.empty() ? "" : " " + option.value);
  }

  static std::string section(std::string_view title, std::span<const OptionText> options) {
    if (options.empty()) return "";
    std::string text = concat("\n", title, ":\n");
    for (const OptionText& option : options)
      text += entry(title_of(option), option.explanation(), text_column);
    return text;
  }

  static std::string usage(const CommandText& command, std::string_view words) {
    std::string text = concat("Usage: ", words, " [OPTIONS]");
    for (const OptionText& argument : command.arguments) {
      const std::string name = title_of(argument);
      text += argument.required ? " " + name : " [" + name + "]";
    }
    return text + (command.commands.empty() ? "" : " SUBCOMMAND") + "\n";
  }

  static std::string commands(const CommandText& command) {
    if (command.commands.empty()) return "";
    std::string text = "\nSubcommands:\n";
    for (const CommandText& each : command.commands) {
      const std::string also = each.aliases.empty() ? "" : "; also " + join(each.aliases);
      text += entry(each.name, each.description + also, text_column);
    }
    return text;
  }

  static std::string statuses(std::span<const ManLists::Entry> entries) {
    std::string text = "\nExit status:\n";
    for (const ManLists::Entry& one : entries) text += entry(one.title, one.text, indent + 4);
    return text;
  }

  // Lines that the author has broken are filled again as one paragraph.
  static std::string paragraphs(std::string_view prose) {
    std::string text;
    while (!prose.empty()) {
      const std::size_t end = std::min(prose.find("\n\n"), prose.size());
      std::string paragraph(prose.substr(0, end));
      prose.remove_prefix(std::min(end + 2, prose.size()));
      if (paragraph.ends_with('\n')) paragraph.pop_back();
      std::ranges::replace(paragraph, '\n', ' ');
      if (!paragraph.empty()) text += "\n" + filled(paragraph, 0) + "\n";
    }
    return text;
  }

  static std::string footer(const CommandText& command) {
    const auto [prose, examples] = split_footer(command.footer);
    if (examples.empty()) return paragraphs(prose);
    const bool several = examples.find('\n') != examples.npos;
    return concat(paragraphs(prose), several ? "\nExamples:\n" : "\nExample:\n", examples, "\n");
  }
};

}  // namespace

std::string help_text(const CommandText& command, std::string_view words,
                      std::span<const OptionText> globals,
                      std::span<const ManLists::Entry> exit_statuses) {
  using Help = HelpWriter;
  return Help::filled(command.description, 0) + "\n" + Help::usage(command, words) +
         Help::section("Positionals", command.arguments) +
         Help::section("Options", command.options) + Help::section("Global options", globals) +
         Help::commands(command) + Help::statuses(exit_statuses) + Help::footer(command);
}

}  // namespace gantry::cli
