// SPDX-License-Identifier: Apache-2.0
#include "core/base/escape.hpp"
#include "core/base/json_document.hpp"
#include "core/formats/inspect/report.hpp"
#include "core/formats/inspect/required_functions.hpp"
#include "core/formats/inspect/signatures.hpp"
#include "core/formats/inspect/weights.hpp"

#include "core/base/text.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/function_advice.hpp>

#include <ranges>
#include <set>

namespace gantry {
namespace {

// Writes an integer of 64 bits as a number, any other number as text.
void write_number(std::string_view text, JsonWriter& json) {
  if (const auto value = parse_number<std::int64_t>(text)) return json.value(*value);
  if (const auto value = parse_number<std::uint64_t>(text)) return json.value(*value);
  json.value(json_text(text));
}

// Makes keys unique. Names come from the file and may repeat; the second "name" becomes "name#2".
class UniqueKeys {
 public:
  std::string of(std::string_view name) {
    std::string key = json_text(name);
    for (int i = 2; !taken_.insert(key).second; ++i) key = concat(json_text(name), "#", i);
    return key;
  }

 private:
  std::set<std::string> taken_;
};

// The recursion is bounded by the nesting of payload layouts (core/formats/limits.hpp), which does
// not depend on the file.
void write_detail(const Detail& detail, JsonWriter& json) {
  switch (detail.kind) {
    case Detail::Kind::text:
      return json.value(json_text(detail.value));
    case Detail::Kind::number:
    case Detail::Kind::size:
      return write_number(detail.value, json);
    case Detail::Kind::list:
    case Detail::Kind::record:
      break;
  }
  const bool named = detail.kind == Detail::Kind::record ||
                     (!detail.children.empty() && !detail.children.front().name.empty());
  if (named) {
    json.begin_object();
    UniqueKeys keys;
    for (const Detail& child : detail.children) {
      json.key(keys.of(child.name));
      write_detail(child, json);
    }
  } else {
    json.begin_list();
    for (const Detail& child : detail.children) write_detail(child, json);
  }
  json.end();
}

void write_module(const InspectReport& report, std::size_t index, const InspectOptions& options,
                  JsonWriter& json, WarningList& warnings) {
  const Entry& entry = report.container.entries[index];
  const bool library = entry.is_library();
  json.begin_object();
  json.field("index", index);
  json.field("type_key", text_or_null(entry.type_key));
  json.field("offset", library ? std::nullopt : std::optional(entry.at));
  json.field("file_offset",
             library ? std::nullopt : std::optional(report.container.file_offset + entry.at));
  json.field("size", entry.payload.size());
  json.field("extent", name_of(entry.boundary));
  json.field("sha256",
             has_payload(entry) ? std::optional(hex_text(report.digests[index])) : std::nullopt);
  json.begin_list("imports");
  for (const std::uint64_t import : report.container.tree.children_of(index)) json.value(import);
  json.end();
  const auto server = library ? std::nullopt : options.served_by(entry.type_key);
  json.field("served_by", server ? std::optional(json_text(*server)) : std::nullopt);
  json.key("details");
  const Detail details = details_of(report, index, warnings);
  if (details.children.empty()) {
    json.begin_object();
    json.end();
  } else {
    write_detail(details, json);
  }
  if (const auto* code = report.code_of(index)) write_texts("code", *code, json);
  json.end();
}

void write_member(const ArchiveMember& member, JsonWriter& json) {
  json.field("name", json_text(member.name));
  json.field("size", member.size);
}

void write_array(const ArrayReport& array, JsonWriter& json) {
  json.field("name", json_text(array.name));
  json.field("dtype", dtype_text(array.dtype));
  json.field("shape", array.shape);
  json.field("size", array.size);
}

// An extent that is known when the function runs is a text.
void write_shape(const StatedTensor& tensor, JsonWriter& json) {
  if (!tensor.type) return json.field("shape", nullptr);
  json.begin_list("shape");
  for (std::size_t i = 0; i < tensor.type->shape.size(); ++i) {
    const bool is_text = i < tensor.extents.size() && !tensor.extents[i].empty();
    is_text ? json.value(json_text(tensor.extents[i])) : json.value(tensor.type->shape[i]);
  }
  json.end();
}

void write_tensor(const StatedTensor& tensor, JsonWriter& json) {
  json.field("module", tensor.module);
  json.field("function", text_or_null(tensor.function));
  json.field("name", json_text(tensor.name));
  json.field("dtype", tensor.type ? std::optional(dtype_text(tensor.type->dtype)) : std::nullopt);
  write_shape(tensor, json);
  json.field("type", text_or_null(tensor.text));
  json.field("device", text_or_null(device_text(tensor)));
}

void write_declaration(const FunctionDeclaration& declaration, JsonWriter& json) {
  json.field("name", json_text(declaration.name));
  json.field("signature", text_or_null(declaration.signature));
  json.field("doc", text_or_null(declaration.doc));
  json.field("error", text_or_null(declaration.problem));
}

// "looked_up": names with what has them. Those that nothing has come first, with advice.
void write_required(const InspectReport& report, const InspectOptions& options, JsonWriter& json) {
  const auto required = required_functions(report, options.offered_by);
  json.field("looks_up_unknown_names", has_unknown_look_ups(report));
  write_objects("looked_up", required, json, write_required_function);
}

void write_file(const InspectReport& report, JsonWriter& json) {
  const Container& container = report.container;
  json.field("size", report.size);
  json.field("format", name_of(report.kind));
  json.field("generation", name_of(container.facts.generation));
  json.field("dialect", name_of(container.facts.dialect));
  json.field("machine", text_or_null(report.machine));
  json.field("soname", text_or_null(report.soname));
  write_texts("needed", report.needed, json);
  json.begin_object("symbols");
  json.field("blob", text_or_null(container.blob_symbol));
  json.field("context", text_or_null(container.context_symbol));
  json.field("prefix", text_or_null(container.prefix));
  json.end();
  json.field("entry", report.entry ? std::optional(json_text(*report.entry)) : std::nullopt);
  if (container.bytes.empty()) return json.field("container", nullptr);
  json.begin_object("container");
  json.field("file_offset", container.file_offset);
  json.field("size", container.bytes.size());
  json.end();
}

}  // namespace

void write_required_function(const RequiredFunction& function, JsonWriter& json) {
  json.field("name", json_text(function.name));
  json.field("served_by", text_or_null(function.served_by));
  json.field("advice", function.served_by.empty()
                           ? std::optional(json_text(advice_text(function.name)))
                           : std::nullopt);
}

void write_inspect_json(const InspectReport& report, const InspectOptions& options,
                        const JsonWriter::Sink& sink) {
  JsonWriter json(sink, json_style);
  json.begin_object();
  json.field("file", json_text(report.file));
  WarningList warnings;
  const StatedSignature signature = signature_of(report, warnings);
  write_objects("inputs", signature.inputs, json, write_tensor);
  write_objects("outputs", signature.outputs, json, write_tensor);
  write_file(report, json);

  for (const Message& warning : report.container.warnings) warnings.add(warning);
  json.begin_list("modules");
  for (std::size_t i = 0; i < report.container.entries.size(); ++i) {
    write_module(report, i, options, json, warnings);
  }
  json.end();
  write_texts("functions", report.functions, json);
  if (options.declarations_of)
    write_objects("signatures", std::views::values(report.declarations), json, write_declaration);
  write_required(report, options, json);
  if (report.kind == FileKind::archive || report.kind == FileKind::tar ||
      report.kind == FileKind::model_library) {
    write_objects("members", report.members, json, write_member);
  }
  if (report.kind == FileKind::parameters || report.kind == FileKind::npy ||
      report.kind == FileKind::npz) {
    write_objects("arrays", report.arrays, json, write_array);
  }
  if (report.weights) write_weights_json(*report.weights, json);
  if (report.verified_shards) json.field("verified_shards", *report.verified_shards);
  for (const Message& warning : report.weight_warnings) warnings.add(warning);
  write_texts("warnings", warnings.take(), json);
  json.end();
}

}  // namespace gantry
