// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/plugin_instance.hpp"

#include "core/base/process_end.hpp"
#include "core/base/process_state.hpp"
#include "core/base/reason.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/runtime/plugin_options.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/value.hpp>

#include <optional>

namespace gantry {
namespace {

struct ToValue {
  Result<Value> operator()(bool truth) const { return Value::adopt(bool_value(truth)); }
  Result<Value> operator()(std::int64_t number) const { return Value::adopt(int_value(number)); }
  Result<Value> operator()(double number) const { return Value::adopt(float_value(number)); }
  Result<Value> operator()(const std::string& text) const { return new_text(GANTRY_STRING, text); }
};

Status resolve_options(RuntimeState& state, const Manifest& manifest, PluginHost& host) {
  std::vector<Message> warnings;
  GANTRY_TRY(const auto values, plugin_options(state, manifest, warnings));
  for (const Message& warning : warnings) state.log.warning(warning);
  for (const ConfigValue& value : values) {
    GANTRY_TRY(Value made, std::visit(ToValue(), value.value));
    host.options.emplace_back(value.key, std::move(made));
  }
  return add_host_options(host);
}

// Device numbers that are released unless the plugin is created.
class ReservedDevices {
 public:
  explicit ReservedDevices(DeviceSet& devices) : devices_(devices) {}
  ~ReservedDevices() {
    for (const std::int32_t type : types_) devices_.withdraw(type);
  }
  ReservedDevices(const ReservedDevices&) = delete;
  ReservedDevices& operator=(const ReservedDevices&) = delete;

  Status add(const gantry_device_table& device, const std::string& plugin) {
    // Reserved first, so that every number that is reserved is also released.
    types_.reserve(types_.size() + 1);
    GANTRY_TRY(const std::int32_t type, devices_.reserve(device.name, &device, plugin));
    types_.push_back(type);
    return {};
  }
  void serve(void* self) {
    for (const std::int32_t type : types_) devices_.serve(type, self);
    types_.clear();
  }

 private:
  DeviceSet& devices_;
  std::vector<std::int32_t> types_;
};

}  // namespace

Result<std::shared_ptr<PluginInstance>> PluginInstance::create(
    RuntimeState& state, std::shared_ptr<const LoadedPlugin> plugin, const Manifest& manifest) {
  const std::string what = concat("create ", plugin->id);
  const Span span(state.trace.get(), what, "plugin");
  std::shared_ptr<PluginInstance> instance(new PluginInstance);
  instance->plugin_ = std::move(plugin);
  instance->host_.state = &state;
  instance->host_.plugin = instance->plugin().id;
  GANTRY_CHECK(resolve_options(state, manifest, instance->host_));
  fill_host_table(instance->host_, instance->plugin().abi_minor);

  ReservedDevices devices(state.devices);
  for (const gantry_device_table& device : instance->plugin().devices) {
    GANTRY_CHECK(devices.add(device, instance->host_.plugin));
  }
  StatusBuffer status;
  const auto subject = [&] { return concat("plugin ", instance->plugin().id); };
  // Reading the state has points of cancellation, create may have.
  std::optional<ProcessState> before;
  {
    const NoCancellation guard;
    before.emplace(ProcessState::Scope::signals);
  }
  const gantry_code code =
      call_plugin(status, "create", instance->plugin().id, subject, [&](gantry_status* said) {
        return instance->plugin().table.create(&instance->host_.table, &instance->self_, said);
      });
  const NoCancellation guard;
  const std::vector<std::string_view> changed = before->restore();
  before.reset();
  if (!changed.empty()) {
    state.log.warning(Message(subject(), " changes ", join(changed),
                              " while it is created; gantry has restored it"));
  }
  if (code != GANTRY_OK) {
    return status.error(code, concat("create of plugin ", instance->plugin().id));
  }
  instance->created_ = true;
  devices.serve(instance->self_);
  state.log.info(
      Message("plugin ", instance->plugin().id, " ", manifest.version.text, " is in use, ",
              manifest.library_path.empty() ? "part of the program" : manifest.library_path));
  return instance;
}

PluginInstance::~PluginInstance() {
  if (!created_ || !plugins_may_run()) return;
  const NoCancellation guard;
  DeviceSet& devices = host_.state->devices;
  for (const gantry_device_table& device : plugin_->devices) {
    if (const auto* served = devices.find(device.name)) devices.release_staging((*served)->type);
  }
  StatusBuffer status;
  const auto subject = [&] { return concat("plugin ", plugin_->id); };
  const gantry_code code =
      call_plugin(status, "destroy", plugin_->id, subject, [&](gantry_status*) {
        plugin_->table.destroy(self_);
        return gantry_code{GANTRY_OK};
      });
  // Plugins that are destroyed later may request them.
  for (const gantry_device_table& device : plugin_->devices) {
    if (const auto* served = devices.find(device.name)) devices.retire((*served)->type);
  }
  if (code == GANTRY_OK) return;
  const Error error = status.error(code, concat("destroy of plugin ", plugin_->id));
  host_.state->log.warning(Message(name_of(reason::destroy_failed), ": ", error.message));
}

}  // namespace gantry
