// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/session.hpp - runs of a function whose inputs stay set: weights and caches are passed
// once.
//
//     GANTRY_TRY(gantry::Session session, gantry::Session::create(function));
//     GANTRY_CHECK(session.bind("cache", cache));
//     for (const gantry::Tensor& x : images) {
//       GANTRY_CHECK(session.set_input("x", x));
//       GANTRY_CHECK(session.run());
//       GANTRY_TRY(const gantry::Any y, session.output("y"));
//     }
#pragma once

#include <gantry/embed/model.hpp>
#include <gantry/handle.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
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

// A function of a model, with values for its inputs. Sessions of one function share no values.
//
// thread   one at a time
class Session {
 public:
  static Result<Session> create(ModelFunction function) {
    GANTRY_TRY(std::vector<ParameterInfo> inputs, function.inputs());
    return Session(std::move(function), std::move(inputs));
  }

  const std::string& name() const { return function_.name(); }
  // For messages: "the model" for a graph, "function "prefill"" for a virtual machine.
  std::string_view subject() const { return function_.subject(); }
  const ModelFunction& function() const { return function_; }
  // Returns the inputs in order, without the parameters that a graph contains.
  std::span<const ParameterInfo> inputs() const { return inputs_; }
  // Returns the index of the input with a name, or at the position that is its name.
  //
  // returns  INVALID  no such input; suggests a near name (INPUT)
  Result<std::size_t> input(std::string_view name) const { return function_.input(name); }

  // Copies the content of a tensor to the function's device. The input keeps the copy for all further
  // runs.
  //
  // index    [in]   in inputs()
  // tensor   [in]   compact, on any device
  // returns  INVALID  no such input (INPUT), an empty handle (ARGUMENT_KIND), or another dtype or
  //                   shape than the file states (ARGUMENT_DTYPE, ARGUMENT_SHAPE)
  //          others   of the devices
  Status set_input(std::size_t index, const Tensor& tensor) {
    GANTRY_CHECK(check_index(index));
    if (!tensor) {
      return invalid("input ", index, " of ", subject(), ": the tensor handle is empty")
          .with_reason("ARGUMENT_KIND");
    }
    GANTRY_CHECK(check_type(index, *tensor.dlpack()));
    GANTRY_TRY(Value copy,
               function_.host().tensor_copied(*tensor.dlpack(), function_.device(), nullptr));
    set(index, Any(std::move(copy)));
    return {};
  }
  Status set_input(std::string_view name, const Tensor& tensor) {
    GANTRY_TRY(const std::size_t index, input(name));
    return set_input(index, tensor);
  }

  // Passes a value as it is: tensors, tuples, shapes, numbers, texts, functions and objects such as
  // caches. A run copies a tensor that the function cannot use where it is.
  //
  // value    [in]   owns what it refers to; compiled code changes tensors that it writes
  // returns  INVALID  no such input (INPUT), no tensor where the file states one (VALUE_KIND), or a
  //                   tensor of another dtype or shape (ARGUMENT_DTYPE, ARGUMENT_SHAPE)
  Status bind(std::size_t index, const Any& value) {
    GANTRY_CHECK(check_index(index));
    if (inputs_[index].type) {
      GANTRY_TRY(const Tensor tensor, value.tensor());
      GANTRY_CHECK(check_type(index, *tensor.dlpack()));
    }
    set(index, value);
    return {};
  }
  Status bind(std::string_view name, const Any& value) {
    GANTRY_TRY(const std::size_t index, input(name));
    return bind(index, value);
  }

  // Runs the function. On devices other than the CPU the work may still be queued. After a failure
  // there are no outputs.
  //
  // returns  INVALID  an input is not set (INPUT); else as gantry_embed::run
  Status run(const RunOptions& options = {}) {
    outputs_ = Any();
    GANTRY_CHECK(check_inputs());
    GANTRY_TRY(outputs_, function_.outputs_of(values_, options));
    return {};
  }
  // Runs the function and fills tensors of the caller with its outputs, see
  // ModelFunction::run_into(). The session has no outputs then.
  Result<std::uint32_t> run_into(std::span<gantry_value> outputs, const RunOptions& options = {}) {
    outputs_ = Any();
    GANTRY_CHECK(check_inputs());
    return function_.run_into(values_, outputs, options);
  }
  // Sets these inputs, runs, and returns the outputs.
  using Input = std::pair<std::string, Tensor>;
  Result<std::vector<NamedValue>> run(std::span<const Input> inputs,
                                      const RunOptions& options = {}) {
    for (const auto& [name, tensor] : inputs) GANTRY_CHECK(set_input(name, tensor));
    GANTRY_CHECK(run(options));
    return outputs();
  }
  Result<std::vector<NamedValue>> run(std::initializer_list<Input> inputs,
                                      const RunOptions& options = {}) {
    return run(std::span(inputs.begin(), inputs.size()), options);
  }

  // Returns the outputs of the last run in order, those of tuples one by one: with the names that
  // the file contains, otherwise "output", or "output0", "output1" and so on. No later run writes
  // them.
  //
  // returns  INVALID  there was no run, or it failed
  Result<std::vector<NamedValue>> outputs() const {
    if (outputs_.is_none()) return invalid(subject(), " has no outputs before a run that succeeds");
    return function_.named(outputs_);
  }
  // returns  also NOT_FOUND, listing the outputs
  Result<Any> output(std::string_view name) const {
    GANTRY_TRY(std::vector<NamedValue> values, outputs());
    for (NamedValue& each : values) {
      if (each.name == name) return std::move(each.value);
    }
    return not_found("output ", quoted(name), " of ", subject(), " not found; outputs: ",
                     join(values, ", ", [](const NamedValue& each) { return quoted(each.name); }));
  }

 private:
  Session(ModelFunction function, std::vector<ParameterInfo> inputs)
      : function_(std::move(function)),
        inputs_(std::move(inputs)),
        kept_(inputs_.size()),
        is_set_(inputs_.size()),
        values_(inputs_.size()) {}

  Status check_inputs() const {
    const auto missing = std::ranges::find(is_set_, false);
    if (missing == is_set_.end()) return {};
    const auto index = static_cast<std::size_t>(missing - is_set_.begin());
    return invalid("input ", quoted(inputs_[index].name), " of ", subject(), " is missing")
        .with_reason("INPUT");
  }
  Status check_index(std::size_t index) const {
    if (index < inputs_.size()) return {};
    return invalid(subject(), " has no input ", index, ", input count is ", inputs_.size())
        .with_reason("INPUT");
  }
  Status check_type(std::size_t index, const gantry_tensor& tensor) const {
    const ParameterInfo& input = inputs_[index];
    if (!input.type || has_type(tensor.dtype, shape_of(tensor), *input.type)) return {};
    return wrong_type(concat("input ", quoted(input.name), " of ", subject()), tensor.dtype,
                      shape_of(tensor), input.type->dtype, input.type_text);
  }
  void set(std::size_t index, Any value) {
    kept_[index] = std::move(value);
    values_[index] = kept_[index].value();
    is_set_[index] = true;
  }

  ModelFunction function_;
  std::vector<ParameterInfo> inputs_;
  std::vector<Any> kept_;
  std::vector<bool> is_set_;
  // of kept_, for a run
  std::vector<gantry_value> values_;
  // an array; none before a run that succeeds
  Any outputs_;
};

}  // namespace embed_api
}  // namespace gantry
