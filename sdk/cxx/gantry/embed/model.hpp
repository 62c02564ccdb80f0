// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/model.hpp - a model: functions with inputs and outputs by name. A graph is a model of
// one function; the code of a virtual machine has any number. The functions of an archive of several
// models are the models.
//
//     auto embed = model.function("embed");
//     auto outputs = embed->run({{"ids", ids}});
#pragma once

#include <gantry/embed_types.h>
#include <gantry/embed/module.hpp>
#include <gantry/embed/stream.hpp>
#include <gantry/embed/task.hpp>
#include <gantry/handle.hpp>
#include <gantry/parameter_info.hpp>
#include <gantry/signature.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
inline namespace embed_api {

using NamedValue = NamedItem<Any>;

// Returns the items of nested tuples in order, named `base`, or `base0`, `base1` and so on if there
// are several.
//
// returns  EXHAUSTED  too many items
inline Result<std::vector<NamedValue>> named_items(const Any& value, std::string_view base) {
  return named_items(value, base, [](const Any& each) -> Result<std::optional<std::vector<Any>>> {
    if (each.value().kind != GANTRY_ARRAY) return std::optional<std::vector<Any>>();
    GANTRY_TRY(std::vector<Any> items, each.items());
    return std::optional(std::move(items));
  });
}

namespace embed_detail {
inline Result<Module> module_of(const Object& model) {
  GANTRY_TRY(ObjectRef made,
             made_object("model_module", [&](gantry_object** out, gantry_status* status) {
               return embed_table().model_module(model.get(), out, status);
             }));
  return Module(std::move(made));
}
}  // namespace embed_detail

struct RunOptions {
  // empty: the run cannot be cancelled
  Task task;
  // of a device of the model; empty: the default streams
  Stream stream;
  // of further devices of the model
  std::vector<Stream> streams = {};
  // wait for the work of the run, see GANTRY_RUN_WAIT
  bool wait = false;
  // copy from and to host memory in the order of the stream, see GANTRY_RUN_IN_STREAM
  bool in_stream = false;
  // set to the bytes of inputs that were copied; may be NULL
  std::uint64_t* copied_bytes = nullptr;
};

class Model;

// A function of a model. Runs have no state; a Session (session.hpp) keeps inputs.
//
// thread   any; see Runtime::model()
class ModelFunction {
 public:
  const std::string& name() const { return name_; }
  // For messages: "the model" for a graph, "function "prefill"" for a virtual machine.
  std::string_view subject() const { return view_of(signature_->subject); }
  // The first device of the model. Tensors on it are used where they are, if their address is aligned.
  gantry_device_id device() const { return signature_->device; }
  // Returns the model that it belongs to.
  Model model() const;
  // See Model::module().
  Result<Module> module() const { return embed_detail::module_of(model_); }
  // Returns the position of the input with a name, or at the position that is its name.
  //
  // returns  INVALID  no such input; suggests a near name (INPUT)
  Result<std::size_t> input(std::string_view name) const {
    std::uint32_t index = 0;
    GANTRY_CHECK(embed_detail::checked("model_input", [&](gantry_status* status) {
      return embed_table().model_input(model_.get(), bytes_of(name_), bytes_of(name), &index,
                                       status);
    }));
    return index;
  }

  // Returns what the file states, without the parameters that a graph contains. Outputs are nullopt
  // if it does not state them.
  Result<std::vector<ParameterInfo>> inputs() const {
    return list(signature_->inputs, signature_->input_count);
  }
  Result<std::optional<std::vector<ParameterInfo>>> outputs() const {
    if ((signature_->flags & GANTRY_SIGNATURE_OUTPUTS) == 0)
      return std::optional<std::vector<ParameterInfo>>();
    return std::optional(list(signature_->outputs, signature_->output_count));
  }

  // Runs the function with a value for each input, and returns its outputs, which no later run
  // writes.
  //
  // inputs   [in]   in any order; tensors on any device, at any address
  // returns  as gantry_embed::run
  using Input = std::pair<std::string_view, Any>;
  Result<std::vector<NamedValue>> run(std::span<const Input> inputs,
                                      const RunOptions& options = {}) const {
    std::vector<gantry_bytes> names;
    std::vector<gantry_value> values;
    for (const auto& [input, value] : inputs) {
      names.push_back(bytes_of(input));
      values.push_back(value.value());
    }
    gantry_run run = new_run(values, options);
    run.input_names = names.data();
    GANTRY_CHECK(start(run, options));
    return named(Any(Value::adopt(run.result)));
  }
  Result<std::vector<NamedValue>> run(
      std::initializer_list<std::pair<std::string_view, Tensor>> inputs,
      const RunOptions& options = {}) const {
    std::vector<Input> all;
    for (const auto& [input, tensor] : inputs) all.emplace_back(input, Any(tensor));
    return run(std::span<const Input>(all), options);
  }

  // Runs the function and fills tensors of the caller with its outputs.
  //
  // inputs   [in]   in the order of inputs(); tensors also by reference (tensor_ref_value())
  // outputs  [in,out] a tensor is filled, none receives the output as a new object
  // returns  the number of outputs
  Result<std::uint32_t> run_into(std::span<const gantry_value> inputs,
                                 std::span<gantry_value> outputs,
                                 const RunOptions& options = {}) const {
    gantry_run run = new_run(inputs, options);
    run.outputs = outputs.data();
    run.output_count = static_cast<std::uint32_t>(outputs.size());
    GANTRY_CHECK(start(run, options));
    return run.output_count;
  }

 private:
  friend class Model;
  friend class Session;
  // signature [in]  of the model
  ModelFunction(Object model, Object runtime, const gantry_signature& signature)
      : model_(std::move(model)),
        runtime_(std::move(runtime)),
        name_(view_of(signature.name)),
        signature_(&signature) {}

  Host host() const { return Host(embed_table().host(runtime_.get())); }
  // Runs the function with inputs in order, and returns an array of its outputs.
  Result<Any> outputs_of(std::span<const gantry_value> inputs, const RunOptions& options) const {
    gantry_run run = new_run(inputs, options);
    GANTRY_CHECK(start(run, options));
    return Any(Value::adopt(run.result));
  }
  static std::vector<ParameterInfo> list(const gantry_parameter* const* parameters,
                                         std::uint32_t count) {
    std::vector<ParameterInfo> all;
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(info_of(*parameters[i]));
    return all;
  }
  gantry_run new_run(std::span<const gantry_value> inputs, const RunOptions& options) const {
    gantry_run run{};
    run.struct_size = sizeof run;
    run.function = bytes_of(name_);
    run.inputs = inputs.data();
    run.input_count = static_cast<std::uint32_t>(inputs.size());
    run.task = options.task.get();
    run.stream = options.stream.get();
    return run;
  }
  Status start(gantry_run& run, const RunOptions& options) const {
    run.flags = (options.wait ? std::uint32_t{GANTRY_RUN_WAIT} : 0u) |
                (options.in_stream ? std::uint32_t{GANTRY_RUN_IN_STREAM} : 0u);
    std::vector<gantry_object*> streams;
    for (const Stream& stream : options.streams) streams.push_back(stream.get());
    run.streams = streams.data();
    run.stream_count = static_cast<std::uint32_t>(streams.size());
    GANTRY_CHECK(embed_detail::checked("run", [&](gantry_status* status) {
      return embed_table().run(model_.get(), &run, status);
    }));
    if (options.copied_bytes != nullptr) *options.copied_bytes = run.copied_bytes;
    return {};
  }
  Result<std::vector<NamedValue>> named(const Any& result) const {
    GANTRY_TRY(std::vector<Any> values, result.items());
    GANTRY_TRY(const auto stated, outputs());
    std::vector<NamedValue> all;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool has_name = stated && stated->size() == values.size();
      std::string name = has_name ? (*stated)[i].name : output_name(i, values.size());
      all.push_back({std::move(name), std::move(values[i])});
    }
    return all;
  }

  Object model_, runtime_;
  std::string name_;
  // valid as long as the model
  const gantry_signature* signature_;
};

class Model : public Object {
 public:
  Model() = default;
  // Precondition: `object` is a model of `runtime`.
  Model(ObjectRef object, Object runtime)
      : Object(std::move(object)), runtime_(std::move(runtime)) {}

  // Returns the names of its functions, sorted.
  Result<std::vector<std::string>> functions() const {
    GANTRY_TRY(Value made, embed_detail::made_value(
                               "model_functions", [&](gantry_value* out, gantry_status* status) {
                                 return embed_table().model_functions(get(), out, status);
                               }));
    return embed_detail::texts_in(Any(std::move(made)));
  }

  // Returns a function.
  //
  // name     [in]   empty: "default" of graphs, "main" of a virtual machine, or the only one whose
  //                 name does not begin with "_"
  // returns  NOT_FOUND  listing the functions (FUNCTION)
  // costs    creates an executor, the first time
  Result<ModelFunction> function(std::string_view name = {}) const {
    const gantry_signature* found = nullptr;
    GANTRY_CHECK(embed_detail::checked("model_signature", [&](gantry_status* status) {
      return embed_table().model_signature(get(), bytes_of(name), &found, status);
    }));
    return ModelFunction(*this, runtime_, *found);
  }

  // Returns a new virtual machine on the devices of the model, whose functions take arguments by
  // position; of other models, the module that was given.
  //
  // thread   the functions of a virtual machine: one at a time for each machine
  Result<Module> module() const { return embed_detail::module_of(*this); }

 private:
  Object runtime_;
};

inline Model ModelFunction::model() const { return Model(model_.ref(), runtime_); }

}  // namespace embed_api
}  // namespace gantry
