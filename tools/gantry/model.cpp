// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model.hpp"

#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/graph_model.hpp"
#include "tools/gantry/vm_model.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

namespace gantry::cli {
std::string Model::subject() const {
  return name().empty() ? std::string("the model") : concat("function ", quoted(name()));
}

std::string described(std::span<const InputInfo> inputs) {
  if (inputs.empty()) return "none";
  return join(inputs, ", ", [](const InputInfo& input) {
    return concat(escaped(input.name), input.type_text.empty() ? "" : " ", input.type_text);
  });
}

Result<std::unique_ptr<Model>> make_model(Runtime& runtime, const Module& module,
                                          const ModelOptions& options) {
  if (has_virtual_machine(module)) return make_vm_model(runtime, module, options);
  if (!options.function.empty()) {
    return invalid("the file has no virtual machine, so that its function ",
                   quoted(options.function),
                   " has no inputs by name; `gantry run` passes arguments by position with --arg");
  }
  return make_graph_model(runtime, module, options);
}

}  // namespace gantry::cli
