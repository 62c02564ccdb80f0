// SPDX-License-Identifier: Apache-2.0
//
// Parameters from a separate parameter list (a `.params` file).
#include "functions.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/param_names.hpp>

namespace gantry::graph {

// All records are read before the first one is copied: a truncated list changes nothing.
Result<Value> load_params(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view bytes, call.text(0));
  ByteReader in = ByteReader::of_text(bytes);
  GANTRY_TRY(const std::vector<std::string_view> names, read_param_names(in));
  std::vector<Parameter> parameters;
  for (const std::string_view name : names) {
    GANTRY_TRY(ArrayRecord array, read_array_record(in, concat("parameter ", quoted(name))));
    parameters.push_back({name, std::move(array)});
    GANTRY_CHECK(check_parameter(executor.graph(), parameters.back()));
  }
  for (const Parameter& parameter : parameters) {
    const auto input = executor.graph().input_by_name.find(parameter.name);
    if (input == executor.graph().input_by_name.end()) continue;
    const std::uint32_t entry = executor.graph().input_entry(input->second);
    GANTRY_CHECK(executor.memory().copy_in(entry, view_of_parameter(parameter), call.env));
    executor.is_parameter[input->second] = true;
  }
  return Value();
}

Result<Value> share_params(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(gantry_object* const lender, call.object(0, GANTRY_MODULE));
  GANTRY_TRY(const std::string_view bytes, call.text(1));
  ByteReader in = ByteReader::of_text(bytes);
  GANTRY_TRY(const std::vector<std::string_view> names, read_param_names(in));

  const Host& host = executor.host();
  Result<ObjectRef> get = host.find(lender, GANTRY_FIND_SELF, "get_input");
  if (!get.ok())
    return call.refuse("argument 0 is a module without get_input, expected an executor");
  for (const std::string_view name : names) {
    const auto input = executor.graph().input_by_name.find(name);
    if (input == executor.graph().input_by_name.end()) continue;
    const std::uint32_t entry = executor.graph().input_entry(input->second);
    const gantry_bytes text = bytes_of(name);
    const gantry_value key = bytes_ref_value(&text);
    GANTRY_TRY(const Value theirs, host.call(get->get(), call.env, {&key, 1}));
    if (theirs.kind() != GANTRY_TENSOR) {
      return call.refuse("get_input of argument 0 returns ", kind_text(theirs.kind()),
                         ", expected a tensor");
    }
    Status fits = check_binding(executor, entry, *theirs.tensor(), {Owner::input, input->second});
    if (!fits.ok()) return std::move(fits).error().at("while sharing parameter ", quoted(name));
    GANTRY_CHECK(executor.memory().bind(entry, *theirs.tensor(), theirs.object(), {Owner::lender}));
    executor.is_parameter[input->second] = true;
  }
  return Value();
}

}  // namespace gantry::graph
