// SPDX-License-Identifier: Apache-2.0
#include "core/writing/graph_payload.hpp"

#include "core/formats/array_list.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/dtype_text.hpp>

#include <set>

namespace gantry {
namespace {

Status check_parameter(const Parameter& parameter) {
  if (is_filler(parameter.name)) {
    return invalid("parameter ", quoted(parameter.name), " begins with \"", filler_prefix,
                   "\", which is reserved for fillers");
  }
  if (parameter.dtype.lanes != 1) {
    return invalid("parameter ", quoted(parameter.name), " is ", dtype_text(parameter.dtype),
                   ", an array record supports one lane");
  }
  if (parameter.shape.size() > max_array_dimensions) {
    return invalid("parameter ", quoted(parameter.name), " has ", parameter.shape.size(),
                   " dimensions, maximum is ", max_array_dimensions);
  }
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(parameter.shape, parameter.dtype));
  if (data_bytes(parameter) != bytes) {
    return invalid("parameter ", quoted(parameter.name), " has ", data_bytes(parameter),
                   " bytes of data, its shape and dtype require ", bytes);
  }
  return {};
}

Status check_names(const std::vector<Parameter>& parameters) {
  std::set<std::string_view> taken;
  for (const Parameter& parameter : parameters) {
    if (Status checked = check_parameter(parameter); !checked.ok()) {
      if (parameter.location.empty()) return checked;
      return std::move(checked).error().at("for ", parameter.location);
    }
    if (!taken.insert(parameter.name).second) {
      return invalid("parameter ", quoted(parameter.name), " is defined twice");
    }
  }
  return {};
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
  std::vector<std::string_view> names;
  for (const Parameter& parameter : payload.parameters) names.push_back(parameter.name);
  write_array_names(out, *array_list_form(graph_factory_key), payload.graph_json,
                    names_with_fillers(names));
  for (const Parameter& parameter : payload.parameters) {
    write_filler(out, out.offset(),
                 {record_header_bytes(parameter.shape.size()), data_bytes(parameter)});
    write_record_header(out, parameter.dtype, parameter.shape, data_bytes(parameter));
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
