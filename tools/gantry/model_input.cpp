// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_input.hpp"

#include "tools/gantry/common/arg_spec.hpp"
#include "tools/gantry/cpu_array.hpp"

#include "core/base/text.hpp"
#include "core/engine/runtime/model_state.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>

namespace gantry::cli {
namespace {

using Members = std::vector<std::pair<std::string, Tensor>>;

// The member of a file for one input: the only one, or the one that `input` or its name selects.
Result<Tensor> select(Members members, const InputSpec& input) {
  const std::string& wanted = input.member.empty() ? input.name : input.member;
  if (members.size() == 1 && input.member.empty()) return std::move(members.front().second);
  for (auto& [name, tensor] : members) {
    if (name == wanted) return std::move(tensor);
  }
  const std::string names =
      join(members, ", ", [](const auto& member) { return quoted(member.first); });
  return not_found("input ", quoted(input.name), ": member ", quoted(wanted), " of ",
                   quoted(input.path), " not found; members: ", names.empty() ? "none" : names);
}

// The arrays of one --input by input name.
Result<Members> read_arrays(const Runtime& runtime, const InputSpec& input, const Session& model) {
  const std::span<const ParameterInfo> infos = model.inputs();
  GANTRY_TRY(Members members, runtime.read_tensors(input.path));
  if (!input.name.empty()) {
    GANTRY_TRY(Tensor tensor, select(std::move(members), input));
    members.clear();
    members.emplace_back(input.name, std::move(tensor));
  } else if (members.size() == 1 && infos.size() == 1) {
    members.front().first = infos.front().name;
  } else if (members.size() == 1 && members.front().first.empty()) {
    return invalid("the file ", quoted(input.path), " names no input, ", model.subject(), " has ",
                   infos.size());
  }
  return members;
}

// Returns the tensor with the type of its input, if the file has the type in which NumPy stores it.
Result<Tensor> typed(const Runtime& runtime, Tensor tensor, const ParameterInfo& info) {
  const bool is_stored = info.type && !same_dtype(tensor.dtype(), info.type->dtype) &&
                         same_dtype(tensor.dtype(), numpy_dtype(info.type->dtype));
  if (!is_stored) return tensor;
  GANTRY_TRY(Tensor made, runtime.tensor(tensor.shape(), info.type->dtype));
  std::memcpy(made.data(), tensor.data(), tensor.byte_size());
  return made;
}

// Compares a file's type with that of the input, if it is known; an extent of -1 matches any
// extent.
Status check_type(const ParameterInfo& info, const Tensor& tensor, bool each) {
  if (!info.accepts_tensor()) {
    return invalid("input ", quoted(info.name), " is ", info.type_text,
                   ", files contain tensors; --arg passes values by position");
  }
  const auto shape = tensor.shape();
  if (!info.type) {
    if (!each || !shape.empty()) return {};
    return invalid("input ", quoted(info.name), " is ", type_text(tensor.dtype(), shape),
                   ", expected an additional first axis for --each");
  }
  const bool has_first_axis = !each || !shape.empty();
  if (has_first_axis && has_type(tensor.dtype(), shape.subspan(each ? 1 : 0), *info.type))
    return {};
  return wrong_type(
      concat("input ", quoted(info.name)), tensor.dtype(), shape, info.type->dtype,
      each ? concat(info.type_text, " with an additional first axis for --each") : info.type_text);
}

bool has_value(const InputValues& values, std::size_t input) {
  return !values.empty() && !values[input].is_none();
}

Result<std::vector<ModelInput>> match(const Runtime& runtime, std::span<const std::string> files,
                                      const Session& model, bool each, const InputValues& values) {
  const std::span<const ParameterInfo> infos = model.inputs();
  std::vector<ModelInput> inputs(infos.size());
  for (const std::string& text : files) {
    GANTRY_TRY(const InputSpec spec, parse_input(text));
    // before the file is read
    if (!spec.name.empty()) GANTRY_CHECK(model.input(spec.name));
    GANTRY_TRY(Members members, read_arrays(runtime, spec, model));
    for (auto& [name, tensor] : members) {
      GANTRY_TRY(const std::size_t index, model.input(name));
      ModelInput& input = inputs[index];
      if (input.tensor)
        return invalid("input ", quoted(name), " of ", model.subject(), " is given twice");
      GANTRY_TRY(tensor, typed(runtime, std::move(tensor), infos[index]));
      GANTRY_CHECK(check_type(infos[index], tensor, each));
      input = {index, infos[index].name, std::move(tensor)};
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].tensor && !has_value(values, i))
      return invalid("input ", quoted(infos[i].name), " of ", model.subject(), " is missing");
  }
  std::erase_if(inputs, [](const ModelInput& input) { return !input.tensor; });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (each && inputs[i].tensor.shape()[0] != inputs[0].tensor.shape()[0]) {
      return invalid("input ", quoted(inputs[i].name), " has a first axis of ",
                     inputs[i].tensor.shape()[0], ", input ", quoted(inputs[0].name), " of ",
                     inputs[0].tensor.shape()[0]);
    }
  }
  if (each && inputs.empty()) {
    return invalid(model.subject(), infos.empty() ? " has no input" : " has no input from a file",
                   ", --each requires one");
  }
  if (each && inputs[0].tensor.shape()[0] == 0) {
    return invalid("input ", quoted(inputs[0].name), " has a first axis of 0, minimum is 1");
  }
  return inputs;
}

}  // namespace

Result<std::vector<ModelInput>> read_inputs(const Runtime& runtime, const Session& model,
                                            std::span<const std::string> files, bool each,
                                            const InputValues& values) {
  auto inputs = match(runtime, files, model, each, values);
  if (!inputs.ok() && inputs.error().code == Code::invalid) {
    return std::move(inputs).error().at("inputs of ", model.subject(), ": ",
                                        inputs_text(model.inputs()));
  }
  return inputs;
}

Result<std::vector<ModelInput>> zero_inputs(const Runtime& runtime, const Session& model,
                                            const InputValues& values) {
  std::vector<ModelInput> inputs;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const ParameterInfo& info = model.inputs()[i];
    if (has_value(values, i)) continue;
    if (!info.type ||
        std::ranges::any_of(info.type->shape, [](auto extent) { return extent < 0; })) {
      return invalid("input ", quoted(info.name), " is ",
                     info.type_text.empty() ? "of unknown type" : info.type_text,
                     ", for which no zeros can be made; --input sets it")
          .at("inputs of ", model.subject(), ": ", inputs_text(model.inputs()));
    }
    GANTRY_TRY(Tensor tensor, zeros(runtime, info.type->shape, info.type->dtype));
    inputs.push_back({i, info.name, std::move(tensor)});
  }
  return inputs;
}

Status set_values(Session& model, const InputValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_none()) GANTRY_CHECK(model.bind(i, values[i]));
  }
  return {};
}

Status set_inputs(Session& model, std::span<const ModelInput> inputs,
                  std::optional<std::int64_t> row) {
  for (const ModelInput& input : inputs) {
    Tensor tensor = input.tensor;
    if (row) {
      GANTRY_TRY(tensor, input.tensor.row(*row));
    }
    GANTRY_CHECK(model.set_input(input.index, tensor));
  }
  return {};
}

}  // namespace gantry::cli
