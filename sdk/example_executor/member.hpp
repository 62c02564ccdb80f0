// SPDX-License-Identifier: Apache-2.0
//
// An executor of an imported graph, by the functions that executors of TVM have:
//
//     NAME(device) -> executor                 a function of the import
//     get_input_info(), get_output_info() -> {"shape": {name: shape}, "dtype": {name: text}}
//     set_input(name, tensor), run(), get_output(index) -> tensor
#pragma once

#include <gantry/handle.hpp>
#include <gantry/parameter_info.hpp>
#include <gantry/zero_copy.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace ensemble {

// Where members run, and where their inputs and outputs are.
inline constexpr gantry_device_id cpu{gantry::cpu_device_type, 0};

// The elements of a float32 tensor in host memory.
inline float* floats_of(const gantry_tensor& tensor) {
  return static_cast<float*>(gantry::element_address(tensor));
}

// thread   one at a time
class Member {
 public:
  // Creates an executor on the CPU.
  //
  // node     [in]   of the module that imports the graph
  // name     [in]   of the graph; valid as long as this object
  // env      [in]   NULL: no task
  // returns  NOT_FOUND    no import has this function
  //          INVALID      it returns no executor (RESULT_KIND)
  //          UNSUPPORTED  the graph does not have one float32 output (GRAPH)
  //          others       of the executor
  static gantry::Result<Member> create(gantry::Host host, gantry_object* node,
                                       std::string_view name, const gantry_env* env);

  // Of the graph, without its parameters.
  const std::vector<gantry::ParameterInfo>& inputs() const { return inputs_; }
  const gantry::ParameterInfo& output() const { return output_; }

  // inputs   [in]   tensors in the order of inputs()
  // returns  a compact tensor in host memory, which the next run writes; errors of the executor
  gantry::Result<gantry::Value> run(const gantry_env& env, std::span<const gantry_value> inputs);

 private:
  Member(gantry::Host host, std::string_view name) : host_(host), name_(name) {}
  gantry::Status open(gantry_object* node, const gantry_env* env);
  gantry::Result<std::vector<gantry::ParameterInfo>> info(std::string_view function,
                                                          const gantry_env* env) const;

  gantry::Host host_;
  std::string_view name_;
  gantry::Value executor_;
  gantry::ObjectRef set_input_, run_, get_output_;
  std::vector<gantry::ParameterInfo> inputs_;
  gantry::ParameterInfo output_;
};

}  // namespace ensemble
