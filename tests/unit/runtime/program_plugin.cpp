// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/program_plugin.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace gantry::test {
namespace {

struct Block {
  std::string text;
};

gantry_code call_block(void*, const gantry_env* env, const gantry_value* args, std::int32_t count,
                       gantry_value* result, gantry_status* status) {
  if (!program_plugin().call) return GANTRY_OK;
  return program_plugin().call(env, args, count, result, status);
}

constexpr gantry_function_table kCall = {.struct_size = sizeof(gantry_function_table),
                                         .call = call_block};
constexpr gantry_function_table kText = {
    .struct_size = sizeof(gantry_function_table),
    .call = [](void* self, const gantry_env*, const gantry_value*, std::int32_t,
               gantry_value* result, gantry_status* status) -> gantry_code {
      const std::string& text = static_cast<Block*>(self)->text;
      const gantry_host* host = program_plugin().host;
      return host->text_new(host, GANTRY_STRING, {text.data(), text.size()}, result, status);
    }};

constexpr gantry_module_table kBlock = {
    .struct_size = sizeof(gantry_module_table),
    .type_name = "test.block",
    .destroy =
        [](void* self) {
          delete static_cast<Block*>(self);
          --program_plugin().modules;
        },
    .get_function = [](void* self, gantry_bytes name, gantry_function* out,
                       gantry_status*) -> gantry_code {
      const std::string_view asked(name.data, name.size);
      if (asked == program_plugin().call_name) return *out = {self, &kCall}, GANTRY_OK;
      if (asked == "text") return *out = {self, &kText}, GANTRY_OK;
      return GANTRY_NOT_FOUND;
    }};

gantry_code load_block(void*, const gantry_blob* blob, gantry_object*, gantry_module* module,
                       std::uint64_t* consumed, gantry_status* status) {
  ProgramPlugin& plugin = program_plugin();
  ++plugin.loads;
  plugin.last_was_exact = (blob->flags & GANTRY_BLOB_EXACT) != 0;
  plugin.last = *blob;
  plugin.last_key.assign(blob->type_key.data, blob->type_key.size);
  plugin.last_origin.assign(blob->origin.data, blob->origin.size);
  if (plugin.loading) plugin.loading();
  std::uint64_t size = 0;
  if (blob->size < sizeof size)
    return gantry_fail(status, GANTRY_MALFORMED, "BLOB_TRUNCATED", "block: no length");
  std::memcpy(&size, blob->data, sizeof size);
  if (size > blob->size - sizeof size)
    return gantry_fail(status, GANTRY_MALFORMED, "BLOB_TRUNCATED", "block: cut");
  *consumed = sizeof size + size + plugin.lie;
  if (plugin.no_module) return GANTRY_OK;
  ++plugin.modules;
  *module = {new Block{std::string(reinterpret_cast<const char*>(blob->data) + sizeof size, size)},
             &kBlock};
  return GANTRY_OK;
}

gantry_code check_block(void*, const gantry_blob*, std::int32_t, std::int32_t* verdict,
                        gantry_status*) {
  return *verdict = program_plugin().verdict, GANTRY_OK;
}

constexpr gantry_loader_table kLoader = {.struct_size = sizeof(gantry_loader_table),
                                         .type_key = "test.block",
                                         .load_binary = load_block,
                                         .check_binary = check_block};
constexpr gantry_loader_table kUnit = {.struct_size = sizeof(gantry_loader_table),
                                       .flags = GANTRY_LOADER_PARALLEL,
                                       .type_key = "test.unit",
                                       .device = "test_npu",
                                       .load_binary = load_block};
constexpr gantry_loader_table kBroken = {
    .struct_size = sizeof(gantry_loader_table),
    .type_key = "test.broken",
    .load_binary = [](void*, const gantry_blob*, gantry_object*, gantry_module*, std::uint64_t*,
                      gantry_status*) -> gantry_code { return GANTRY_UNAVAILABLE; }};
constexpr const gantry_loader_table* kLoaders[] = {&kLoader, &kBroken, &kUnit};

constexpr gantry_device_table kDevice = {
    .struct_size = sizeof(gantry_device_table),
    .flags = GANTRY_DEVICE_OPAQUE_DATA,
    .name = "test_npu",
    .count = [](void*, std::int32_t* count, gantry_status*) -> gantry_code {
      return *count = program_plugin().count, GANTRY_OK;
    },
    .alloc = [](void*, std::int32_t, const gantry_alloc* what, void** data,
                gantry_status*) -> gantry_code {
      ++program_plugin().blocks;
      return *data = std::malloc(what->size + 1), GANTRY_OK;
    },
    .free =
        [](void*, std::int32_t, void* data) {
          --program_plugin().blocks;
          program_plugin().late_frees += program_plugin().instances == 0 ? 1 : 0;
          std::free(data);
        },
    .copy = [](void*, std::int32_t, const gantry_copy* what, void*, gantry_status*) -> gantry_code {
      std::memcpy(static_cast<char*>(what->to.data) + what->to.byte_offset,
                  static_cast<const char*>(what->from.data) + what->from.byte_offset, what->size);
      return GANTRY_OK;
    },
    .synchronize = [](void*, std::int32_t index, void*, gantry_status* status) -> gantry_code {
      program_plugin().synchronized.push_back(index);
      if (!program_plugin().is_lost) return GANTRY_OK;
      return gantry_fail(status, GANTRY_UNAVAILABLE, "LOST", "the unit is lost");
    }};
constexpr const gantry_device_table* kDevices[] = {&kDevice};

gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  ProgramPlugin& plugin = program_plugin();
  plugin.host = host;
  if (plugin.creating) plugin.creating();
  if (const gantry_code code =
          host->device_type(host, gantry_text("test_npu"), &plugin.device_number, status)) {
    return code;
  }
  if (plugin.refusals > 0) {
    --plugin.refusals;
    return gantry_fail(status, GANTRY_UNAVAILABLE, "", "the unit is busy");
  }
  ++plugin.instances;
  return *self = &plugin, GANTRY_OK;
}

constexpr gantry_plugin_table kPlugin = {.struct_size = sizeof(gantry_plugin_table),
                                         .abi = GANTRY_PLUGIN_ABI,
                                         .id = "test.program",
                                         .version = "1.0.0",
                                         .vendor = "gantry",
                                         .display_name = "a plugin of the test program",
                                         .license = "Apache-2.0",
                                         .loaders = kLoaders,
                                         .devices = kDevices,
                                         .loader_count = 3,
                                         .device_count = 1,
                                         .create = create,
                                         .destroy = [](void*) {
                                           ProgramPlugin& plugin = program_plugin();
                                           --plugin.instances;
                                           if (plugin.destroying) plugin.destroying();
                                         }};

}  // namespace

ProgramPlugin& program_plugin() {
  static ProgramPlugin plugin;
  return plugin;
}

const gantry_plugin_table* query_program_plugin(const gantry_host_info*, gantry_status*) {
  return &kPlugin;
}

}  // namespace gantry::test
