// SPDX-License-Identifier: Apache-2.0
//
// gantry/signature.hpp - the inputs and outputs of a function of a model as the record of the ABI.
//
//     const gantry_signature& table = signature.table();
#pragma once

#include <gantry/model.h>
#include <gantry/parameter_info.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

// A gantry_signature with everything that it refers to.
class Signature {
 public:
  // outputs  [in]   nullopt: not stated
  Signature(std::vector<ParameterInfo> inputs, std::optional<std::vector<ParameterInfo>> outputs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    table_.struct_size = sizeof table_;
    in_.fill(inputs_);
    table_.inputs = in_.addresses.data();
    table_.input_count = static_cast<std::uint32_t>(in_.addresses.size());
    if (!outputs_) return;
    table_.flags = GANTRY_SIGNATURE_OUTPUTS;
    out_.fill(*outputs_);
    table_.outputs = out_.addresses.data();
    table_.output_count = static_cast<std::uint32_t>(out_.addresses.size());
  }
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;

  const gantry_signature& table() const { return table_; }
  const std::vector<ParameterInfo>& inputs() const { return inputs_; }
  // nullopt: not stated
  const std::optional<std::vector<ParameterInfo>>& outputs() const { return outputs_; }

 private:
  struct Records {
    std::vector<gantry_parameter> parameters;
    std::vector<const gantry_parameter*> addresses;
    // of the parameters that have names of extents
    std::vector<std::vector<gantry_bytes>> extents;

    void fill(std::span<const ParameterInfo> infos) {
      // the addresses stay valid
      parameters.reserve(infos.size());
      extents.reserve(infos.size());
      for (const ParameterInfo& info : infos) {
        parameters.push_back(parameter_of(info));
        addresses.push_back(&parameters.back());
        if (info.extents.empty() || !info.type) continue;
        std::vector<gantry_bytes>& names = extents.emplace_back();
        for (const std::string& extent : info.extents) names.push_back(bytes_of(extent));
        parameters.back().extents = names.data();
      }
    }
  };

  static gantry_parameter parameter_of(const ParameterInfo& info) {
    gantry_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    parameter.kind = info.kind;
    parameter.name = bytes_of(info.name);
    parameter.type = bytes_of(info.type_text);
    parameter.ndim = -1;
    parameter.flags = info.flags;
    if (!info.type) return parameter;
    parameter.shape = info.type->shape.data();
    parameter.ndim = static_cast<std::int32_t>(info.type->shape.size());
    parameter.dtype = info.type->dtype;
    return parameter;
  }

  const std::vector<ParameterInfo> inputs_;
  const std::optional<std::vector<ParameterInfo>> outputs_;
  Records in_, out_;
  gantry_signature table_{};
};

// Returns what a record states.
inline ParameterInfo info_of(const gantry_parameter& parameter) {
  ParameterInfo info;
  info.name = view_of(parameter.name);
  info.type_text = view_of(parameter.type);
  info.kind = parameter.kind;
  info.flags = parameter.flags;
  if (parameter.ndim < 0 || parameter.dtype.bits == 0) return info;
  info.type = TensorType{parameter.dtype, {parameter.shape, parameter.shape + parameter.ndim}};
  if (parameter.extents == nullptr) return info;
  for (std::int32_t i = 0; i < parameter.ndim; ++i)
    info.extents.emplace_back(view_of(parameter.extents[i]));
  return info;
}

}  // namespace gantry
