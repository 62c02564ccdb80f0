// SPDX-License-Identifier: Apache-2.0
#include "core/base/process_end.hpp"
#include "core/base/trace/trace_json.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/graph_files.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/plugins/choice/explain.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/quoted.hpp>
#include <gantry/runtime.hpp>

namespace gantry {

Result<Runtime> Runtime::create(RuntimeOptions options) {
  return guard([&]() -> Result<Runtime> {
    GANTRY_TRY(auto state, RuntimeState::create(std::move(options)));
    return Runtime(std::move(state));
  });
}

Result<Module> Runtime::load(const std::string& path, const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, load_file(*state_, path, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Module> Runtime::load_bytes(std::span<const std::uint8_t> bytes, std::string_view name,
                                   const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, gantry::load_bytes(*state_, bytes, name, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Module> Runtime::load_graph(const GraphFiles& files, const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, load_graph_files(*state_, files, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Module> Runtime::load_linked(const gantry_linked_symbols& symbols, std::string_view prefix,
                                    const LoadOptions& options) {
  return guard([&]() -> Result<Module> {
    GANTRY_TRY(Ref<ModuleNode> root, load_linked_code(*state_, symbols, prefix, options));
    return Module(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
  });
}

Result<Executor> Runtime::executor(const Module& model, std::span<const std::string> devices,
                                   std::string_view factory) {
  return guard([&]() -> Result<Executor> {
    if (!model) return invalid("module handle is empty, expected a model");
    if (devices.empty()) return invalid("executor has 0 devices, minimum is 1");
    auto make = model.function(factory);
    if (!make.ok())
      return std::move(make).failure().at("while making an executor of ", model.type_key());
    auto made = made_for(*this, *make, devices);
    if (!made.ok())
      return std::move(made).failure().at("while making an executor with ", quoted(factory));
    return Executor::wrap(std::move(*made));
  });
}

Status Runtime::add_plugin(const gantry_plugin_table* (*query)(const gantry_host_info*,
                                                               gantry_status*)) {
  return guard([&]() -> Status { return state_->plugins->add_program_plugin(query); });
}

Status Runtime::bind_missing(const Module& model) {
  return guard([&]() -> Status {
    if (!model) return invalid("module handle is empty, expected a model");
    auto& root = *reinterpret_cast<ModuleNode*>(model.get());
    return gantry::bind_missing(*state_, root);
  });
}

Result<gantry_device_id> Runtime::device(std::string_view name) {
  return guard([&]() -> Result<gantry_device_id> {
    GANTRY_TRY(const DeviceName asked, parse_device_name(name));
    GANTRY_TRY(const auto device, state_->device(asked.kind));
    GANTRY_TRY(const gantry_device found, device_at(*device, asked.index, name));
    return found.id;
  });
}

int Runtime::threads() const { return state_->pool->size(); }

std::vector<DeviceInfo> Runtime::devices(std::vector<Message>& problems) {
  return list_devices(*state_, problems);
}

Result<Tensor> Runtime::tensor(std::span<const std::int64_t> shape, gantry_dtype dtype,
                               std::string_view name) {
  return guard([&]() -> Result<Tensor> {
    GANTRY_TRY(const gantry_device_id id, device(name));
    GANTRY_TRY(Ref<TensorObject> made,
               tensor_new(state_->devices, compact_tensor(dtype, shape, id)));
    return Tensor(Object::adopt(reinterpret_cast<gantry_object*>(made.take())));
  });
}

Status Runtime::copy(const Tensor& from, const Tensor& to) {
  return guard([&]() -> Status {
    if (!from || !to) return invalid("tensor copy: tensor handle is empty");
    return tensor_copy(state_->devices, *from.dlpack(), *to.dlpack(), nullptr);
  });
}

Status Runtime::synchronize(gantry_device_id device) const {
  return guard([&]() -> Status {
    GANTRY_TRY(const auto found, state_->device(device.type));
    if (!may_call(*found)) return process_end_error(concat("synchronize of ", described(*found)));
    GANTRY_CHECK(device_at(*found, device.index, concat(found->name, ":", device.index)));
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* reported) {
      return found->table->synchronize(found->self, device.index, nullptr, reported);
    });
    if (code == GANTRY_OK) return {};
    return status.error(code, concat("synchronize of ", described(*found)))
        .at("while waiting for device ", found->name, ":", device.index);
  });
}

Result<gantry_device> Runtime::device_table(gantry_device_id device) const {
  return guard([&]() -> Result<gantry_device> {
    GANTRY_TRY(const auto found, state_->device(device.type));
    return device_at(*found, device.index, concat(found->name, ":", device.index));
  });
}

std::vector<std::string> Runtime::plugins_in_use() const {
  std::vector<std::string> titles;
  for (const Candidate& candidate : state_->plugins->in_use()) titles.push_back(candidate.title());
  return titles;
}

std::string Runtime::explain_plugins() const {
  PluginSet& plugins = *state_->plugins;
  plugins.inspect_all();
  Explanation explanation = explain(plugins, all_requirements(plugins, {}));
  add_changes(plugins, explanation);
  return to_text(explanation);
}

std::uint64_t Runtime::fallbacks() const { return state_->plugins->fallbacks(); }

std::string Runtime::trace_json() const { return chrome_trace(state_->trace.get()); }

}  // namespace gantry
