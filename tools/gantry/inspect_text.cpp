// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/inspect_text.hpp"
#include "tools/gantry/common/detail_text.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/text_table.hpp"
#include "tools/gantry/inspect_vm.hpp"
#include "tools/gantry/looked_up.hpp"

#include "core/base/text.hpp"
#include "core/formats/inspect/required_functions.hpp"
#include "core/formats/inspect/signatures.hpp"
#include "core/formats/inspect/weights.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <vector>

namespace gantry::cli {
namespace {

// of virtual machines
constexpr std::size_t max_listed_tensors = 16;

class Writer {
 public:
  Writer(const InspectReport& report, const InspectOptions& options, const Terminal& terminal,
         const TextSink& sink)
      : report_(report), options_(options), terminal_(terminal), sink_(sink) {}

  void run() {
    sink_(terminal_.paint(escaped(report_.file), Tone::heading) + "\n");
    write_signature();
    write_file();
    for (const Message& warning : report_.container.warnings) warnings_.add(warning);
    if (report_.has_modules()) {
      write_modules();
      section("imports");
      write_import_text(import_graph_of(report_),
                        [&](std::string_view line) { sink_(concat("  ", line)); });
      write_details();
    }
    write_members();
    write_arrays();
    if (report_.weights) {
      for (const Message& warning : report_.weight_warnings) warnings_.add(warning);
      if (report_.verified_shards) {
        field("verified", concat(*report_.verified_shards, " of ",
                                 report_.weights->index.shards.size(), " shards"));
      }
      write_weights(*report_.weights);
    }
    write_functions();
    write_looked_up();
    write_warnings();
  }

 private:
  void section(const Message& title) { sink_("\n" + terminal_.paint(title, Tone::heading) + "\n"); }
  void field(std::string_view name, std::string_view value) {
    sink_(text_line("  ", name, std::string(12 - name.size(), ' '), value));
  }

  // The inputs and outputs of the models, which most readers look for.
  void write_signature() {
    const StatedSignature signature = signature_of(report_, warnings_);
    write_tensors("input", signature.inputs);
    write_tensors("output", signature.outputs);
  }
  // Functions of language models have hundreds of weights, which the module's list of functions
  // contains.
  void write_tensors(std::string_view title, const std::vector<StatedTensor>& tensors) {
    std::size_t listed = 0;
    std::size_t left_out = 0;
    for (const StatedTensor& tensor : tensors) {
      if (!tensor.function.empty() && ++listed > max_listed_tensors) {
        ++left_out;
      } else {
        field(title, tensor_text(tensor));
      }
    }
    if (left_out != 0) field(title, concat("... ", left_out, " more"));
  }
  // "x  float32[1, 64]  opencl", "x  float32[n, 64]  of main". Types of functions, which may be
  // tuples of all weights, are cut to the width of a line.
  static std::string tensor_text(const StatedTensor& tensor) {
    const std::string name = escaped(tensor.name);
    std::string type = tensor.text.empty() ? std::string() : concat("  ", escaped(tensor.text));
    const std::string device = device_text(tensor);
    std::string rest = device.empty() ? std::string() : concat("  ", device);
    if (!tensor.function.empty()) {
      rest += concat("  of ", escaped(tensor.function));
      const std::size_t used = 14 + count_characters(name) + count_characters(rest);
      const std::size_t left = used < max_columns ? max_columns - used : 0;
      if (count_characters(type) > left)
        type = left > 5 ? concat(first_characters(type, left - 3), "...") : std::string();
    }
    return concat(name, type, rest);
  }

  void write_file() {
    const Container& container = report_.container;
    field("format", concat(name_of(report_.kind), ", ", human_size(report_.size)));
    if (!report_.machine.empty()) field("machine", report_.machine);
    if (!report_.soname.empty()) field("soname", escaped(report_.soname));
    if (!report_.machine.empty()) {
      field("needs", report_.needed.empty() ? "no library" : join(report_.needed, ", ", escaped));
    }
    if (!report_.has_modules()) return;
    field("generation", name_of(container.facts.generation));
    field("dialect", name_of(container.facts.dialect));
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

  TableCell server_of(const Entry& entry) const {
    if (entry.is_library()) return {"CPU code", Tone::faint};
    if (const auto id = options_.served_by(entry.type_key)) return {escaped(*id), Tone::good};
    return {"no plugin", Tone::warning};
  }

  TableRow module_row(std::size_t index) const {
    const Entry& entry = report_.container.entries[index];
    const bool unknown = entry.type_key.empty();
    const bool library = entry.is_library();
    TableRow row = {concat(index), unknown ? TableCell("?") : TableCell(escaped(entry.type_key)),
                    library ? std::string() : concat(Hex{entry.at}),
                    library ? std::string() : size_of(entry), server_of(entry)};
    if (options_.verbose) {
      row.emplace_back(has_payload(entry) ? hex_text(report_.digests[index]) : std::string());
    }
    return row;
  }

  // "~38": the boundary is guessed. "<=38": it is unknown, so the bytes include those of the
  // entries after it.
  static std::string size_of(const Entry& entry) {
    if (entry.type_key.empty()) return "?";
    const std::string_view sign = entry.boundary == Boundary::unknown   ? "<="
                                  : entry.boundary == Boundary::guessed ? "~"
                                                                        : "";
    return concat(sign, entry.payload.size());
  }

  void write_modules() {
    section({"modules (", report_.container.entries.size(), ")"});
    std::vector<TableColumn> columns = {{"index", Align::right},
                                        {"type key"},
                                        {"offset", Align::right},
                                        {"bytes", Align::right},
                                        {"served by"}};
    if (options_.verbose) columns.push_back({"sha256"});
    // No width limit: digests are never truncated, so that they can be copied.
    write_table(
        columns, report_.container.entries.size(),
        [this](std::size_t index) { return module_row(index); },
        Terminal{terminal_.present, terminal_.colour, 0}, sink_);
  }

  void write_details() {
    for (std::size_t i = 0; i < report_.container.entries.size(); ++i) {
      Detail details = details_of(report_, i, warnings_);
      const bool is_vm = is_executable(report_.container.entries[i].type_key, details);
      // The text of an executable numbers its constants.
      if (!options_.verbose && !is_vm) drop_fillers(details);
      if (details.children.empty()) continue;
      section({"[", i, "] ", escaped(report_.container.entries[i].type_key)});
      if (is_vm) {
        write_executable(details, report_.code_of(i), sink_);
        continue;
      }
      for (const Detail& child : details.children) write_detail_text(child, 2, sink_);
    }
  }

  static void drop_fillers(Detail& details) {
    const std::vector<bool> is_unused = fillers_of(details);
    std::erase_if(details.children, [](const Detail& child) { return child.name == "fillers"; });
    for (Detail& child : details.children) {
      if (child.name != "params" && child.name != "constants") continue;
      std::vector<Detail> kept;
      for (std::size_t i = 0; i < child.children.size(); ++i) {
        const bool is_vm_filler = i < is_unused.size() && is_unused[i];
        if (!is_vm_filler && !is_filler(child.children[i].name))
          kept.push_back(std::move(child.children[i]));
      }
      child.children = std::move(kept);
    }
  }

  void write_functions() {
    if (report_.functions.empty()) return;
    section({"functions (", report_.functions.size(), ")"});
    for (const std::string_view name : report_.functions) {
      const FunctionDeclaration* const declaration = report_.declaration_of(name);
      if (declaration == nullptr) {
        sink_(text_line("  ", escaped(name)));
      } else {
        write_declaration(*declaration);
      }
    }
    if (options_.declarations_of || report_.declared.empty()) return;
    const auto signatures =
        std::ranges::count(report_.declared, true, &DeclaredFunction::has_metadata);
    const auto docs = std::ranges::count(report_.declared, true, &DeclaredFunction::has_doc);
    sink_(text_line(
        "  --signatures adds ", signatures, signatures == 1 ? " signature" : " signatures", " and ",
        docs, docs == 1 ? " doc string" : " doc strings", ", which code of the file returns"));
  }

  // "add(int, int) -> int", and its doc string indented.
  void write_declaration(const FunctionDeclaration& declaration) {
    const std::string& title =
        declaration.signature.empty() ? declaration.name : declaration.signature;
    std::string line = escaped(title);
    if (!declaration.problem.empty())
      line += concat("  ", terminal_.paint({declaration.problem}, Tone::warning));
    sink_(concat("  ", line, "\n"));
    std::string_view rest = declaration.doc;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view text = rest.substr(0, end);
      if (text.ends_with('\r')) text.remove_suffix(1);
      sink_(concat("      ", escaped_lines(text), "\n"));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  // The functions that the file looks up by name.
  void write_looked_up() {
    const auto required = required_functions(report_, options_.offered_by);
    const bool has_kernels = std::ranges::any_of(report_.container.entries, [](const Entry& entry) {
      return content_of(entry.type_key) == PayloadContent::kernels;
    });
    const bool is_unknown = has_unknown_look_ups(report_);
    if (required.empty() && !(is_unknown && has_kernels)) return;
    section({"looks up (", required.size(), ")"});
    write_unavailable(required, terminal_, sink_);
    write_available(required, sink_);
    if (is_unknown)
      sink_("  not known: other names that the CPU code looks up, as it has no symbols for them\n");
  }

  void write_members() {
    if (report_.members.empty()) return;
    section({"members (", report_.members.size(), ")"});
    write_table(
        {{"bytes", Align::right}, {"name"}}, report_.members.size(),
        [this](std::size_t index) -> TableRow {
          const ArchiveMember& member = report_.members[index];
          return {concat(member.size), escaped(member.name)};
        },
        terminal_, sink_);
  }

  void write_arrays() {
    if (report_.arrays.empty()) return;
    section({"arrays (", report_.arrays.size(), ")"});
    write_table(
        {{"name"}, {"type"}, {"bytes", Align::right}}, report_.arrays.size(),
        [this](std::size_t index) -> TableRow {
          const ArrayReport& array = report_.arrays[index];
          return {array.name.empty() ? std::string("-") : escaped(array.name),
                  type_text(array.dtype, array.shape), concat(array.size)};
        },
        terminal_, sink_);
  }

  void write_weights(const WeightDirectory& weights) {
    const WeightTotals totals = totals_of(weights.index);
    const std::vector<WeightShard>& shards = weights.index.shards;
    field("index", weights.index_name);
    field("weights", concat(totals.records, ", ", human_size(totals.stored), " stored, ",
                            human_size(totals.loaded), " when loaded"));

    section({"shards (", shards.size(), ")"});
    write_table(
        {{"index", Align::right}, {"bytes", Align::right}, {"weights", Align::right}, {"path"}},
        shards.size(),
        [&](std::size_t i) -> TableRow {
          return {concat(i), concat(shards[i].bytes), concat(shards[i].records.size()),
                  escaped(shards[i].path)};
        },
        terminal_, sink_);

    const std::vector<ListedWeight> records = records_of(weights.index);
    section({"weights (", records.size(), ")"});
    write_table(
        {{"name"},
         {"type"},
         {"format"},
         {"bytes", Align::right},
         {"shard", Align::right},
         {"offset", Align::right}},
        records.size(),
        [&](std::size_t i) -> TableRow {
          const WeightRecord& record = *records[i].record;
          return {escaped(record.name),     type_text(record.dtype, record.shape),
                  escaped(record.format),   concat(record.stored_bytes),
                  concat(records[i].shard), concat(record.begin)};
        },
        terminal_, sink_);
  }

  void write_warnings() {
    const std::vector<Message> warnings = warnings_.take();
    if (warnings.empty()) return;
    section("warnings");
    for (const Message& warning : warnings) {
      sink_("  " + terminal_.paint(warning, Tone::warning) + "\n");
    }
  }

  const InspectReport& report_;
  const InspectOptions& options_;
  const Terminal& terminal_;
  const TextSink& sink_;
  WarningList warnings_;
};

}  // namespace

ImportGraph import_graph_of(const InspectReport& report) {
  return {report.container.entries.size(),
          [&report](std::size_t node) {
            const std::string_view key = report.container.entries[node].type_key;
            return key.empty() ? std::string_view("?") : key;
          },
          [&report](std::size_t node) { return report.container.tree.children_of(node); }};
}

void write_inspect_text(const InspectReport& report, const InspectOptions& options,
                        const Terminal& terminal, const TextSink& sink) {
  Writer(report, options, terminal, sink).run();
}

}  // namespace gantry::cli
