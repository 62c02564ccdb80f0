// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_devices.hpp"

#include "tools/gantry/common/exit_status.hpp"

#include "core/base/text.hpp"
#include "core/module/module.hpp"
#include "core/runtime/devices.hpp"
#include "core/runtime/installed_plugins.hpp"
#include "core/runtime/named_devices.hpp"
#include "core/tensor/device_set.hpp"

#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

constexpr std::string_view cpu = "cpu";

NamedDevices named_by(const Artifact& artifact, const Runtime& runtime) {
  return named_devices(artifact, InstalledPlugins(runtime).set());
}

Error lacking(Runtime& runtime, const Artifact& artifact, const NamedDevices& named, Error cause) {
  return fail(cause.code, quoted(artifact.name), " is made for ", join(named.kinds), "; ",
              devices_text(runtime))
      .with_reason(cause.reason)
      .at(cause.message);
}

// Checks that the devices of --device exist and include those that the graph names.
Status check_given(Runtime& runtime, const Artifact& artifact, const NamedDevices& named,
                   const std::vector<std::string>& given) {
  std::vector<std::int32_t> types;
  for (const std::string& name : given) {
    GANTRY_TRY(const gantry_device_id id, given_device(runtime, name));
    types.push_back(id.type);
  }
  for (const std::string& kind : named.kinds) {
    const std::int32_t type = dlpack_number(kind);
    if (!named.required || std::ranges::find(types, type) != types.end()) continue;
    return invalid(quoted(artifact.name), " is made for ", join(named.kinds), ", --device names ",
                   join(given), "; ", devices_text(runtime));
  }
  return {};
}

}  // namespace

Result<Module> load_model(Runtime& runtime, const std::string& path, const LoadOptions& options) {
  auto model = runtime.load(path, options);
  if (model.ok() || model.error().code != Code::unavailable) return model;
  const auto artifact = InstalledPlugins(runtime).read_artifact(path);
  if (!artifact.ok()) return model;
  const NamedDevices named = named_by(**artifact, runtime);
  for (const std::string& kind : named.kinds) {
    if (!runtime.device(kind).ok()) {
      return std::move(model).error().at(quoted((*artifact)->name), " is made for ",
                                         join(named.kinds), "; ", devices_text(runtime));
    }
  }
  return model;
}

Result<std::vector<std::string>> choose_devices(Runtime& runtime, const Module& model,
                                                const DeviceOptions& options) {
  const Artifact& artifact = *reinterpret_cast<const ModuleNode*>(model.get())->artifact;
  const NamedDevices named = named_by(artifact, runtime);
  if (!options.names.empty()) {
    GANTRY_CHECK(check_given(runtime, artifact, named, options.names));
    return options.names;
  }
  for (const std::string& kind : named.kinds) {
    const auto id = runtime.device(kind);
    if (id.ok()) continue;
    if (options.allow_missing && !named.required) return std::vector<std::string>{std::string(cpu)};
    return lacking(runtime, artifact, named, id.error());
  }
  if (named.kinds.front() != cpu && !options.quiet) {
    print_error(text_line("gantry: runs on ", join(named.kinds), ", for which ",
                          quoted(artifact.name), " is made"));
  }
  return named.kinds;
}

}  // namespace gantry::cli
