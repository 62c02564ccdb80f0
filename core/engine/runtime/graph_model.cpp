// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/graph_model.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/input_device.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"
#include "core/formats/aot_metadata.hpp"
#include "core/formats/details.hpp"
#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

// The inputs of an executor of a graph, or of code compiled ahead of time. In one run, each is the
// caller's memory if compiled code accepts it, else a copy in memory of the executor.
class GraphInputs {
 public:
  // in_place [in]   false: tensors are always copied, as recorded runs require
  // returns  codes of the executor
  static Result<GraphInputs> find(std::shared_ptr<RuntimeState> runtime, ModuleNode& executor,
                                  std::span<const ParameterInfo> inputs, bool in_place);

  // Sets an input for one run.
  //
  // value    [in]   a tensor, valid until release(); compact, with the dtype and shape of the input
  // env      [in]   device, stream and task; may be NULL
  // function [in]   whose input it is, for errors
  // copies   [in,out] counts a tensor that is copied
  // returns  also COPY_REQUIRED
  Status set(const FunctionState& function, std::size_t index, const gantry_value& value,
             const gantry_env* env, InputCopies& copies);

  // Ends the use of memory of the callers.
  void release();

 private:
  // Memory of the executor for one input.
  struct Own {
    Value tensor;
    InputDevice device;
  };
  struct Input {
    std::string name;
    // nullopt: tensors are always copied
    std::optional<Own> own;
    bool is_bound = false;
  };

  explicit GraphInputs(std::shared_ptr<RuntimeState> runtime) : runtime_(std::move(runtime)) {}
  static Status assign(FunctionObject& function, const Input& input, const gantry_value& value,
                       const gantry_env* env);

  std::shared_ptr<RuntimeState> runtime_;
  Ref<FunctionObject> set_input_, set_input_zero_copy_;
  std::vector<Input> inputs_;
};

Result<GraphInputs> GraphInputs::find(std::shared_ptr<RuntimeState> runtime, ModuleNode& executor,
                                      std::span<const ParameterInfo> inputs, bool in_place) {
  GraphInputs found(std::move(runtime));
  GANTRY_TRY(found.set_input_, find_function(executor, own_or_imported, "set_input"));
  for (const ParameterInfo& input : inputs)
    found.inputs_.push_back({.name = input.name, .own = {}});
  if (!in_place) return found;
  GANTRY_TRY(found.set_input_zero_copy_,
             find_function(executor, own_or_imported, "set_input_zero_copy"));
  GANTRY_TRY(const Ref<FunctionObject> get_input,
             find_function(executor, own_or_imported, "get_input"));
  for (Input& input : found.inputs_) {
    const gantry_value name = cstring_value(input.name.c_str());
    GANTRY_TRY(Value tensor, call(*get_input, nullptr, {&name, 1}));
    if (tensor.get().kind != GANTRY_TENSOR) return wrong_kind(tensor.get(), "a tensor");
    GANTRY_TRY(const InputDevice device,
               InputDevice::find(*found.runtime_, gantry_value_tensor(&tensor.get())->device));
    input.own = Own{std::move(tensor), device};
  }
  return found;
}

Status GraphInputs::assign(FunctionObject& function, const Input& input, const gantry_value& value,
                           const gantry_env* env) {
  const gantry_value args[] = {cstring_value(input.name.c_str()), value};
  GANTRY_CHECK(call(function, env, args));
  return {};
}

Status GraphInputs::set(const FunctionState& function, std::size_t index, const gantry_value& value,
                        const gantry_env* env, InputCopies& copies) {
  Input& input = inputs_[index];
  const gantry_tensor& tensor = *gantry_value_tensor(&value);
  if (input.own && input.own->device.accepts(tensor, in_place_alignment)) {
    Status bound = assign(*set_input_zero_copy_, input, value, env);
    // An input that is also an output has one memory, that of the executor.
    if (bound.ok() || bound.error().reason != "ZERO_COPY") {
      input.is_bound = bound.ok();
      return bound;
    }
  }
  GANTRY_CHECK(copies.add(function, index, value));
  if (!input.own) return assign(*set_input_, input, value, env);
  // set_input would allocate memory for an input that was bound once.
  return tensor_copy(runtime_->devices, tensor, *gantry_value_tensor(&input.own->tensor.get()),
                     env);
}

void GraphInputs::release() {
  for (Input& input : inputs_) {
    if (!std::exchange(input.is_bound, false)) continue;
    // A failure, out of memory, leaves memory bound that no run reads: each sets all inputs first.
    static_cast<void>(assign(*set_input_zero_copy_, input, input.own->tensor.get(), nullptr).ok());
  }
}

// The name that TVM's exporter uses.
constexpr char default_factory[] = "default";
// Creates an executor that records a run on the device and replays the recording. TVM's name for it
// mentions CUDA; it is used for every device.
constexpr char capture_factory[] = "cuda_graph_create";

const Container& container_of(const ModuleNode& module) { return module.artifact->container; }

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

// Creates an executor with a factory function.
Result<Ref<ModuleNode>> new_executor(const ModelSource& source, std::string_view factory) {
  ModuleNode& module = *source.module;
  auto make = find_function(module, own_or_imported, factory);
  if (!make.ok())
    return std::move(make).failure().at("while making an executor of ", module.type_key);
  auto made = made_for(*source.runtime, **make, source.devices);
  if (!made.ok())
    return std::move(made).failure().at("while making an executor with ", quoted(factory));
  return made;
}

// The functions of a graph's executor.
struct GraphExecutor {
  Ref<ModuleNode> module;
  Ref<FunctionObject> run, get_output, get_num_outputs;

  static Result<GraphExecutor> of(Ref<ModuleNode> made) {
    GraphExecutor executor;
    const std::pair<const char*, Ref<FunctionObject>*> wanted[] = {
        {"run", &executor.run},
        {"get_output", &executor.get_output},
        {"get_num_outputs", &executor.get_num_outputs}};
    for (const auto& [name, function] : wanted) {
      auto found = find_function(*made, own_or_imported, name);
      if (!found.ok())
        return std::move(found).failure().at("while looking for an executor's functions in ",
                                             made->type_key);
      *function = std::move(*found);
    }
    executor.module = std::move(made);
    return executor;
  }

  Result<std::int64_t> output_count() const {
    GANTRY_TRY(const Value count, call(*get_num_outputs, nullptr, {}));
    return integer_in(count.get());
  }
  // The executor's own memory, which the next run writes.
  Result<Value> output(std::int64_t index) const {
    const gantry_value args[] = {int_value(index)};
    GANTRY_TRY(Value made, call(*get_output, nullptr, args));
    if (made.get().kind != GANTRY_TENSOR) return wrong_kind(made.get(), "a tensor");
    return made;
  }
};

// The items of the list or map that `map` contains under `key`.
Result<std::span<const gantry_value>> entries_of(std::span<const gantry_value> map,
                                                 std::string_view function, std::string_view key) {
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    if (value_text(map[i]) == key) return items_in(map[i + 1]);
  }
  return malformed(no_offset, function, " returns no ", quoted(key));
}

// function  "get_input_info" or "get_output_info"
Result<std::vector<ParameterInfo>> tensors_of(ModuleNode& executor, const char* function) {
  GANTRY_TRY(const Ref<FunctionObject> info, find_function(executor, own_or_imported, function));
  GANTRY_TRY(const Value answer, call(*info, nullptr, {}));
  GANTRY_TRY(const auto map, items_in(answer.get()));
  GANTRY_TRY(const auto shapes, entries_of(map, function, "shape"));
  GANTRY_TRY(const auto dtypes, entries_of(map, function, "dtype"));
  if (shapes.size() != dtypes.size()) {
    return malformed(no_offset, function, " returns ", shapes.size() / 2, " shapes and ",
                     dtypes.size() / 2, " types");
  }
  std::vector<ParameterInfo> inputs;
  for (std::size_t i = 0; i + 1 < shapes.size(); i += 2) {
    ParameterInfo input;
    TensorType type;
    GANTRY_TRY(input.name, text_in(shapes[i]));
    GANTRY_TRY(type.shape, extents_in(shapes[i + 1]));
    GANTRY_TRY(const std::string dtype, text_in(dtypes[i + 1]));
    GANTRY_TRY(type.dtype, parse_dtype(dtype));
    input.type_text = type_text(type.dtype, type.shape);
    input.type = std::move(type);
    input.kind = GANTRY_TENSOR;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

class GraphFunction final : public FunctionState {
 public:
  // results  [in]   the names of the outputs; empty: the file does not contain them
  // memory   [in]   of the executor
  // first    [in]   the first device of the model
  GraphFunction(std::string function, std::vector<ParameterInfo> parameters, GraphExecutor executor,
                GraphInputs memory, std::vector<std::string> results, gantry_device_id first)
      : FunctionState(std::move(function), std::move(parameters), executor.module, first),
        executor_(std::move(executor)),
        memory_(std::move(memory)),
        outputs_(std::move(results)) {}

  std::string subject() const override { return "the model"; }

  Result<std::vector<NamedOutput>> outputs() const override {
    GANTRY_TRY(const std::int64_t count, executor_.output_count());
    const auto size = static_cast<std::size_t>(count);
    std::vector<NamedOutput> outputs;
    for (std::size_t i = 0; i < size; ++i) {
      GANTRY_TRY(Value output, executor_.output(static_cast<std::int64_t>(i)));
      outputs.push_back(
          {outputs_.size() == size ? outputs_[i] : output_name(i, size), std::move(output)});
    }
    return outputs;
  }

  Status call(std::span<const gantry_value> values, const gantry_env* env,
              InputCopies& copies) override {
    for (std::size_t i = 0; i < values.size(); ++i)
      GANTRY_CHECK(memory_.set(*this, i, values[i], env, copies));
    GANTRY_CHECK(gantry::call(*executor_.run, env, {}));
    return {};
  }
  void forget() override { memory_.release(); }
  bool reuses_outputs() const override { return true; }

  Result<std::optional<std::vector<ParameterInfo>>> stated_outputs() const override {
    GANTRY_TRY(std::vector<ParameterInfo> stated, tensors_of(*executor_.module, "get_output_info"));
    GANTRY_TRY(const std::vector<NamedOutput> named, outputs());
    // An output that the graph lists twice is stated once.
    if (stated.size() != named.size()) return std::optional<std::vector<ParameterInfo>>();
    for (std::size_t i = 0; i < named.size(); ++i) stated[i].name = named[i].name;
    return std::optional(std::move(stated));
  }

 private:
  GraphExecutor executor_;
  GraphInputs memory_;
  std::vector<std::string> outputs_;
};

class GraphModel final : public ModelState {
 public:
  GraphModel(const ModelSource& source, std::vector<std::string> graphs)
      : ModelState(source.module, std::move(graphs), default_factory), source_(source) {}

  Result<std::shared_ptr<FunctionState>> function(const std::string& name) override {
    const Container& container = container_of(*module);
    const PayloadLayouts& layouts = source_.runtime->layouts;
    const bool capture = source_.capture;
    GANTRY_TRY(Ref<ModuleNode> made, new_executor(source_, capture ? capture_factory : name));
    GANTRY_TRY(GraphExecutor executor, GraphExecutor::of(std::move(made)));
    GANTRY_TRY(std::vector<ParameterInfo> inputs, tensors_of(*executor.module, "get_input_info"));
    std::vector<std::string> names = output_names(container, layouts, name);
    if (is_compiled(container, layouts, name)) {
      GANTRY_TRY(const std::vector<ParameterInfo> outputs,
                 tensors_of(*executor.module, "get_output_info"));
      names.clear();
      for (std::size_t i = 0; i < outputs.size(); ++i)
        names.push_back(compiled_output_name(outputs[i].name, i, outputs.size()));
    }
    GANTRY_TRY(GraphInputs memory,
               GraphInputs::find(source_.runtime, *executor.module, inputs, !capture));
    GANTRY_TRY(const gantry_device_id first,
               find_device(*source_.runtime, source_.devices.front()));
    return std::make_shared<GraphFunction>(name, std::move(inputs), std::move(executor),
                                           std::move(memory), std::move(names), first);
  }

 private:
  const ModelSource source_;
};

}  // namespace

std::string default_graph(const Container& container, const PayloadLayouts& layouts) {
  const std::vector<std::string> names = graph_names(container, layouts);
  const bool has_default =
      names.empty() || std::ranges::find(names, default_factory) != names.end();
  return has_default ? std::string(default_factory) : names.front();
}

Result<std::shared_ptr<ModelState>> graph_model(const ModelSource& source) {
  std::vector<std::string> graphs;
  const auto found = find_function(*source.module, own_or_imported, default_factory);
  if (found.ok()) graphs.emplace_back(default_factory);
  for (std::string& name : graph_names(container_of(*source.module), source.runtime->layouts)) {
    if (name != default_factory) graphs.push_back(std::move(name));
  }
  if (graphs.empty()) return found.error();
  return std::make_shared<GraphModel>(source, std::move(graphs));
}

}  // namespace gantry
