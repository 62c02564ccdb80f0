// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/graph_model.hpp"

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/graph_inputs.hpp"
#include "core/formats/aot_metadata.hpp"
#include "core/formats/details.hpp"
#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

// The name that TVM's exporter uses.
constexpr char default_factory[] = "default";
// Creates an executor that records a run on the device and replays the recording. TVM's name for it
// mentions CUDA; it is used for every device.
constexpr char capture_factory[] = "cuda_graph_create";

const Container& container_of(const Module& module) {
  return reinterpret_cast<const ModuleNode*>(module.get())->artifact->container;
}

// The name of a graph or of a model that is compiled ahead of time, which is also that of its
// factory; empty if the module is neither.
std::string graph_name(const Entry& entry, const Container& container,
                       const PayloadLayouts& layouts) {
  const PayloadDetails details = describe_payload(entry, container.facts, layouts);
  const Detail* const name = details.root.find("module_name");
  return name != nullptr && name->kind == Detail::Kind::text ? name->value : std::string();
}

// The names of all graphs in the file, without duplicates.
std::vector<std::string> graph_names(const Container& container, const PayloadLayouts& layouts) {
  std::vector<std::string> names;
  for (const Entry& entry : container.entries) {
    std::string name = graph_name(entry, container, layouts);
    if (!name.empty() && std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

// The names of a graph's outputs; empty if the file does not contain them.
std::vector<std::string> output_names(const Container& container, const PayloadLayouts& layouts,
                                      std::string_view graph) {
  std::vector<const Entry*> graphs;
  for (const Entry& entry : container.entries) {
    if (entry.type_key == graph_factory_key || entry.type_key == old_graph_factory_key)
      graphs.push_back(&entry);
  }
  for (const Entry* const entry : graphs) {
    if (graphs.size() != 1 && graph_name(*entry, container, layouts) != graph) continue;
    const auto signature = read_signature(*entry);
    if (!signature.ok() || !*signature) continue;
    std::vector<std::string> names;
    for (const SignatureTensor& output : (*signature)->outputs) names.push_back(output.name);
    return names;
  }
  return {};
}

// True if the function of this name creates executors of ahead-of-time code, whose library names the
// outputs.
bool is_compiled(const Container& container, const PayloadLayouts& layouts,
                 std::string_view function) {
  return std::ranges::any_of(container.entries, [&](const Entry& entry) {
    return entry.type_key == aot_factory_key && graph_name(entry, container, layouts) == function;
  });
}

// The items of the list or map that `map` contains under `key`.
Result<std::vector<Any>> entries_of(const std::vector<Any>& map, std::string_view function,
                                    std::string_view key) {
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    const auto name = map[i].text();
    if (name.ok() && name.value() == key) return map[i + 1].items();
  }
  return malformed(no_offset, function, " returns no ", quoted(key));
}

// function  "get_input_info" or "get_output_info"
Result<std::vector<InputInfo>> tensors_of(const Executor& executor, const char* function) {
  GANTRY_TRY(const Function info, executor.module().function(function));
  GANTRY_TRY(const Any answer, info());
  GANTRY_TRY(const std::vector<Any> map, answer.items());
  GANTRY_TRY(const std::vector<Any> shapes, entries_of(map, function, "shape"));
  GANTRY_TRY(const std::vector<Any> dtypes, entries_of(map, function, "dtype"));
  if (shapes.size() != dtypes.size()) {
    return malformed(no_offset, function, " returns ", shapes.size() / 2, " shapes and ",
                     dtypes.size() / 2, " types");
  }
  std::vector<InputInfo> inputs;
  for (std::size_t i = 0; i + 1 < shapes.size(); i += 2) {
    InputInfo input;
    TensorType type;
    GANTRY_TRY(input.name, shapes[i].text());
    GANTRY_TRY(type.shape, shapes[i + 1].shape());
    GANTRY_TRY(const std::string dtype, dtypes[i + 1].text());
    GANTRY_TRY(type.dtype, parse_dtype(dtype));
    input.type_text = type_text(type.dtype, type.shape);
    input.type = std::move(type);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

class GraphFunction final : public FunctionState {
 public:
  // results  [in]   the names of the outputs; empty: the file does not contain them
  // memory, run  [in]  of the executor
  GraphFunction(std::string function, std::vector<InputInfo> parameters, Executor executor,
                GraphInputs memory, Function run, std::vector<std::string> results)
      : FunctionState(std::move(function), std::move(parameters), executor.module()),
        executor_(std::move(executor)),
        memory_(std::move(memory)),
        run_(std::move(run)),
        outputs_(std::move(results)) {}

  std::string subject() const override { return "the model"; }
  Status set_tensor(std::size_t index, const Tensor& tensor) override {
    return executor_.set_input(inputs[index].name, tensor);
  }
  Status set_value(std::size_t index, const Any& value) override {
    GANTRY_TRY(const Tensor tensor, value.tensor());
    return set_tensor(index, tensor);
  }
  Status run() override { return executor_.run(); }

  Result<std::vector<NamedValue>> outputs() const override {
    GANTRY_TRY(const std::int64_t count, executor_.output_count());
    const auto size = static_cast<std::size_t>(count);
    std::vector<NamedValue> outputs;
    for (std::size_t i = 0; i < size; ++i) {
      GANTRY_TRY(const Tensor output, executor_.output(static_cast<std::int64_t>(i)));
      outputs.push_back(
          {outputs_.size() == size ? outputs_[i] : output_name(i, size), Any::share(output)});
    }
    return outputs;
  }

  Status call(std::span<const gantry_value> values, const gantry_env* env,
              InputCopies& copies) override {
    for (std::size_t i = 0; i < values.size(); ++i)
      GANTRY_CHECK(memory_.set(*this, i, values[i], env, copies));
    GANTRY_CHECK(run_.call({}, env));
    return {};
  }
  void forget() override { memory_.release(); }
  bool reuses_outputs() const override { return true; }

  Result<std::optional<std::vector<InputInfo>>> stated_outputs() const override {
    GANTRY_TRY(std::vector<InputInfo> stated, tensors_of(executor_, "get_output_info"));
    GANTRY_TRY(const std::vector<NamedValue> named, outputs());
    // An output that the graph lists twice is stated once.
    if (stated.size() != named.size()) return std::optional<std::vector<InputInfo>>();
    for (std::size_t i = 0; i < named.size(); ++i) stated[i].name = named[i].name;
    return std::optional(std::move(stated));
  }

 private:
  Executor executor_;
  GraphInputs memory_;
  Function run_;
  std::vector<std::string> outputs_;
};

class GraphModel final : public ModelState {
 public:
  GraphModel(Runtime runtime, const Module& root, std::vector<std::string> graphs,
             const PayloadLayouts& layouts, std::span<const std::string> devices, bool capture)
      : ModelState(root, std::move(graphs), default_factory),
        runtime_(std::move(runtime)),
        layouts_(layouts),
        devices_(devices.begin(), devices.end()),
        capture_(capture) {}

  Result<std::shared_ptr<FunctionState>> function(const std::string& name) override {
    GANTRY_TRY(Executor executor,
               runtime_.executor(module, devices_, capture_ ? capture_factory : name));
    GANTRY_TRY(std::vector<InputInfo> inputs, tensors_of(executor, "get_input_info"));
    std::vector<std::string> names = output_names(container_of(module), layouts_, name);
    if (is_compiled(container_of(module), layouts_, name)) {
      GANTRY_TRY(const std::vector<InputInfo> outputs, tensors_of(executor, "get_output_info"));
      names.clear();
      for (std::size_t i = 0; i < outputs.size(); ++i)
        names.push_back(compiled_output_name(outputs[i].name, i, outputs.size()));
    }
    GANTRY_TRY(GraphInputs memory, GraphInputs::find(runtime_, executor, inputs, !capture_));
    GANTRY_TRY(Function run, executor.module().function("run"));
    return std::make_shared<GraphFunction>(name, std::move(inputs), std::move(executor),
                                           std::move(memory), std::move(run), std::move(names));
  }

 private:
  Runtime runtime_;
  const PayloadLayouts& layouts_;
  std::vector<std::string> devices_;
  bool capture_;
};

}  // namespace

std::string default_graph(const Container& container, const PayloadLayouts& layouts) {
  const std::vector<std::string> names = graph_names(container, layouts);
  const bool has_default =
      names.empty() || std::ranges::find(names, default_factory) != names.end();
  return has_default ? std::string(default_factory) : names.front();
}

Result<std::shared_ptr<ModelState>> graph_model(Runtime runtime, const Module& module,
                                                const PayloadLayouts& layouts,
                                                std::span<const std::string> devices,
                                                const ModelOptions& options) {
  std::vector<std::string> graphs;
  const auto found = module.function(default_factory);
  if (found.ok()) graphs.emplace_back(default_factory);
  for (std::string& name : graph_names(container_of(module), layouts)) {
    if (name != default_factory) graphs.push_back(std::move(name));
  }
  if (graphs.empty()) return found.error();
  return std::make_shared<GraphModel>(std::move(runtime), module, std::move(graphs), layouts,
                                      devices, options.capture);
}

}  // namespace gantry
