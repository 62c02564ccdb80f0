// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/man_page.hpp"

#include "core/base/atomic_file.hpp"
#include "core/base/replace_file.hpp"
#include "core/base/text.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace gantry::cli {
namespace {

using Entry = ManLists::Entry;

constexpr Entry exit_statuses[] = {
    {"0", "success"},
    {"1", "the command failed"},
    {"2", "wrong usage"},
    {"3", "internal error of gantry"},
    {"4", "the time of --timeout has passed"},
    {"70", "code of a plugin or of an artifact has ended the process or a thread of gantry"},
};

// Those that core/engine/runtime/environment.cpp and the terminal's output read.
constexpr Entry variables[] = {
    {"GANTRY_PLUGIN_FILES",
     "manifests and directories, separated by colons, in place of all directories of plugins but "
     "those of options and configuration; empty: none"},
    {"GANTRY_ADD_PLUGIN_FILES", "the same, searched before the directories of plugins"},
    {"GANTRY_DISABLE", "globs of plugins that are not used, separated by colons"},
    {"GANTRY_SELECT", "globs of plugins that are used although they are disabled"},
    {"GANTRY_CONFIG_<ID>__<KEY>",
     "option KEY of plugin ID, in capitals, with _ in place of dots and hyphens"},
    {"GANTRY_SECURE", "1: ignore variables that name files or plugins, as privileged processes do"},
    {"XDG_CACHE_HOME", "the cache is in its directory gantry; default: ~/.cache"},
    {"XDG_DATA_HOME",
     "the user's plugins are in its directory gantry/plugins.d; default: ~/.local/share"},
    {"HOME", "see XDG_CACHE_HOME and XDG_DATA_HOME"},
    {"TMPDIR", "directory of temporary files"},
    {"PATH", "where compilers of gantry pack are searched"},
    {"CC", "C compiler of gantry pack"},
    {"GLSLANG", "compiler of shaders of gantry pack"},
    {"SOURCE_DATE_EPOCH", "time that gantry mlf export writes, in seconds since 1970"},
    {"TVM_NUM_THREADS", "threads of a runtime, unless an option or the configuration states them"},
    {"OMP_NUM_THREADS", "the same, if TVM_NUM_THREADS is not set"},
    {"LD_BIND_NOW", "if set, functions of artifacts are bound when they are loaded"},
    {"NO_COLOR", "if set and not empty, no colours on terminals"},
};

constexpr Entry files[] = {
    {"/etc/gantry/runtime.yaml", "the configuration, unless --config names another file"},
    {"/etc/gantry/runtime.yaml.d", "its drop-ins; also in /run/gantry and /usr/share/gantry"},
    {"/etc/gantry/trust.yaml", "signing keys, policies and owners of plugins"},
    {"/etc/gantry/plugins.lock", "digests of plugins"},
    {"/etc/gantry/plugins.d",
     "manifests of the administrator; until the next boot: /run/gantry/plugins.d"},
    {"/usr/share/gantry/plugins.d",
     "manifests of packages; also /usr/local/share/gantry/plugins.d"},
    {"<prefix>/share/gantry/plugins.d", "manifests of an installation elsewhere"},
    {"~/.local/share/gantry/plugins.d", "manifests of the user"},
    {"~/.cache/gantry",
     "compiled programs, parsed manifests and other files that can be regenerated"},
};

// Breaks lines at blanks, so that roff's source has short lines, and escapes them.
std::string filled(std::string_view text) {
  constexpr std::size_t max = 78;
  std::string lines;
  std::size_t width = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t size = roff_text(word).size();
    const bool fits = width + 1 + size <= max;
    if (!lines.empty()) lines += fits ? ' ' : '\n';
    lines += word;
    width = fits ? width + 1 + size : size;
  }
  return roff_text(lines) + "\n";
}

std::string bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_text(text) + "\\fR"; }

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : concat(".SH ", title, "\n", body);
}

std::string tagged(const std::string& title, std::string_view text) {
  return concat(".TP\n", title, "\n", filled(text));
}

std::string list_of(std::span<const Entry> entries) {
  return join(entries, "", [](const Entry& one) { return tagged(bold(one.title), one.text); });
}

// "gantry-plugins-doctor"
std::string page_name(std::string_view words) {
  std::string name(words);
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::string reference(std::string_view words) {
  return concat(".BR ", roff_text(page_name(words)), " (1)");
}

std::string option_title(const OptionText& option) {
  std::string title = join(option.names, ", ", bold);
  if (!option.value.empty()) title += (title.empty() ? "" : " ") + italic(option.value);
  return title;
}

std::string option_text(const OptionText& option) {
  std::string text = option.explanation();
  if (!option.excludes.empty()) text += "; not with " + join(option.excludes);
  return tagged(option_title(option), text);
}

std::string synopsis(const CommandText& command, std::string_view words) {
  std::string text = bold(words) + " [" + italic("OPTIONS") + "]";
  if (!command.commands.empty()) text += " " + italic("COMMAND");
  for (const OptionText& argument : command.arguments) {
    const std::string name = italic(argument.value) + (argument.repeatable ? " ..." : "");
    text += argument.required ? " " + name : " [" + name + "]";
  }
  return text + "\n";
}

// "Loads ..." becomes "loads ...", as in the list of whatis(1).
std::string short_description(const CommandText& command) {
  std::string text = lower(command.description.substr(0, 1)) + command.description.substr(1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// A complete sentence of the description.
std::string sentence(const CommandText& command) {
  return upper(command.description.substr(0, 1)) + command.description.substr(1) +
         (command.description.ends_with('.') ? "" : ".");
}

std::string paragraphs(std::string_view text) {
  std::string out;
  for (bool starts = true; !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty()) out += (starts ? ".PP\n" : "") + filled(line);
    starts = line.empty();
  }
  return out;
}

std::string examples(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("  ")) line.remove_prefix(2);
    if (!line.empty()) lines += roff_text(line) + "\n";
  }
  return lines.empty() ? "" : ".nf\n" + lines + ".fi\n";
}

class Writer {
 public:
  Writer(const CommandText& root, std::string_view version, const ManLists& lists)
      : root_(root), version_(version), lists_(lists), globals_(global_options(root)) {}

  void write(const CommandText& command, const std::string& words, const std::string& parent) {
    pages_.push_back({page_name(words) + ".1", page(command, words, parent)});
    for (const CommandText& each : command.commands) write(each, words + " " + each.name, words);
  }

  std::vector<ManPage> pages() && { return std::move(pages_); }

 private:
  std::string page(const CommandText& command, const std::string& words,
                   const std::string& parent) const {
    const bool is_root = &command == &root_;
    const auto [prose, example_lines] = split_footer(command.footer);
    const auto list = [](const std::vector<OptionText>& all) { return join(all, "", option_text); };
    std::string text = concat(".TH ", roff_text(upper(page_name(words))), " 1 \"\" \"gantry ",
                              version_, "\" \"gantry manual\"\n");
    text += section(
        "NAME", concat(roff_text(page_name(words)), " \\-\n", filled(short_description(command))));
    text += section("SYNOPSIS", synopsis(command, words));
    text +=
        section("DESCRIPTION", filled(sentence(command)) + paragraphs(prose) + arguments(command));
    text += section("COMMANDS", commands(command, words));
    text += section("OPTIONS", list(command.options));
    if (!is_root) text += section("GLOBAL OPTIONS", list(globals_));
    text += section("EXIT STATUS", list_of(lists_.exit_statuses));
    if (is_root) {
      text += section("ENVIRONMENT", list_of(lists_.variables));
      text += section("FILES", list_of(lists_.files));
    }
    text += section("EXAMPLES", examples(example_lines));
    return text + section("SEE ALSO", see_also(command, words, parent));
  }

  static std::string arguments(const CommandText& command) {
    return join(command.arguments, "", option_text);
  }

  static std::string commands(const CommandText& command, const std::string& words) {
    std::string text;
    for (const CommandText& each : command.commands) {
      text += tagged(reference(words + " " + each.name), each.description);
    }
    return text;
  }

  // The command above, the commands beside and below, and gantry(1).
  std::string see_also(const CommandText& command, const std::string& words,
                       const std::string& parent) const {
    std::vector<std::string> pages;
    if (!parent.empty()) pages.push_back(root_.name);
    if (!parent.empty() && parent != root_.name) pages.push_back(parent);
    const CommandText* above = parent.empty() ? nullptr : &root_;
    if (above != nullptr && parent != root_.name)
      above = above->command(parent.substr(parent.rfind(' ') + 1));
    if (above != nullptr) {
      for (const CommandText& each : above->commands) {
        if (each.name != command.name) pages.push_back(parent + " " + each.name);
      }
    }
    for (const CommandText& each : command.commands) pages.push_back(words + " " + each.name);
    if (&command == &root_)
      pages.insert(pages.end(), lists_.see_also.begin(), lists_.see_also.end());
    return pages.empty() ? "" : join(pages, ",\n", reference) + "\n";
  }

  const CommandText& root_;
  const std::string_view version_;
  const ManLists lists_;
  const std::vector<OptionText> globals_;
  std::vector<ManPage> pages_;
};

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool starts = out.empty() || out.back() == '\n';
    if (starts && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '`') {
      out += "\\(ga";
    } else {
      out += c;
    }
  }
  return out;
}

ManLists lists_of_gantry() { return {exit_statuses, variables, files, {}}; }

std::vector<ManPage> man_pages(const CommandText& root, std::string_view version,
                               const ManLists& lists) {
  Writer writer(root, version, lists);
  writer.write(root, root.name, "");
  return std::move(writer).pages();
}

Status write_man_pages(const std::filesystem::path& directory, std::span<const ManPage> pages) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return cannot_write(directory, error.value());
  for (const ManPage& page : pages) {
    const std::filesystem::path path = directory / page.file;
    GANTRY_TRY(AtomicFile file, AtomicFile::beside(path, {}));
    if (std::fwrite(page.text.data(), 1, page.text.size(), file.stream()) != page.text.size())
      return cannot_write(path, errno);
    GANTRY_CHECK(file.commit());
  }
  return {};
}

}  // namespace gantry::cli
