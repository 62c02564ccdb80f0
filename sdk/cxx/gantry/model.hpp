// SPDX-License-Identifier: Apache-2.0
//
// gantry/model.hpp - exposes a module's class as a model of the ABI: functions with named inputs and
// outputs, and executors that run them.
//
//     class Ensemble {
//      public:
//       // The functions, the default one and the devices that the model states; valid as long as
//       // the module.
//       gantry::Result<const gantry::ModelInfo*> model_info();
//       // Inputs and outputs of a function, valid as long as the module.
//       gantry::Result<const gantry::Signature*> signature(std::uint32_t function);
//       gantry::Result<std::unique_ptr<Executor>> executor_new(const gantry_env& env,
//                                                              const gantry::ExecutorOptions& options);
//     };
//
//     class Executor {
//      public:
//       // Valid as long as the executor.
//       gantry::Result<const gantry::Placements*> placements(std::uint32_t function);
//       gantry::Status run(const gantry_env& env, gantry::ExecutorRun& run);
//     };
//
// module_table (module.hpp) of a class with these functions returns model_table from get_extension.
#pragma once

#include <gantry/model.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/concat.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/signature.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gantry {

// A gantry_model_info with everything that it refers to.
struct ModelInfo {
  // each once
  std::vector<std::string> functions;
  // index of the function that an empty name means
  std::uint32_t default_function = GANTRY_NO_FUNCTION;
  // numbers of this runtime, see gantry_model_info
  std::vector<std::int32_t> device_types = {};
  // GANTRY_MODEL_*, or-ed
  std::uint32_t flags = 0;
  // of `functions`, by prepare()
  std::vector<gantry_bytes> names = {};

  // Call it once, after `functions` is complete.
  void prepare() {
    for (const std::string& function : functions) names.push_back(bytes_of(function));
  }
  void fill(gantry_model_info& out) const {
    out.flags = flags;
    out.functions = names.data();
    out.function_count = static_cast<std::uint32_t>(names.size());
    out.default_function = default_function;
    out.device_types = device_types.empty() ? nullptr : device_types.data();
    out.device_count = static_cast<std::uint32_t>(device_types.size());
  }
};

// What an executor is created for.
struct ExecutorOptions {
  // at least one, the main one first; valid during the call
  std::span<const gantry_device_id> devices;
  // The flags GANTRY_EXECUTOR_CAPTURE and _PREPARE. No other one is set.
  bool capture = false;
  bool prepare = false;
};

// The placements of a function: one for each input, and one for each output that is stated.
struct Placements {
  std::vector<gantry_placement> inputs, outputs;
};

// One run: inputs by position, and what to do with the outputs.
class ExecutorRun {
 public:
  explicit ExecutorRun(gantry_executor_run& raw) : raw_(raw) {}

  std::uint32_t function() const { return raw_.function; }
  std::span<const gantry_value> inputs() const { return {raw_.inputs, raw_.input_count}; }
  // False: result() is set to an array of all outputs instead.
  bool has_outputs() const { return raw_.outputs != nullptr; }
  std::uint32_t output_count() const { return raw_.output_count; }
  // Returns the tensor to fill; NULL: set_output() returns the output. Precondition: has_outputs().
  const gantry_tensor* target(std::uint32_t index) const {
    return gantry_value_tensor(&raw_.outputs[index]);
  }
  // Precondition: has_outputs(), and target(index) is NULL.
  void set_output(std::uint32_t index, Value value) { raw_.outputs[index] = value.take(); }
  // Precondition: !has_outputs().
  void set_result(Value array) { raw_.result = array.take(); }

 private:
  gantry_executor_run& raw_;
};

namespace detail {

template <class M>
concept IsModel = requires(M& module, const gantry_env& env, const ExecutorOptions& options) {
  module.model_info();
  module.signature(0u);
  module.executor_new(env, options);
};

template <class E>
inline constexpr gantry_executor_table executor_table = {
    .struct_size = sizeof(gantry_executor_table),
    .flags = 0,
    .destroy = [](void* self) { delete static_cast<E*>(self); },
    .placements =
        [](void* self, std::uint32_t function, const gantry_placement** inputs,
           const gantry_placement** outputs, gantry_status* status) {
          return abi_boundary(status, [&]() -> Status {
            GANTRY_TRY(const Placements* const placed,
                       Result<const Placements*>(static_cast<E*>(self)->placements(function)));
            *inputs = placed->inputs.empty() ? nullptr : placed->inputs.data();
            *outputs = placed->outputs.empty() ? nullptr : placed->outputs.data();
            return {};
          });
        },
    .run =
        [](void* self, const gantry_env* env, gantry_executor_run* run, gantry_status* status) {
          return abi_boundary(status, [&] {
            ExecutorRun known(*run);
            return static_cast<E*>(self)->run(*env, known);
          });
        },
};

template <class M>
gantry_code executor_new(void* self, const gantry_env* env, const gantry_executor_options* options,
                         gantry_executor* out, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    constexpr std::uint32_t known = GANTRY_EXECUTOR_CAPTURE | GANTRY_EXECUTOR_PREPARE;
    if ((options->flags & ~known) != 0) {
      return unsupported("executor_new: flags are ", Hex{options->flags}, ", known are ",
                         Hex{known})
          .with_reason("FLAGS");
    }
    const ExecutorOptions given{
        .devices = {options->devices, options->device_count},
        .capture = (options->flags & GANTRY_EXECUTOR_CAPTURE) != 0,
        .prepare = (options->flags & GANTRY_EXECUTOR_PREPARE) != 0,
    };
    GANTRY_TRY(auto made, static_cast<M*>(self)->executor_new(*env, given));
    using Executor = typename std::remove_cvref_t<decltype(made)>::element_type;
    *out = {made.release(), &executor_table<Executor>};
    return {};
  });
}

}  // namespace detail

// M is the module's class.
template <class M>
inline constexpr gantry_model model_table = {
    .struct_size = sizeof(gantry_model),
    .zero = 0,
    .info =
        [](void* self, gantry_model_info* info, gantry_status* status) {
          return abi_boundary(status, [&]() -> Status {
            GANTRY_TRY(const ModelInfo* const found,
                       Result<const ModelInfo*>(static_cast<M*>(self)->model_info()));
            found->fill(*info);
            return {};
          });
        },
    .signature =
        [](void* self, std::uint32_t function, const gantry_signature** out,
           gantry_status* status) {
          return abi_boundary(status, [&]() -> Status {
            GANTRY_TRY(const Signature* const found,
                       Result<const Signature*>(static_cast<M*>(self)->signature(function)));
            *out = &found->table();
            return {};
          });
        },
    .executor_new = detail::executor_new<M>,
};

}  // namespace gantry
