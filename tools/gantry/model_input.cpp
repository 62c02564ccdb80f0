// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_input.hpp"

#include "tools/gantry/common/arg_spec.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/host_array.hpp"

#include "core/base/near_name.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

struct InputInfo {
  std::string name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
};

// The items of the list or map that `map` contains under `key`.
Result<std::vector<Any>> entries_of(const std::vector<Any>& map, std::string_view key) {
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    const auto name = map[i].text();
    if (name.ok() && name.value() == key) return map[i + 1].items();
  }
  return malformed(no_offset, "get_input_info returns no ", quoted(key));
}

Result<std::vector<std::int64_t>> shape_in(const Any& value) {
  if (const auto shape = value_shape(value.value())) {
    return std::vector<std::int64_t>(shape->begin(), shape->end());
  }
  return malformed(no_offset, "get_input_info returns a shape of kind ", value.value().kind,
                   ", expected ", static_cast<int>(GANTRY_SHAPE));
}

Result<std::vector<InputInfo>> inputs_of(const Executor& executor) {
  GANTRY_TRY(const Function info, executor.module().function("get_input_info"));
  GANTRY_TRY(const Any answer, info());
  GANTRY_TRY(const std::vector<Any> map, answer.items());
  GANTRY_TRY(const std::vector<Any> shapes, entries_of(map, "shape"));
  GANTRY_TRY(const std::vector<Any> dtypes, entries_of(map, "dtype"));
  if (shapes.size() != dtypes.size()) {
    return malformed(no_offset, "get_input_info returns ", shapes.size() / 2, " shapes and ",
                     dtypes.size() / 2, " types");
  }
  std::vector<InputInfo> inputs;
  for (std::size_t i = 0; i + 1 < shapes.size(); i += 2) {
    InputInfo input;
    GANTRY_TRY(input.name, shapes[i].text());
    GANTRY_TRY(input.shape, shape_in(shapes[i + 1]));
    GANTRY_TRY(const std::string dtype, dtypes[i + 1].text());
    GANTRY_TRY(input.dtype, parse_dtype(dtype));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// "x float32[1, 64], y int32[4]", or "none".
std::string describe(std::span<const InputInfo> inputs) {
  if (inputs.empty()) return "none";
  return join(inputs, ", ", [](const InputInfo& input) {
    return concat(escaped(input.name), " ", type_text(input.dtype, input.shape));
  });
}

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
  return not_found("input ", quoted(input.name), ": ", quoted(input.path), " has no member ",
                   quoted(wanted), "; members: ", names.empty() ? "none" : names);
}

// The arrays of one --input by input name.
Result<Members> read_arrays(Runtime& runtime, const InputSpec& input,
                            std::span<const InputInfo> infos) {
  GANTRY_TRY(Members members, runtime.read_tensors(input.path));
  if (!input.name.empty()) {
    GANTRY_TRY(Tensor tensor, select(std::move(members), input));
    members.clear();
    members.emplace_back(input.name, std::move(tensor));
  } else if (members.size() == 1 && infos.size() == 1) {
    members.front().first = infos.front().name;
  } else if (members.size() == 1 && members.front().first.empty()) {
    return invalid("the file ", quoted(input.path), " names no input, the model has ",
                   infos.size());
  }
  return members;
}

// Compares a file's type with that of the input; an extent of -1 matches any extent.
Status check_type(const InputInfo& info, const Tensor& tensor, bool each) {
  const auto shape = tensor.shape();
  const bool same_rank = shape.size() == info.shape.size() + (each ? 1 : 0);
  const bool fits = same_rank && same_dtype(tensor.dtype(), info.dtype) &&
                    std::equal(info.shape.begin(), info.shape.end(), shape.begin() + (each ? 1 : 0),
                               [](std::int64_t extent, std::int64_t found) {
                                 return extent == found || extent < 0;
                               });
  if (fits) return {};
  return invalid("input ", quoted(info.name), " is ", type_text(tensor.dtype(), shape),
                 ", expected ", type_text(info.dtype, info.shape),
                 each ? " with an additional first axis for --each" : "");
}

Result<const InputInfo*> find(std::span<const InputInfo> infos, const std::string& name) {
  const auto at = std::find_if(infos.begin(), infos.end(),
                               [&](const InputInfo& info) { return info.name == name; });
  if (at == infos.end()) {
    std::vector<std::string_view> names;
    for (const InputInfo& info : infos) names.push_back(info.name);
    return invalid("the model has no input ", quoted(name), did_you_mean(name, names));
  }
  return &*at;
}

Result<std::vector<ModelInput>> match(Runtime& runtime, std::span<const std::string> files,
                                      std::span<const InputInfo> infos, bool each) {
  std::vector<ModelInput> inputs(infos.size());
  for (const std::string& text : files) {
    GANTRY_TRY(const InputSpec spec, parse_input(text));
    GANTRY_TRY(Members members, read_arrays(runtime, spec, infos));
    for (auto& [name, tensor] : members) {
      GANTRY_TRY(const InputInfo* info, find(infos, name));
      ModelInput& input = inputs[static_cast<std::size_t>(info - infos.data())];
      if (input.tensor) return invalid("input ", quoted(name), " is given twice");
      GANTRY_CHECK(check_type(*info, tensor, each));
      input = {name, std::move(tensor)};
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].tensor) return invalid("input ", quoted(infos[i].name), " is not given");
    if (each && inputs[i].tensor.shape()[0] != inputs[0].tensor.shape()[0]) {
      return invalid("input ", quoted(inputs[i].name), " has a first axis of ",
                     inputs[i].tensor.shape()[0], ", input ", quoted(inputs[0].name), " of ",
                     inputs[0].tensor.shape()[0]);
    }
  }
  if (each && inputs.empty()) return invalid("the model has no input, --each requires one");
  if (each && inputs[0].tensor.shape()[0] == 0) {
    return invalid("input ", quoted(inputs[0].name), " has a first axis of 0, minimum is 1");
  }
  return inputs;
}

}  // namespace

Result<std::vector<ModelInput>> read_inputs(Runtime& runtime, const Executor& executor,
                                            std::span<const std::string> files, bool each) {
  GANTRY_TRY(const std::vector<InputInfo> infos, inputs_of(executor));
  auto inputs = match(runtime, files, infos, each);
  if (!inputs.ok() && inputs.error().code == Code::invalid) {
    return std::move(inputs).error().at("inputs of the model: ", describe(infos));
  }
  return inputs;
}

Result<std::vector<ModelInput>> zero_inputs(Runtime& runtime, const Executor& executor) {
  GANTRY_TRY(const std::vector<InputInfo> infos, inputs_of(executor));
  std::vector<ModelInput> inputs;
  for (const InputInfo& info : infos) {
    GANTRY_TRY(Tensor tensor, zeros(runtime, info.shape, info.dtype));
    inputs.push_back({info.name, std::move(tensor)});
  }
  return inputs;
}

Status set_inputs(Executor& executor, std::span<const ModelInput> inputs,
                  std::optional<std::int64_t> row) {
  for (const ModelInput& input : inputs) {
    Tensor tensor = input.tensor;
    if (row) {
      GANTRY_TRY(tensor, input.tensor.row(*row));
    }
    GANTRY_CHECK(executor.set_input(input.name, tensor));
  }
  return {};
}

}  // namespace gantry::cli
