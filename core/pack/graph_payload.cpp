// SPDX-License-Identifier: Apache-2.0
#include "core/pack/graph_payload.hpp"

#include <gantry/array_record.hpp>
#include <gantry/dtype_text.hpp>

#include <set>

namespace gantry {
namespace {

constexpr std::int32_t cpu_device_type = 1;

Status check_parameter(const Parameter& parameter) {
  if (parameter.name.starts_with(filler_prefix)) {
    return invalid("parameter ", quoted(parameter.name), " begins as the names of fillers do, \"",
                   filler_prefix, "\"");
  }
  if (parameter.dtype.lanes != 1) {
    return invalid("parameter ", quoted(parameter.name), " is ", dtype_text(parameter.dtype),
                   ", an array record has room for one lane");
  }
  if (parameter.shape.size() > most_array_dimensions) {
    return invalid("parameter ", quoted(parameter.name), " has ", parameter.shape.size(),
                   " dimensions, most is ", most_array_dimensions);
  }
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(parameter.shape, parameter.dtype));
  if (data_bytes(parameter) != bytes) {
    return invalid("parameter ", quoted(parameter.name), " has ", data_bytes(parameter),
                   " bytes of data, its shape and dtype make ", bytes);
  }
  return {};
}

Status check_names(const std::vector<Parameter>& parameters) {
  std::set<std::string_view> taken;
  for (const Parameter& parameter : parameters) {
    GANTRY_CHECK(check_parameter(parameter));
    if (!taken.insert(parameter.name).second) {
      return invalid("parameter ", quoted(parameter.name), " is given twice");
    }
  }
  return {};
}

// Everything of a record but its data.
void write_record_header(gantry_dtype dtype, const std::vector<std::int64_t>& shape,
                         std::uint64_t bytes, Pieces& out) {
  out.Write<std::uint64_t>(array_record_magic);
  out.Write<std::uint64_t>(0);  // reserved
  out.Write<std::int32_t>(cpu_device_type);
  out.Write<std::int32_t>(0);  // device id
  out.Write<std::int32_t>(static_cast<std::int32_t>(shape.size()));
  out.Write<std::uint8_t>(dtype.code);
  out.Write<std::uint8_t>(dtype.bits);
  out.Write<std::uint16_t>(dtype.lanes);
  out.WriteArray(shape.data(), shape.size());
  out.Write<std::int64_t>(static_cast<std::int64_t>(bytes));
}

constexpr std::uint64_t header_bytes(std::size_t rank) { return 40 + 8 * rank; }

// A record of 1 to 128 bytes, after which a record of `rank` has its data on the boundary.
void write_filler(std::size_t rank, Pieces& out) {
  const std::uint64_t data_at = out.offset() + header_bytes(1) + header_bytes(rank);
  const std::uint64_t size = parameter_alignment - data_at % parameter_alignment;
  constexpr gantry_dtype uint8{static_cast<std::uint8_t>(TypeCode::uint), 8, 1};
  write_record_header(uint8, {static_cast<std::int64_t>(size)}, size, out);
  out.Write(std::string(size, '\0').data(), size);
}

}  // namespace

std::uint64_t data_bytes(const Parameter& parameter) {
  return std::visit(
      [](const auto& data) -> std::uint64_t {
        if constexpr (requires { data.size(); }) {
          return data.size();
        } else {
          return data.size;
        }
      },
      parameter.data);
}

Status write_graph_payload(const GraphPayload& payload, Pieces& out) {
  GANTRY_CHECK(check_names(payload.parameters));
  // The names come before all records, so that which records need a filler cannot depend on where they lie: all do.
  std::vector<std::string> names;
  for (const Parameter& parameter : payload.parameters) {
    names.push_back(concat(filler_prefix, names.size() / 2));
    names.push_back(parameter.name);
  }
  out.write_text(payload.graph_json);
  out.Write<std::uint64_t>(names.size());
  out.Write(names);
  for (const Parameter& parameter : payload.parameters) {
    write_filler(parameter.shape.size(), out);
    write_record_header(parameter.dtype, parameter.shape, data_bytes(parameter), out);
    std::visit(
        [&](const auto& data) {
          if constexpr (requires { data.data(); }) {
            out.Write(data.data(), data.size());
          } else {
            out.append(data);
          }
        },
        parameter.data);
  }
  out.write_text(payload.module_name);
  return {};
}

}  // namespace gantry
