// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/payload_file.hpp"

#include "core/base/mapped_file.hpp"
#include "core/base/text_file.hpp"
#include "core/elf/elf_file.hpp"
#include "core/format/container.hpp"
#include "core/manifest/declared_layouts.hpp"
#include "core/yaml/yaml_record.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <cstring>
#include <filesystem>

namespace gantry::kit {
namespace {

constexpr YamlLimits kLimits{.bytes = std::size_t{4} << 20, .depth = 16};
constexpr std::size_t kMaxElements = std::size_t{1} << 20;

constexpr std::string_view kTags[] = {"unknown", "no", "yes"};
constexpr std::string_view kNumberings[] = {"unknown", "packed", "ffi_0_21", "ffi"};

constexpr YamlField kTensorFields[] = {
    {.name = "dtype", .type = YamlType::text, .required = true},
    {.name = "shape",
     .type = YamlType::list,
     .required = true,
     .items = YamlType::integer,
     .min = 0,
     .max = kMaxElements,
     .longest = 16},
    {.name = "values",
     .type = YamlType::list,
     .required = true,
     .items = YamlType::number,
     .longest = kMaxElements},
    {.name = "after", .type = YamlType::list, .items = YamlType::number, .longest = kMaxElements},
};
// Exactly one of them.
constexpr YamlField kValueFields[] = {
    {.name = "none", .type = YamlType::boolean},
    {.name = "int", .type = YamlType::integer},
    {.name = "bool", .type = YamlType::boolean},
    {.name = "float", .type = YamlType::number},
    {.name = "text", .type = YamlType::text},
    {.name = "tensor", .type = YamlType::record, .fields = kTensorFields},
    {.name = "buffer", .type = YamlType::record, .fields = kTensorFields},
};
constexpr YamlField kCallFields[] = {
    {.name = "function", .type = YamlType::text, .required = true},
    {.name = "arguments",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 256,
     .fields = kValueFields},
    {.name = "result", .type = YamlType::record, .fields = kValueFields},
};
constexpr YamlField kPayloadFields[] = {
    {.name = "key", .type = YamlType::text, .required = true},
    {.name = "hex", .type = YamlType::text},
    {.name = "file", .type = YamlType::text},
    {.name = "artifact", .type = YamlType::text},
    {.name = "argument_tags", .type = YamlType::choice, .choices = kTags},
    {.name = "numbering", .type = YamlType::choice, .choices = kNumberings},
    {.name = "tolerance", .type = YamlType::number},
    {.name = "refused", .type = YamlType::list, .items = YamlType::text, .longest = 16},
    {.name = "calls",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 1024,
     .fields = kCallFields},
};
constexpr YamlField kFileFields[] = {
    {.name = "schema", .type = YamlType::quoted_text, .required = true},
    {.name = "payloads",
     .type = YamlType::list,
     .required = true,
     .items = YamlType::record,
     .longest = 256,
     .fields = kPayloadFields},
};

std::uint32_t index_in(std::span<const std::string_view> choices, const std::string& text) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == text) return static_cast<std::uint32_t>(i);
  }
  return 0;
}

template <class Number>
void append_as(double value, std::vector<std::uint8_t>& bytes) {
  const auto number = static_cast<Number>(value);
  const auto* from = reinterpret_cast<const std::uint8_t*>(&number);
  bytes.insert(bytes.end(), from, from + sizeof number);
}

using Append = void (*)(double, std::vector<std::uint8_t>&);

// NULL: the type has no literals.
Append append_of(gantry_dtype dtype) {
  if (dtype.lanes != 1) return nullptr;
  const auto pick = [&](Append b8, Append b16, Append b32, Append b64) -> Append {
    return dtype.bits == 8    ? b8
           : dtype.bits == 16 ? b16
           : dtype.bits == 32 ? b32
           : dtype.bits == 64 ? b64
                              : nullptr;
  };
  switch (static_cast<TypeCode>(dtype.code)) {
    case TypeCode::int_:
      return pick(append_as<std::int8_t>, append_as<std::int16_t>, append_as<std::int32_t>,
                  append_as<std::int64_t>);
    case TypeCode::uint:
      return pick(append_as<std::uint8_t>, append_as<std::uint16_t>, append_as<std::uint32_t>,
                  append_as<std::uint64_t>);
    case TypeCode::float_:
      return pick(nullptr, nullptr, append_as<float>, append_as<double>);
    default:
      return nullptr;
  }
}

Result<std::vector<std::uint8_t>> read_elements(const YamlRecord& record, std::string_view key,
                                                Append append, std::uint64_t count) {
  const YamlValue& list = *record.find(key);
  if (list.items.size() != count)
    return record.error(key, "has ", list.items.size(), " numbers, the shape has ", count);
  std::vector<std::uint8_t> bytes;
  for (const YamlValue& item : list.items) {
    double number = 0;
    yaml_number(item, number);
    append(number, bytes);
  }
  return bytes;
}

Result<GoldenTensor> read_tensor(const YamlRecord& record) {
  GoldenTensor tensor;
  const auto dtype = parse_dtype(record.text("dtype"));
  if (!dtype.ok()) return record.error("dtype", dtype.error().message);
  tensor.dtype = *dtype;
  const Append append = append_of(*dtype);
  if (append == nullptr) {
    return record.error("dtype", "is ", record.text("dtype"),
                        ", expected int8 to int64, uint8 to uint64, float32 or float64");
  }
  std::uint64_t count = 1;
  for (const YamlValue& item : record.find("shape")->items) {
    std::int64_t extent = 0;
    yaml_integer(item, extent);
    tensor.shape.push_back(extent);
    count *= static_cast<std::uint64_t>(extent);
    if (count > kMaxElements)
      return record.error("shape", "has more than ", kMaxElements, " elements");
  }
  GANTRY_TRY(tensor.bytes, read_elements(record, "values", append, count));
  if (record.has("after")) {
    GANTRY_TRY(tensor.after, read_elements(record, "after", append, count));
  }
  return tensor;
}

Result<GoldenValue> read_value(const YamlRecord& record) {
  const YamlValue& map = *record.value();
  using Kind = GoldenValue::Kind;
  constexpr std::pair<std::string_view, Kind> kinds[] = {
      {"none", Kind::none},     {"int", Kind::integer}, {"bool", Kind::boolean},
      {"float", Kind::number},  {"text", Kind::text},   {"tensor", Kind::tensor},
      {"buffer", Kind::buffer},
  };
  if (map.entries.size() != 1) {
    return record.error(map.entries.empty() ? "int" : map.entries.back().key, "the value has ",
                        map.entries.size(), " keys, expected one of ",
                        join(kinds, ", ", [](const auto& kind) { return kind.first; }));
  }
  const std::string& key = map.entries.front().key;
  GoldenValue value;
  for (const auto& [name, kind] : kinds) {
    if (name == key) value.kind = kind;
  }
  value.integer = value.kind == Kind::integer   ? record.integer(key)
                  : value.kind == Kind::boolean ? std::int64_t{record.boolean(key)}
                                                : 0;
  if (value.kind == Kind::number) value.number = record.number(key);
  if (value.kind == Kind::text) value.text = record.text(key);
  if (value.kind == Kind::tensor || value.kind == Kind::buffer) {
    GANTRY_TRY(value.tensor, read_tensor(record.record(key)));
  }
  return value;
}

Result<GoldenCall> read_call(const YamlRecord& record) {
  GoldenCall call;
  call.function = record.text("function");
  for (const YamlRecord& argument : record.records("arguments")) {
    GANTRY_TRY(GoldenValue value, read_value(argument));
    call.arguments.push_back(std::move(value));
  }
  if (record.has("result")) {
    GANTRY_TRY(call.result, read_value(record.record("result")));
  }
  return call;
}

Result<std::vector<std::uint8_t>> bytes_of_hex(const YamlRecord& record) {
  std::vector<std::uint8_t> bytes;
  int half = -1;
  for (const char c : record.text("hex")) {
    if (c == ' ' || c == '\n') continue;
    constexpr std::string_view digits = "0123456789abcdef";
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos)
      return record.error("hex", "contains ", quoted(std::string_view(&c, 1)),
                          ", expected 0-9, a-f and blanks");
    if (half < 0) {
      half = static_cast<int>(digit);
    } else {
      bytes.push_back(static_cast<std::uint8_t>(half * 16 + static_cast<int>(digit)));
      half = -1;
    }
  }
  if (half >= 0) return record.error("hex", "has an odd number of digits");
  return bytes;
}

// The entry of the payload's key in an artifact, with the facts about its exporter.
Status read_from_artifact(const YamlRecord& record, const std::string& path,
                          const Manifest& manifest, Payload& payload) {
  PayloadLayouts layouts = PayloadLayouts::built_in();
  Candidate candidate;
  candidate.manifest = manifest;
  add_declared_layouts({&candidate, 1}, {}, layouts);
  GANTRY_TRY(const auto file, MappedFile::open(path));
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(file));
  GANTRY_TRY(const Container container, read_container(elf, layouts));
  for (const Entry& entry : container.entries) {
    if (entry.type_key != payload.key) continue;
    payload.bytes.assign(entry.payload.begin(), entry.payload.end());
    payload.argument_tags = static_cast<std::uint32_t>(container.facts.argument_tags);
    payload.numbering = static_cast<std::uint32_t>(container.facts.numbering);
    return {};
  }
  return record.error("artifact", path, " has no module of type key ", quoted(payload.key));
}

Result<Payload> read_payload(const YamlRecord& record, const std::filesystem::path& directory,
                             const Manifest& manifest) {
  Payload payload;
  payload.key = record.text("key");
  if (manifest.key_for(payload.key) == nullptr) {
    return record.error("key", "is ", quoted(payload.key), ", ", manifest.file, " has ",
                        join(manifest.keys, ", ", [](const ManifestKey& key) { return key.key; }));
  }
  payload.argument_tags = index_in(kTags, record.text("argument_tags", "unknown"));
  payload.numbering = index_in(kNumberings, record.text("numbering", "unknown"));
  payload.tolerance = record.number("tolerance", 1e-5);
  if (record.has("hex") + record.has("file") + record.has("artifact") != 1)
    return record.error("key",
                        "the payload has none or several of hex, file and artifact, expected one");
  const auto path = [&](std::string_view key) { return (directory / record.text(key)).string(); };
  if (record.has("hex")) {
    GANTRY_TRY(payload.bytes, bytes_of_hex(record));
  } else if (record.has("file")) {
    GANTRY_TRY(const auto file, MappedFile::open(path("file")));
    payload.bytes.assign(file->bytes().begin(), file->bytes().end());
  } else {
    GANTRY_CHECK(read_from_artifact(record, path("artifact"), manifest, payload));
  }
  payload.refused = record.texts("refused");
  if (record.has("refused") && payload.refused.empty())
    return record.error("refused", "is empty, expected words of the error");
  for (const YamlRecord& call : record.records("calls")) {
    GANTRY_TRY(GoldenCall read, read_call(call));
    payload.calls.push_back(std::move(read));
  }
  return payload;
}

}  // namespace

Result<std::vector<Payload>> read_payload_file(const std::string& path, const Manifest& manifest) {
  GANTRY_TRY(const std::string text, read_text_file(path, kLimits.bytes));
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, path, kLimits));
  GANTRY_TRY(const YamlRecord root, read_record(document, kFileFields));
  if (root.text("schema") != "1.0")
    return root.error("schema", "is ", quoted(root.text("schema")), ", expected \"1.0\"");
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::vector<Payload> payloads;
  for (const YamlRecord& record : root.records("payloads")) {
    GANTRY_TRY(Payload payload, read_payload(record, directory, manifest));
    payload.name = concat("payload ", payloads.size(), " of ", path);
    payloads.push_back(std::move(payload));
  }
  return payloads;
}

}  // namespace gantry::kit
