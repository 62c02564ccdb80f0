// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/golden_value.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>

#include <string_view>
#include <utility>

namespace gantry::kit {
namespace {

constexpr std::size_t kMaxElements = std::size_t{1} << 20;

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

template <class Number>
void append_as(double value, std::vector<std::uint8_t>& bytes) {
  const auto number = static_cast<Number>(value);
  const auto* from = reinterpret_cast<const std::uint8_t*>(&number);
  bytes.insert(bytes.end(), from, from + sizeof number);
}

using Append = void (*)(double, std::vector<std::uint8_t>&);

// NULL: the type has no literals.
Append append_of(gantry_dtype dtype) {
  if (dtype.lanes != 1 || (dtype.bits < 8 && dtype.bits != 4)) return nullptr;
  const auto pick = [&](Append b8, Append b16, Append b32, Append b64) -> Append {
    return dtype.bits <= 8    ? b8
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

// Elements of a byte each to those of less, the first one in the lowest bits.
std::vector<std::uint8_t> packed(const std::vector<std::uint8_t>& bytes, gantry_dtype dtype) {
  std::vector<std::uint8_t> all(gantry_element_bytes(dtype, bytes.size()));
  const int mask = (1 << dtype.bits) - 1;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t at = i * dtype.bits;
    all[at / 8] = static_cast<std::uint8_t>(all[at / 8] | (bytes[i] & mask) << at % 8);
  }
  return all;
}

Result<std::vector<std::uint8_t>> read_elements(const YamlRecord& record, std::string_view key,
                                                gantry_dtype dtype, std::uint64_t count) {
  const Append append = append_of(dtype);
  const YamlValue& list = *record.find(key);
  if (list.items.size() != count)
    return record.error(key, "has ", list.items.size(), " numbers, the shape has ", count);
  std::vector<std::uint8_t> bytes;
  for (const YamlValue& item : list.items) {
    double number = 0;
    yaml_number(item, number);
    append(number, bytes);
  }
  if (dtype.bits < 8) return packed(bytes, dtype);
  return bytes;
}

Result<GoldenTensor> read_tensor(const YamlRecord& record) {
  GoldenTensor tensor;
  const auto dtype = parse_dtype(record.text("dtype"));
  if (!dtype.ok()) return record.error("dtype", dtype.error().message);
  tensor.dtype = *dtype;
  if (append_of(*dtype) == nullptr) {
    return record.error("dtype", "is ", record.text("dtype"),
                        ", expected int4 to int64, uint4 to uint64, float32 or float64");
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
  GANTRY_TRY(tensor.bytes, read_elements(record, "values", *dtype, count));
  if (record.has("after")) {
    GANTRY_TRY(tensor.after, read_elements(record, "after", *dtype, count));
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

}  // namespace

constinit const YamlField golden_call_fields[3] = {
    {.name = "function", .type = YamlType::text, .required = true},
    {.name = "arguments",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 256,
     .fields = kValueFields},
    {.name = "result", .type = YamlType::record, .fields = kValueFields},
};

constinit const YamlField golden_run_fields[3] = {
    {.name = "function", .type = YamlType::text},
    {.name = "inputs",
     .type = YamlType::map,
     .items = YamlType::record,
     .longest = 256,
     .fields = kValueFields},
    {.name = "outputs",
     .type = YamlType::list,
     .required = true,
     .items = YamlType::record,
     .longest = 256,
     .fields = kValueFields},
};

Result<GoldenRun> read_golden_run(const YamlDocument& document, const YamlRecord& record) {
  const auto read = [](const YamlRecord& value) -> Result<GoldenValue> {
    GANTRY_TRY(GoldenValue golden, read_value(value));
    if (golden.kind != GoldenValue::Kind::buffer && !golden.tensor.after) return golden;
    return value.error("tensor", "is a buffer or has `after`, which models do not take");
  };
  GoldenRun run;
  run.function = record.text("function");
  for (const YamlEntry& entry : record.entries("inputs")) {
    const std::string path = yaml_path(record.path_of("inputs"), entry.key);
    GANTRY_TRY(GoldenValue value, read(YamlRecord(document, entry.value, path)));
    run.inputs.emplace_back(entry.key, std::move(value));
  }
  for (const YamlRecord& output : record.records("outputs")) {
    GANTRY_TRY(GoldenValue value, read(output));
    run.outputs.push_back(std::move(value));
  }
  return run;
}

Result<GoldenCall> read_golden_call(const YamlRecord& record) {
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

}  // namespace gantry::kit
