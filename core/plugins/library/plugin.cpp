// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/plugin.hpp"

#include "core/base/process_end.hpp"
#include "core/base/process_state.hpp"
#include "core/base/reason.hpp"
#include "core/base/thread_end.hpp"
#include "core/plugins/library/compatible.hpp"
#include "core/plugins/library/library_handle.hpp"
#include "core/plugins/library/table_copy.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/device_name.hpp>
#include <gantry/join.hpp>

#include <cstring>

namespace gantry {
namespace {

using Query = decltype(&gantry_plugin_query_v1);

// Calls the query. An exception violates its contract and must not terminate the process.
//
// id       [in]   of the manifest; empty: a plugin of the program
Result<const gantry_plugin_table*> run_query(Query query, const gantry_host_info& core,
                                             std::string_view subject, std::string_view id) {
  StatusBuffer buffer;
  const gantry_plugin_table* table = nullptr;
  const auto owner = [&] { return concat("plugin ", subject); };
  const gantry_code code = call_plugin(
      buffer, "gantry_plugin_query_v1", id, owner, [&](gantry_status* status) -> gantry_code {
        table = query(&core, status);
        if (table != nullptr) return GANTRY_OK;
        return status->code != GANTRY_OK ? status->code : GANTRY_UNSUPPORTED;
      });
  if (code == GANTRY_OK) return table;
  Error error = buffer.error(code, concat(subject, ": gantry_plugin_query_v1"));
  if (!reason_of(error)) error.reason = reason::query_failed.tag;
  if (reason_of(error) == reason::struct_size) {
    error.at("gantry_host_info of this core has ", core.struct_size,
             " bytes; a plugin accepts structs that are larger than its own (HOST-1 in ABI.md): "
             "install another version of it");
  }
  return error;
}

Failure limit_error(std::string_view subject, std::string_view count_name, std::uint32_t count,
                    std::uint32_t limit) {
  return malformed(no_offset, subject, ": ", count_name, " is ", count, ", limit is ", limit)
      .with_reason(reason::table_limit.tag);
}

// Copies a list of tables.
template <class Table>
Result<std::vector<Table>> copy_list(const Table* const* list, std::uint32_t count,
                                     std::uint32_t limit, std::string_view noun,
                                     std::string_view subject) {
  if (count > limit)
    return limit_error(subject, concat("gantry.plugin/1.", noun, "_count"), count, limit);
  std::vector<Table> copies;
  if (count == 0) return copies;
  if (!list) {
    return malformed(no_offset, subject, ": gantry.plugin/1.", noun, "s is empty, ", noun,
                     "_count is ", count)
        .with_reason(reason::function_missing.tag);
  }
  copies.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    GANTRY_TRY(const Table copy, copy_table(list[i], concat(subject, ", ", noun, " ", i)));
    copies.push_back(copy);
  }
  return copies;
}

Status check_names(const LoadedPlugin& plugin, std::string_view subject) {
  for (std::size_t i = 0; i < plugin.loaders.size(); ++i) {
    const char* key = plugin.loaders[i].type_key;
    const std::size_t size = strnlen(key, kMaxLengthTypeKey + 1);
    if (size == 0 || size > kMaxLengthTypeKey) {
      return malformed(no_offset, subject, ", loader ", i, ": type key of ",
                       size == 0 ? "0" : "over 256", " bytes, expected 1 to ", kMaxLengthTypeKey)
          .with_reason(reason::table_limit.tag);
    }
    if (plugin.loader(key) != &plugin.loaders[i]) {
      return malformed(no_offset, subject, ": type key \"", key, "\" is offered twice")
          .with_reason(reason::key_duplicate.tag);
    }
  }
  for (const gantry_device_table& device : plugin.devices) {
    const std::string_view name(device.name, strnlen(device.name, kMaxLengthTypeKey + 1));
    if (!is_device_name(name) || name.size() > kMaxLengthTypeKey) {
      return malformed(no_offset, subject, ": device name \"", name.substr(0, kMaxLengthTypeKey),
                       "\", expected [a-z][a-z0-9_]*")
          .with_reason(reason::table_limit.tag);
    }
    if (plugin.device(name) != &device) {
      return malformed(no_offset, subject, ": device \"", name, "\" is offered twice")
          .with_reason(reason::key_duplicate.tag);
    }
  }
  return {};
}

// id       [in]   as in run_query()
Result<std::shared_ptr<LoadedPlugin>> read_table(Query query, const gantry_host_info& core,
                                                 std::string_view subject, std::string_view id) {
  GANTRY_TRY(const gantry_plugin_table* const theirs, run_query(query, core, subject, id));
  auto plugin = std::make_shared<LoadedPlugin>();
  GANTRY_TRY(plugin->table, copy_table(theirs, subject));
  const gantry_plugin_table& table = plugin->table;
  plugin->id.assign(table.id, strnlen(table.id, 65));
  const std::string version(table.version, strnlen(table.version, 129));
  const std::string name = concat("plugin ", plugin->id, " ", version);
  GANTRY_TRY(plugin->abi_minor, negotiate({plugin->id, version}, table.abi, core.abi));
  if (const std::string expected = check_plugin_id(plugin->id); !expected.empty()) {
    return malformed(no_offset, subject, ": id is \"", plugin->id, "\", expected ", expected)
        .with_reason(reason::id_mismatch.tag);
  }
  auto parsed = Version::parse(version);
  if (!parsed.ok()) {
    return malformed(no_offset, subject, ": ", parsed.error().message)
        .with_reason(reason::version_mismatch.tag);
  }
  plugin->version = std::move(*parsed);
  GANTRY_TRY(plugin->loaders,
             copy_list(table.loaders, table.loader_count, kMaxLoaders, "loader", name));
  GANTRY_TRY(plugin->devices,
             copy_list(table.devices, table.device_count, kMaxDevices, "device", name));
  GANTRY_CHECK(check_names(*plugin, name));
  return plugin;
}

std::string dlpack_text(std::int32_t dlpack) { return dlpack == 0 ? "ext" : concat(dlpack); }

// Tensors on the device have that number in DLPack, also for programs that only read the manifest.
// ext_dev's number is `ext` for a device with another name, as 0 is. Numbers that are none are
// refused when the device is registered.
Status check_number(const Manifest& manifest, const ManifestDevice& device, std::int32_t type) {
  constexpr std::int32_t numbers = 64;
  if (type == ext_dev_type && device.name != "ext_dev") type = 0;
  if (device.dlpack == type || type < 0 || type >= numbers) return {};
  return malformed(no_offset, manifest.file, " declares dlpack ", dlpack_text(device.dlpack),
                   " of device \"", device.name, "\", its table in ", manifest.library_path,
                   " has type ", type, type == 0 ? ", which is ext" : "")
      .with_reason(reason::device_mismatch.tag);
}

// Compares the claims of the manifest, which the note repeats, with the tables of the library.
Status check_claims(const Manifest& manifest, LoadedPlugin& plugin) {
  const auto mismatch = [&](const Reason& why, std::string_view what, std::string_view claimed,
                            std::string_view found) {
    return malformed(no_offset, manifest.file, " and the note of ", manifest.library_path,
                     " declare ", what, " ", claimed, ", gantry_plugin_query_v1 returns ", found,
                     ": build the note and gantry_plugin_table from the same definitions")
        .with_reason(why.tag);
  };
  if (manifest.id != plugin.id) return mismatch(reason::id_mismatch, "id", manifest.id, plugin.id);
  if (manifest.version.text != plugin.version.text) {
    return mismatch(reason::version_mismatch, "version", manifest.version.text,
                    plugin.version.text);
  }
  const gantry_abi_range claimed{manifest.abi.major, manifest.abi.min_minor, manifest.abi.max_minor,
                                 0};
  const gantry_abi_range& built = plugin.table.abi;
  if (describe(claimed) != describe(built)) {
    return mismatch(reason::abi_mismatch, "ABI", describe(claimed), describe(built));
  }
  for (const ManifestKey& key : manifest.keys) {
    if (plugin.loader(key.key)) continue;
    return malformed(no_offset, manifest.file, " offers type key \"", key.key, "\", ",
                     manifest.library_path, " has no loader for it")
        .with_reason(reason::key_not_offered.tag);
  }
  for (const ManifestDevice& device : manifest.devices) {
    const gantry_device_table* const table = plugin.device(device.name);
    if (table == nullptr) {
      return malformed(no_offset, manifest.file, " offers device \"", device.name, "\", ",
                       manifest.library_path, " has no table for it")
          .with_reason(reason::key_not_offered.tag);
    }
    GANTRY_CHECK(check_number(manifest, device, table->type));
  }
  for (const gantry_loader_table& loader : plugin.loaders) {
    if (manifest.key_for(loader.type_key)) continue;
    plugin.warnings.push_back(Message(manifest.file, " does not offer type key \"", loader.type_key,
                                      "\", which the library can load"));
  }
  return {};
}

// Runs the constructors of the library and its query.
Result<std::shared_ptr<LoadedPlugin>> open_library(const Manifest& manifest,
                                                   const Inspection& inspection,
                                                   const gantry_host_info& core,
                                                   const std::function<void()>& mapped) {
  auto handle = [&] {
    const CallRecord record("a constructor", manifest.id);
    return LibraryHandle::open(manifest.library_path, *inspection.file);
  }();
  if (!handle.ok()) {
    const Reason why = reason_of(handle.error());
    if (why == reason::replaced_during_load || why == reason::exhausted)
      return std::move(handle).failure();
    // The linker does not report which library needs a missing one, nor where it searched.
    const auto explained = inspect_plugin(manifest, core.abi, Depth::dependencies);
    if (explained.ok()) return std::move(handle).error();
    Error error = explained.error();
    return std::move(error.at("linker message: ", handle.error().message));
  }
  GANTRY_CHECK(handle->confirm(*inspection.file));
  const auto query = reinterpret_cast<Query>(handle->symbol("gantry_plugin_query_v1"));
  if (!query) {
    return malformed(no_offset, manifest.library_path, " does not export gantry_plugin_query_v1")
        .with_reason(reason::query_missing.tag);
  }
  watch_plugin(concat(manifest.id, " ", manifest.version.text),
               reinterpret_cast<const void*>(query));
  watch_process_end();
  mapped();
  auto opened = read_table(query, core, manifest.library_path, manifest.id);
  if (!opened.ok()) {
    Error error = std::move(opened).error();
    if (reason_of(error) == reason::struct_size) {
      error.at("plugin ", manifest.title(), " supports ABI ", describe(inspection.note.abi),
               ", this core supports ", describe(core.abi));
    }
    return error;
  }
  const std::shared_ptr<LoadedPlugin> plugin = *std::move(opened);
  GANTRY_CHECK(check_claims(manifest, *plugin));
  plugin->library = manifest.library_path;
  plugin->identity = inspection.file->identity();
  plugin->warnings.insert(plugin->warnings.end(), inspection.warnings.begin(),
                          inspection.warnings.end());
  return plugin;
}

}  // namespace

const gantry_loader_table* LoadedPlugin::loader(std::string_view type_key) const {
  for (const gantry_loader_table& loader : loaders) {
    if (type_key == loader.type_key) return &loader;
  }
  return nullptr;
}

const gantry_device_table* LoadedPlugin::device(std::string_view name) const {
  for (const gantry_device_table& device : devices) {
    if (name == device.name) return &device;
  }
  return nullptr;
}

Result<std::shared_ptr<const LoadedPlugin>> open_plugin(const Manifest& manifest,
                                                        const gantry_host_info& core) {
  GANTRY_TRY(const Inspection inspection, inspect_plugin(manifest, core.abi, Depth::library));
  return open_plugin(manifest, inspection, core);
}

Result<std::shared_ptr<const LoadedPlugin>> open_plugin(const Manifest& manifest,
                                                        const Inspection& inspection,
                                                        const gantry_host_info& core,
                                                        OpenedPlugins* opened,
                                                        const std::function<void()>& mapped) {
  std::optional<OpenedPlugins::Claim> claim;
  if (opened != nullptr) {
    GANTRY_TRY(OpenedPlugins::Claim own, opened->claim(manifest, *inspection.file));
    claim.emplace(std::move(own));
  }
  const auto is_mapped = [&] {
    if (claim) claim->keep();
    if (mapped) mapped();
  };
  // The linker does not release its lock if a constructor is unwound.
  const NoCancellation guard;
  ProcessState before(ProcessState::Scope::signals);
  auto plugin = open_library(manifest, inspection, core, is_mapped);
  const std::vector<std::string_view> changed = before.restore();
  if (!plugin.ok()) return std::move(plugin).failure();
  if (!changed.empty()) {
    (*plugin)->warnings.push_back(concat(manifest.library_path, " changes ", join(changed),
                                         " while it is opened; gantry has restored it"));
  }
  return std::shared_ptr<const LoadedPlugin>(*std::move(plugin));
}

Result<std::shared_ptr<const LoadedPlugin>> adopt_plugin(Query query,
                                                         const gantry_host_info& core) {
  GANTRY_TRY(std::shared_ptr<LoadedPlugin> plugin,
             read_table(query, core, "the program's plugin", {}));
  return std::shared_ptr<const LoadedPlugin>(std::move(plugin));
}

Manifest manifest_of(const LoadedPlugin& plugin) {
  Manifest manifest;
  manifest.id = plugin.id;
  manifest.version = plugin.version;
  manifest.display_name = plugin.table.display_name;
  manifest.vendor = plugin.table.vendor;
  manifest.license = plugin.table.license;
  manifest.abi = {plugin.table.abi.major, plugin.table.abi.min_minor, plugin.table.abi.max_minor};
  for (const gantry_loader_table& loader : plugin.loaders)
    manifest.keys.push_back({loader.type_key, {}, {}});
  for (const gantry_device_table& device : plugin.devices) {
    ManifestDevice& offered = manifest.devices.emplace_back();
    offered.name = device.name;
    offered.dlpack = device.type;
  }
  return manifest;
}

}  // namespace gantry
