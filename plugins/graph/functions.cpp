// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <gantry/abi_boundary.hpp>

namespace gantry::graph {
namespace {

using Body = Result<Value> (*)(Executor&, const Call&);

// One static table for each function, so that looking one up allocates nothing: self is the executor.
template <Body body, const char* usage>
gantry_code call_body(void* self, const gantry_env* env, const gantry_value* args,
                      std::int32_t count, gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const Call call{usage, env, std::span(args, static_cast<std::size_t>(count < 0 ? 0 : count))};
    GANTRY_TRY(Value value, body(*static_cast<Executor*>(self), call));
    *result = value.take();
    return {};
  });
}

gantry_code call_run(void* self, const gantry_env* env, const gantry_value*, std::int32_t,
                     gantry_value*, gantry_status* status) {
  return abi_boundary(status, [&] { return static_cast<Executor*>(self)->run(env, status); });
}

struct Named {
  std::string_view name;
  std::string_view usage;
  gantry_function_table table;
};

template <Body body, const char* usage>
constexpr Named named() {
  const std::string_view text = usage;
  return {text.substr(0, text.find('(')),
          text,
          {sizeof(gantry_function_table), 0, nullptr, call_body<body, usage>}};
}

constexpr char set_input_usage[] = "set_input(name or index, tensor)";
constexpr char set_input_zero_copy_usage[] = "set_input_zero_copy(name or index, tensor)";
constexpr char get_input_usage[] = "get_input(name or index)";
constexpr char get_input_index_usage[] = "get_input_index(name)";
constexpr char get_num_inputs_usage[] = "get_num_inputs()";
constexpr char run_from_inputs_usage[] =
    "run_from_inputs(device type, device index, name, tensor, ...)";
constexpr char set_output_zero_copy_usage[] = "set_output_zero_copy(name or index, tensor)";
constexpr char get_output_usage[] = "get_output(name or index[, tensor])";
constexpr char get_num_outputs_usage[] = "get_num_outputs()";
constexpr char load_params_usage[] = "load_params(bytes)";
constexpr char share_params_usage[] = "share_params(executor, bytes)";
constexpr char get_input_info_usage[] = "get_input_info()";
constexpr char get_output_info_usage[] = "get_output_info()";
constexpr char debug_get_output_usage[] = "debug_get_output(node name or index[, tensor])";
constexpr char profile_usage[] = "profile()";

// at the end
constexpr std::size_t debug_count = 2;
constexpr Named functions[] = {
    {"run", "run()", {sizeof(gantry_function_table), 0, nullptr, call_run}},
    named<set_input, set_input_usage>(),
    named<set_input_zero_copy, set_input_zero_copy_usage>(),
    named<get_input, get_input_usage>(),
    named<get_input_index, get_input_index_usage>(),
    named<get_num_inputs, get_num_inputs_usage>(),
    named<run_from_inputs, run_from_inputs_usage>(),
    named<set_output_zero_copy, set_output_zero_copy_usage>(),
    named<get_output, get_output_usage>(),
    named<get_num_outputs, get_num_outputs_usage>(),
    named<load_params, load_params_usage>(),
    named<share_params, share_params_usage>(),
    named<get_input_info, get_input_info_usage>(),
    named<get_output_info, get_output_info_usage>(),
    named<debug_get_output, debug_get_output_usage>(),
    named<profile, profile_usage>(),
};

constexpr std::span<const Named> functions_of(bool debug) {
  return std::span(functions).first(std::size(functions) - (debug ? 0 : debug_count));
}

template <bool debug>
gantry_code get_function(void* self, gantry_bytes name, gantry_function* out, gantry_status*) {
  for (const Named& function : functions_of(debug)) {
    if (function.name != view_of(name)) continue;
    *out = {self, &function.table};
    return GANTRY_OK;
  }
  return GANTRY_NOT_FOUND;
}

template <bool debug>
gantry_code list_functions(void*, const gantry_visitor* visitor, gantry_status* status) {
  for (const Named& function : functions_of(debug)) {
    const gantry_function_info info{sizeof info, 0, bytes_of(function.name),
                                    bytes_of(function.usage)};
    if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
  }
  return GANTRY_OK;
}

void destroy(void* self) { delete static_cast<Executor*>(self); }

template <bool debug>
constexpr gantry_module_table module_table = {
    sizeof(gantry_module_table), GANTRY_MODULE_SERIAL,  "GraphExecutor", destroy,
    get_function<debug>,         list_functions<debug>, nullptr};

}  // namespace

Result<Value> new_executor_module(std::unique_ptr<Executor> executor, gantry_object* parent,
                                  bool debug) {
  const gantry_module module{executor.get(), debug ? &module_table<true> : &module_table<false>};
  GANTRY_TRY(Value made, executor->host().module_new(parent, module));
  // The host owns it now.
  (void)executor.release();
  return made;
}

}  // namespace gantry::graph
