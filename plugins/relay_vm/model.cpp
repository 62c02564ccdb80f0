// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <gantry/device_name.hpp>
#include <gantry/run_outputs.hpp>
#include <gantry/zero_copy.hpp>

#include <optional>
#include <string>
#include <utility>

namespace gantry::relay {
namespace {

constexpr std::string_view main_function = "main";

}  // namespace

ModelFunctions::ModelFunctions(Host host, std::shared_ptr<const Loaded> code)
    : host_(host), code_(std::move(code)), signatures_(code_->program.functions.size()) {
  for (const FunctionCode& function : program().functions)
    info_.functions.emplace_back(function.name);
  info_.default_function = program().find(main_function).value_or(GANTRY_NO_FUNCTION);
  info_.prepare();
}

Status ModelFunctions::find_devices() const {
  std::vector<std::int32_t> types = device_types_of(code_->code);
  // The machine has the CPU as its host without its being named.
  if (types.size() > 1) std::erase(types, cpu_device_type);
  for (std::int32_t& type : types) {
    GANTRY_TRY(type, host_.device_type_in(code_->node, type));
  }
  const std::lock_guard lock(mutex_);
  // Another thread may have found them, and callers read them.
  if (!are_devices_found_) info_.device_types = std::move(types);
  are_devices_found_ = true;
  return {};
}

Result<const ModelInfo*> ModelFunctions::info() const {
  const auto are_found = [&] {
    const std::lock_guard lock(mutex_);
    return are_devices_found_;
  };
  if (!are_found()) GANTRY_CHECK(find_devices());
  return &info_;
}

const Signature& ModelFunctions::signature(std::uint32_t function) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Signature>& made = signatures_[function];
  if (made != nullptr) return *made;
  std::vector<ParameterInfo> inputs;
  for (const std::string_view name : program().functions[function].params)
    inputs.push_back({.name = std::string(name), .type = {}, .type_text = {}});
  made = std::make_unique<const Signature>(std::move(inputs), std::nullopt);
  return *made;
}

const Executor::Known& Executor::known(std::uint32_t function) {
  Known& known = known_[function];
  if (known.signature != nullptr) return known;
  const Signature& signature = functions_.signature(function);
  for (std::size_t i = 0; i < signature.inputs().size(); ++i) {
    known.placed.inputs.push_back({machine_.device_of(function, i),
                                   static_cast<std::uint32_t>(in_place_alignment), 0, nullptr});
  }
  known.signature = &signature;
  return known;
}

Result<const Placements*> Executor::placements(std::uint32_t function) {
  return &known(function).placed;
}

Status Executor::run(const gantry_env& env, ExecutorRun& run) {
  const Known& known = this->known(run.function());
  const RunFunction function{functions_.program().functions[run.function()].name, *known.signature,
                             known.placed};
  auto result = machine_.run(run.function(), &env, run.inputs());
  if (!result.ok()) return std::move(result).failure().at("in ", function.title());
  return pass_result(function, host_, env, std::move(*result), run);
}

}  // namespace gantry::relay
