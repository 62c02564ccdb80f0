// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/graph_model.hpp"

#include "tools/gantry/model_factory.hpp"

#include "core/format/model_signature.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

namespace gantry::cli {
namespace {

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
    TensorType type;
    GANTRY_TRY(input.name, shapes[i].text());
    GANTRY_TRY(type.shape, shape_in(shapes[i + 1]));
    GANTRY_TRY(const std::string dtype, dtypes[i + 1].text());
    GANTRY_TRY(type.dtype, parse_dtype(dtype));
    type.text = type_text(type.dtype, type.shape);
    input.type_text = type.text;
    input.type = std::move(type);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

class GraphModel final : public Model {
 public:
  GraphModel(Executor executor, std::vector<InputInfo> inputs, std::vector<std::string> names)
      : executor_(std::move(executor)), inputs_(std::move(inputs)), names_(std::move(names)) {}

  std::string_view name() const override { return {}; }
  std::span<const InputInfo> inputs() const override { return inputs_; }
  Status set_input(std::size_t input, const Tensor& tensor) override {
    return executor_.set_input(inputs_[input].name, tensor);
  }
  Status set_value(std::size_t input, const Any& value) override {
    GANTRY_TRY(const Tensor tensor, value.tensor());
    return set_input(input, tensor);
  }
  Status run() override { return executor_.run(); }

  Result<std::vector<NamedValue>> outputs() const override {
    GANTRY_TRY(const std::int64_t count, executor_.output_count());
    const auto size = static_cast<std::size_t>(count);
    std::vector<NamedValue> outputs;
    for (std::int64_t k = 0; k < count; ++k) {
      GANTRY_TRY(const Tensor output, executor_.output(k));
      const auto index = static_cast<std::size_t>(k);
      outputs.push_back(
          {names_.size() == size ? names_[index] : output_name(index, size), Any::share(output)});
    }
    return outputs;
  }

 private:
  Executor executor_;
  std::vector<InputInfo> inputs_;
  // empty: the file does not contain them
  std::vector<std::string> names_;
};

}  // namespace

Result<std::unique_ptr<Model>> make_graph_model(Runtime& runtime, const Module& module,
                                                const ModelOptions& options) {
  GANTRY_TRY(const std::string factory, factory_name(runtime, module));
  GANTRY_TRY(Executor executor,
             make_executor(runtime, module, options.devices, factory, options.capture));
  GANTRY_TRY(std::vector<InputInfo> inputs, inputs_of(executor));
  return std::make_unique<GraphModel>(std::move(executor), std::move(inputs),
                                      output_names(runtime, module, factory));
}

}  // namespace gantry::cli
