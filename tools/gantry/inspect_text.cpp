// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/inspect_text.hpp"

#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/text_table.hpp"

#include <gantry/result.hpp>

#include <charconv>

namespace gantry::cli {
namespace {

using Align = TextTable::Align;

std::string joined(const std::vector<std::string>& names, std::string_view none) {
  std::string text;
  for (const std::string& name : names) text += concat(text.empty() ? "" : ", ", escaped(name));
  return text.empty() ? std::string(none) : text;
}

class Writer {
 public:
  Writer(const InspectReport& report, const Terminal& terminal)
      : report_(report), terminal_(terminal) {}

  std::string run() {
    out_ += terminal_.paint(escaped(report_.file), Tone::heading) + "\n";
    write_file();
    if (report_.has_modules()) {
      write_modules();
      section("imports");
      indented(import_text(report_.import_graph()), 2);
      write_details();
    }
    write_members();
    write_arrays();
    if (!report_.functions.empty()) {
      section(concat("functions (", report_.functions.size(), ")"));
      for (const std::string& name : report_.functions) out_ += concat("  ", escaped(name), "\n");
    }
    if (!report_.warnings.empty()) {
      section("warnings");
      for (const std::string& warning : report_.warnings) {
        out_ += concat("  ", terminal_.paint(escaped_lines(warning), Tone::warning), "\n");
      }
    }
    return std::move(out_);
  }

 private:
  void section(std::string_view title) {
    out_ += concat("\n", terminal_.paint(title, Tone::heading), "\n");
  }
  void field(std::string_view name, std::string_view value) {
    out_ += concat("  ", name, std::string(12 - name.size(), ' '), value, "\n");
  }
  void indented(std::string_view lines, std::size_t by) {
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n') + 1;
      out_.append(by, ' ').append(lines.substr(0, end));
      lines.remove_prefix(end);
    }
  }

  void write_file() {
    const Container& container = report_.container;
    field("format", concat(name_of(report_.kind), ", ", human_size(report_.size)));
    if (!report_.machine.empty()) field("machine", report_.machine);
    if (!report_.soname.empty()) field("soname", escaped(report_.soname));
    if (!report_.machine.empty()) field("needs", joined(report_.needed, "no library"));
    if (!report_.has_modules()) return;
    field("generation", name_of(container.generation));
    field("dialect", name_of(container.dialect));
    if (!container.bytes.empty()) {
      const std::string symbol = escaped(container.blob_symbol);
      field("container",
            concat(symbol, symbol.empty() ? "" : ", ", human_size(container.bytes.size()), " at ",
                   Hex{container.file_offset}));
    } else {
      field("container", "none");
    }
    if (!container.context_symbol.empty()) field("context", escaped(container.context_symbol));
    if (!container.prefix.empty()) field("prefix", escaped(container.prefix));
    if (report_.entry) field("entry", escaped(*report_.entry));
  }

  TextTable::Cell server_of(const ModuleReport& module) const {
    if (module.entry.is_library()) return {"host code", Tone::faint};
    if (module.served_by) return {escaped(*module.served_by), Tone::good};
    return {"nobody", Tone::warning};
  }

  void write_modules() {
    section(concat("modules (", report_.modules.size(), ")"));
    TextTable table({{"index", Align::right},
                     {"type key"},
                     {"offset", Align::right},
                     {"bytes", Align::right},
                     {"served by"},
                     {"sha256"}});
    for (std::size_t i = 0; i < report_.modules.size(); ++i) {
      const ModuleReport& module = report_.modules[i];
      const Entry& entry = module.entry;
      const bool lost = entry.type_key.empty();
      table.add({concat(i), lost ? TextTable::Cell("?") : TextTable::Cell(escaped(entry.type_key)),
                 entry.is_library() ? std::string() : concat(Hex{entry.at}),
                 entry.is_library() ? std::string() : concat(entry.payload.size()),
                 server_of(module), module.sha256});
    }
    // Digests are there to be copied: they are never cut.
    out_ += table.text(Terminal{terminal_.present, terminal_.colour, 0});
  }

  void write_details() {
    for (std::size_t i = 0; i < report_.modules.size(); ++i) {
      const ModuleReport& module = report_.modules[i];
      if (module.details.children.empty()) continue;
      section(concat("[", i, "] ", escaped(module.entry.type_key)));
      for (const Detail& child : module.details.children) write_detail(child, 2);
    }
  }

  static bool leaf(const Detail& detail) {
    return detail.kind != Detail::Kind::list && detail.kind != Detail::Kind::record;
  }
  static bool shallow(const Detail& detail) {
    for (const Detail& child : detail.children) {
      if (!leaf(child)) return false;
    }
    return true;
  }
  static std::string value_text(const Detail& detail) {
    std::uint64_t bytes = 0;
    const char* end = detail.value.data() + detail.value.size();
    if (detail.kind != Detail::Kind::size ||
        std::from_chars(detail.value.data(), end, bytes).ptr != end) {
      return escaped(detail.value);
    }
    return human_size(bytes);
  }

  // One line of everything in a list or record: "args [handle, int32], launch [blockIdx.x]"; an array
  // as "float32[1, 64], 256 B".
  static std::string inline_text(const Detail& detail) {
    if (leaf(detail)) return value_text(detail);
    if (const Detail* dtype = detail.find("dtype"), *shape = detail.find("shape"),
        *size = detail.find("size");
        detail.children.size() == 3 && dtype && shape && size) {
      return concat(value_text(*dtype), inline_text(*shape), ", ", value_text(*size));
    }
    std::string text;
    for (const Detail& child : detail.children) {
      const std::string name = child.name.empty() ? "" : escaped(child.name) + " ";
      text += concat(text.empty() ? "" : ", ", name, inline_text(child));
    }
    return detail.kind == Detail::Kind::list ? "[" + text + "]" : text;
  }

  // Recursion ends with the nesting of payload layouts (blob/limits.hpp), which no file decides.
  void write_detail(const Detail& detail, std::size_t indent) {
    const std::string name = detail.name.empty() ? std::string("-") : escaped(detail.name);
    out_.append(indent, ' ').append(name);
    const bool few = detail.children.size() <= 8;
    bool one_line = leaf(detail) || (shallow(detail) && few);
    if (!one_line && few && detail.kind == Detail::Kind::record) {  // a kernel: lists of leaves
      one_line = true;
      for (const Detail& child : detail.children) {
        one_line = one_line && (leaf(child) || shallow(child));
      }
      one_line = one_line && inline_text(detail).size() <= most_inline;
    }
    if (one_line) {
      out_.append("  ").append(inline_text(detail)).append("\n");
      return;
    }
    out_.append(concat(" (", detail.children.size(), ")\n"));
    for (const Detail& child : detail.children) write_detail(child, indent + 2);
  }

  void write_members() {
    if (report_.members.empty()) return;
    section(concat("members (", report_.members.size(), ")"));
    TextTable table({{"bytes", Align::right}, {"name"}});
    for (const ArchiveMember& member : report_.members) {
      table.add({concat(member.size), escaped(member.name)});
    }
    out_ += table.text(terminal_);
  }

  void write_arrays() {
    if (report_.arrays.empty()) return;
    section(concat("arrays (", report_.arrays.size(), ")"));
    TextTable table({{"name"}, {"type"}, {"bytes", Align::right}});
    for (const ArrayReport& array : report_.arrays) {
      table.add({array.name.empty() ? std::string("-") : escaped(array.name),
                 shape_text(array.dtype, array.shape), concat(array.size)});
    }
    out_ += table.text(terminal_);
  }

  static constexpr std::size_t most_inline = 160;

  const InspectReport& report_;
  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

std::string inspect_text(const InspectReport& report, const Terminal& terminal) {
  return Writer(report, terminal).run();
}

}  // namespace gantry::cli
