// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/signatures.hpp"

#include <gantry/value.hpp>

#include <utility>

namespace gantry {
namespace {

gantry_parameter parameter_of(const ParameterInfo& info) {
  gantry_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.kind = info.kind;
  parameter.name = bytes_of(info.name);
  parameter.type = bytes_of(info.type_text);
  parameter.ndim = -1;
  if (info.type) {
    parameter.shape = info.type->shape.data();
    parameter.ndim = static_cast<std::int32_t>(info.type->shape.size());
    parameter.dtype = info.type->dtype;
  }
  return parameter;
}

}  // namespace

Signature::Signature(const FunctionState& function,
                     std::optional<std::vector<ParameterInfo>> outputs)
    : name_(function.name),
      subject_(function.subject()),
      inputs_(function.inputs),
      outputs_(std::move(outputs)) {
  table_.struct_size = sizeof table_;
  table_.name = bytes_of(name_);
  table_.subject = bytes_of(subject_);
  table_.device = function.device;
  add(inputs_, input_parameters_, input_addresses_);
  table_.inputs = input_addresses_.data();
  table_.input_count = static_cast<std::uint32_t>(input_addresses_.size());
  if (!outputs_) return;
  table_.flags = GANTRY_SIGNATURE_OUTPUTS;
  add(*outputs_, output_parameters_, output_addresses_);
  table_.outputs = output_addresses_.data();
  table_.output_count = static_cast<std::uint32_t>(output_addresses_.size());
}

void Signature::add(std::span<const ParameterInfo> infos, std::vector<gantry_parameter>& parameters,
                    std::vector<const gantry_parameter*>& addresses) {
  // the addresses stay valid
  parameters.reserve(infos.size());
  for (const ParameterInfo& info : infos) {
    parameters.push_back(parameter_of(info));
    addresses.push_back(&parameters.back());
  }
}

const Signature* Signatures::find(std::string_view function) const {
  const std::lock_guard lock(mutex_);
  const auto known = all_.find(function);
  return known != all_.end() ? known->second.get() : nullptr;
}

Result<const Signature*> Signatures::add(std::string_view name, const FunctionState& function) {
  GANTRY_TRY(auto outputs, function.stated_outputs());
  auto made = std::make_unique<const Signature>(function, std::move(outputs));
  const std::lock_guard lock(mutex_);
  return all_.emplace(name, std::move(made)).first->second.get();
}

}  // namespace gantry
