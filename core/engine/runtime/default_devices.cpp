// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/default_devices.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/module/unbound.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/formats/stated_devices.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view cpu = "cpu";

void add(std::string_view name, std::vector<std::string>& names) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

// The kind of device that runs modules of this type key; empty if there is none.
std::string_view kind_for_key(std::string_view key, const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest) continue;
    const Manifest& manifest = *candidate.manifest;
    if (manifest.key_for(key) != nullptr && manifest.devices.size() == 1)
      return manifest.devices.front().name;
  }
  const TypeKey* const known = find_type_key(key);
  return known != nullptr ? device_kind_of(*known) : dlpack_number(key) != 0 ? key : "";
}

// The name without the index: "cuda" of "cuda:1".
std::string_view kind_of_name(std::string_view device) {
  return device.substr(0, device.find(':'));
}

bool has_kind(const std::vector<std::string>& devices, std::string_view kind) {
  return std::ranges::find(devices, kind, [](const auto& name) { return kind_of_name(name); }) !=
         devices.end();
}

// Graphs of several devices start on an accelerator and use the CPU where they name it.
void end_with_cpu(std::vector<std::string>& names) {
  if (const auto at = std::ranges::find(names, cpu); at != names.end())
    std::rotate(at, at + 1, names.end());
  if (names.empty()) add(cpu, names);
}

// The name of a number of this runtime; empty if none has it.
std::string_view name_of_type(const RuntimeState& state, std::int32_t type) {
  const std::shared_ptr<const Device>* const device = state.devices.find(type);
  return device != nullptr ? std::string_view((*device)->name) : dlpack_name(type);
}

// The devices that a model states: "cuda", and "cuda:1" if it uses two of them.
std::vector<std::string> stated_by(const RuntimeState& state, const gantry_model_info& info) {
  std::vector<std::string> names;
  std::vector<std::int32_t> types;
  for (std::uint32_t i = 0; i < info.device_count; ++i) {
    const std::int32_t type = info.device_types[i];
    const auto index = std::ranges::count(types, type);
    types.push_back(type);
    const std::string_view kind = name_of_type(state, type);
    if (!kind.empty()) names.push_back(index == 0 ? std::string(kind) : concat(kind, ":", index));
  }
  return names;
}

constexpr std::string_view ext_dev = "ext_dev";
static_assert(dlpack_number(ext_dev) == kExtDev);

// Returns the kinds of devices that number 12 of an artifact may mean, sorted by name where several
// may be meant.
//
// ext_devs [in]   of module 0 of the model; 0: none of its modules runs on such a device
// costs    opens the plugins whose devices may have an assigned number, if ext_devs is 0
std::vector<std::string> ext_dev_kinds(RuntimeState& state, std::uint64_t ext_devs) {
  std::set<std::string> kinds;
  if (ext_devs != 0) {
    for (const auto& device : state.devices.all()) {
      if ((ext_devs & ext_dev_bit(device->type)) != 0) kinds.insert(device->name);
    }
    return {kinds.begin(), kinds.end()};
  }
  for (const Candidate& candidate : state.plugins->candidates()) {
    if (candidate.is_out() || !candidate.manifest) continue;
    for (const ManifestDevice& device : candidate.manifest->devices) {
      // The plugin's table has the number.
      if (device.dlpack != 0 && device.dlpack != kExtDev) continue;
      const auto found = find_device(state, device.name);
      if (!found.ok()) continue;
      if (found->type == kExtDev) return {device.name};
      if (ext_dev_of(device.name, state.devices) != 0) kinds.insert(device.name);
    }
  }
  return {kinds.begin(), kinds.end()};
}

// Replaces "ext_dev" in the names by the device that serves it, if there is one.
void resolve_ext_dev(RuntimeState& state, const ModuleNode& module, DefaultDevices& defaults) {
  const auto at = std::ranges::find(defaults.names, ext_dev);
  if (!defaults.are_stated || at == defaults.names.end()) return;
  const std::uint64_t ext_devs = module.ext_devs;
  const std::vector<std::string> kinds = ext_dev_kinds(state, ext_devs);
  if (kinds.empty()) return;
  // Executors refuse a number whose modules run on several devices.
  if (kinds.size() > 1 && ext_devs == 0) {
    state.log.warning(Message(quoted(module.artifact->name), " is made for ext_dev, served by ",
                              join(kinds), ": ", kinds.front(),
                              " is used; name a device to use another one"));
  }
  *at = kinds.front();
}

// Checks that the load has left out no kernels of these devices.
Status check_not_left_out(ModuleNode& module, const std::vector<std::string>& devices) {
  for (const ModuleNode* node : reachable(module)) {
    if (!is_unbound(*node) || !node->unbound->is_left_out) continue;
    const std::string_view kind = device_kind_of(*find_type_key(node->type_key));
    if (has_kind(devices, kind)) return unbound_error(*node).at("while choosing device ", kind);
  }
  return {};
}

// Checks that named devices exist and include those that the model states.
Status check_named(RuntimeState& state, const Artifact& artifact, const DefaultDevices& defaults,
                   const NamedDevices& named) {
  std::vector<gantry_device_id> given;
  for (const std::string& name : named.names) {
    GANTRY_TRY(const gantry_device_id id, given_device(state, name));
    given.push_back(id);
  }
  if (!defaults.are_stated) return {};
  // The kind of each device counts, not its index.
  const auto serves = [&](const gantry_device_id& id, const std::string& name) {
    const auto number = state.devices.number_of(kind_of_name(name));
    return number.ok() && serves_number(id.type, *number);
  };
  const auto is_given = [&](const std::string& name) {
    return std::ranges::any_of(given, [&](const auto& id) { return serves(id, name); });
  };
  const bool has_alternatives = !defaults.alternatives.empty();
  const std::vector<std::string>& stated =
      has_alternatives ? defaults.alternatives : defaults.names;
  std::vector<std::string> missing;
  std::ranges::remove_copy_if(stated, std::back_inserter(missing), is_given);
  if (missing.empty() || (has_alternatives && missing.size() < stated.size())) return {};
  const auto is_stated = [&](const gantry_device_id& id) {
    return std::ranges::any_of(stated, [&](const auto& name) { return serves(id, name); });
  };
  // The caller has named some of the devices that the model uses together, and no other one.
  const bool is_part = missing.size() < stated.size() && std::ranges::all_of(given, is_stated);
  return invalid(quoted(artifact.name), " is made for ", join(stated), ", ", named.source,
                 " names ", join(named.names),
                 is_part ? concat(": name ", join(missing), " as well") : std::string(), "; ",
                 devices_text(state))
      .with_reason("DEVICE");
}

}  // namespace

DefaultDevices implied_devices(const Artifact& artifact, const PluginSet& plugins) {
  DefaultDevices defaults;
  const std::vector<Candidate> candidates = plugins.candidates();
  for (const Entry& entry : artifact.container.entries) {
    const std::string_view kind = kind_for_key(entry.type_key, candidates);
    if (!kind.empty()) add(kind, defaults.names);
  }
  end_with_cpu(defaults.names);
  return defaults;
}

Result<DefaultDevices> default_devices(RuntimeState& state, ModuleNode& module) {
  GANTRY_TRY(const std::vector<ModelState::Member> models, models_of(state, module));
  DefaultDevices defaults;
  for (const ModelState::Member& model : models) {
    std::vector<std::string> stated = stated_by(state, model.info);
    if ((model.info.flags & GANTRY_MODEL_ALTERNATIVES) != 0 && !stated.empty()) {
      add(stated.front(), defaults.names);
      if (models.size() == 1) defaults.alternatives = std::move(stated);
      continue;
    }
    for (const std::string& name : stated) add(name, defaults.names);
  }
  if (defaults.names.empty()) return implied_devices(*module.artifact, *state.plugins);
  defaults.are_stated = true;
  end_with_cpu(defaults.names);
  return defaults;
}

bool UsedDevices::exclude(std::string_view type_key, const PluginSet& plugins) const {
  const TypeKey* const key = find_type_key(type_key);
  if (names.empty() || key == nullptr || key->content != PayloadContent::kernels) return false;
  const std::string_view kind = device_kind_of(*key);
  if (kind.empty() || has_kind(names, kind)) return false;
  // A vendor's plugin may run the kernels on a device of another name.
  return std::ranges::none_of(plugins.candidates(), [&](const Candidate& candidate) {
    return candidate.manifest && candidate.manifest->key_for(type_key) != nullptr &&
           std::ranges::any_of(candidate.manifest->devices, [&](const ManifestDevice& device) {
             return has_kind(names, device.name);
           });
  });
}

Result<UsedDevices> used_devices(RuntimeState& state, ModuleNode& module,
                                 std::span<const std::string> named) {
  GANTRY_TRY(DefaultDevices defaults, default_devices(state, module));
  if (!defaults.are_stated) return UsedDevices{};
  if (named.empty()) return UsedDevices{std::move(defaults.names)};
  return UsedDevices{{named.begin(), named.end()}};
}

UsedDevices read_used_devices(const Artifact& artifact) {
  UsedDevices used;
  for (const Entry& entry : artifact.container.entries) {
    const auto stated = read_stated_devices(entry);
    // A load reports what cannot be read.
    if (!stated.ok() || stated->numbers.empty()) continue;
    const std::size_t count = stated->are_alternatives ? 1 : stated->numbers.size();
    for (const std::int32_t number : std::span(stated->numbers).first(count))
      add(dlpack_name(number), used.names);
  }
  return used;
}

std::string made_for_text(RuntimeState& state, const Artifact& artifact,
                          const DefaultDevices& defaults) {
  return concat(quoted(artifact.name), " is made for ", join(defaults.names), "; ",
                devices_text(state));
}

Result<std::vector<std::string>> model_devices(RuntimeState& state, ModuleNode& module,
                                               const NamedDevices& named) {
  GANTRY_TRY(DefaultDevices defaults, default_devices(state, module));
  const Artifact& artifact = *module.artifact;
  if (named.names.empty() || module.ext_devs != 0) resolve_ext_dev(state, module, defaults);
  if (!named.names.empty()) {
    std::vector<std::string> names(named.names.begin(), named.names.end());
    GANTRY_CHECK(check_not_left_out(module, names));
    GANTRY_CHECK(check_named(state, artifact, defaults, named));
    return names;
  }
  GANTRY_CHECK(check_not_left_out(module, defaults.names));
  for (const std::string& name : defaults.names) {
    const auto device = find_device(state, name);
    if (device.ok()) continue;
    const Error& cause = device.error();
    return fail(cause.code, made_for_text(state, artifact, defaults))
        .with_reason(cause.reason)
        .at(cause.message);
  }
  return std::move(defaults.names);
}

}  // namespace gantry
