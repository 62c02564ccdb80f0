// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/breaker.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace gantry::test {
namespace {

// Every function calls this first. Calls breaker().inside, then throws if the test requests it.
void enter(const char* function) {
  if (breaker().inside) breaker().inside(function);
  if (breaker().throws_in == function)
    throw std::runtime_error(std::string("breaker: thrown in ") + function);
}

bool fails(const char* function) { return breaker().fails_in == function; }

gantry_code fail(gantry_status* status) {
  return gantry_fail(status, breaker().code, "TEST", breaker().error_text.c_str()), breaker().code;
}

gantry_code call(void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
                 gantry_status* status) {
  enter("call");
  if (fails("call")) return fail(status);
  const Breaker& b = breaker();
  if (b.call) return b.call(result, status);
  if (!b.text.empty())
    return b.host->text_new(b.host, GANTRY_STRING, {b.text.data(), b.text.size()}, result, status);
  result->kind = GANTRY_INT;
  result->i = b.reads_kept ? *b.kept : 0;
  return GANTRY_OK;
}

constexpr gantry_function_table kFunction = {.struct_size = sizeof(gantry_function_table),
                                             .call = call};

constexpr gantry_module_table kModule = {
    .struct_size = sizeof(gantry_module_table),
    .type_name = "test.break",
    .destroy = [](void*) { enter("module.destroy"); },
    .get_function = [](void*, gantry_bytes name, gantry_function* out,
                       gantry_status* status) -> gantry_code {
      enter("get_function");
      if (fails("get_function")) {
        if (breaker().writes_although_it_fails) *out = {nullptr, &kFunction};
        return fail(status);
      }
      if (std::string_view(name.data, name.size) != "call") return GANTRY_NOT_FOUND;
      const gantry_function_table* table =
          breaker().function_table != nullptr ? breaker().function_table : &kFunction;
      *out = {nullptr, breaker().function_without_table ? nullptr : table};
      return GANTRY_OK;
    },
    .list_functions = [](void*, const gantry_visitor* visitor,
                         gantry_status* status) -> gantry_code {
      enter("list_functions");
      gantry_function_info info{};
      info.struct_size = sizeof info;
      info.name = gantry_text("call");
      return visitor->visit(visitor->self, breaker().function_info.value_or(&info), status);
    }};

gantry_code load_binary(void*, const gantry_blob* blob, gantry_object* self_module,
                        gantry_module* module, std::uint64_t* consumed, gantry_status* status) {
  Breaker& b = breaker();
  // Payloads may be loaded in parallel; tests that read these fields load one.
  std::atomic_ref(b.self_module).store(self_module);
  enter("load_binary");
  std::atomic_ref(b.self_module).store(nullptr);
  if (fails("load_binary")) {
    if (b.writes_although_it_fails) *module = {nullptr, &kModule};
    return fail(status);
  }
  std::atomic_ref(b.kept).store(blob->data);
  if (b.keeps_pin) gantry_retain(blob->pin);
  std::uint64_t size = 0;
  if (blob->size >= sizeof size) std::memcpy(&size, blob->data, sizeof size);
  *consumed = b.consumed < 0 ? sizeof size + size : static_cast<std::uint64_t>(b.consumed);
  *module = {nullptr, b.module_table != nullptr ? b.module_table : &kModule};
  return GANTRY_OK;
}

constexpr gantry_loader_table kLoader = {.struct_size = sizeof(gantry_loader_table),
                                         .type_key = "test.break",
                                         .load_binary = load_binary};

constexpr gantry_device_table kDevice = {
    .struct_size = sizeof(gantry_device_table),
    .flags = GANTRY_DEVICE_OPAQUE_DATA,
    .name = "breaker",
    .count = [](void*, std::int32_t* count, gantry_status*) -> gantry_code {
      enter("device.count");
      return *count = 1, GANTRY_OK;
    },
    .attribute = [](void*, std::int32_t, std::int32_t, gantry_value* out,
                    gantry_status* status) -> gantry_code {
      enter("device.attribute");
      return breaker().attribute ? breaker().attribute(out, status) : GANTRY_NOT_FOUND;
    },
    .alloc = [](void*, std::int32_t, const gantry_alloc* what, void** data,
                gantry_status*) -> gantry_code {
      enter("device.alloc");
      return *data = std::malloc(what->size + 1), GANTRY_OK;
    },
    .free =
        [](void*, std::int32_t, void* data) {
          enter("device.free");
          std::free(data);
        },
    .copy = [](void*, std::int32_t, const gantry_copy* what, void*, gantry_status*) -> gantry_code {
      enter("device.copy");
      std::memcpy(static_cast<char*>(what->to.data) + what->to.byte_offset,
                  static_cast<const char*>(what->from.data) + what->from.byte_offset, what->size);
      return GANTRY_OK;
    }};
constexpr gantry_plugin_table kPlugin = {
    .struct_size = sizeof(gantry_plugin_table),
    .abi = GANTRY_PLUGIN_ABI,
    .id = "test.breaker",
    .version = "1.0.0",
    .vendor = "gantry",
    .display_name = "breaks rules",
    .license = "Apache-2.0",
    .loader_count = 1,
    .device_count = 1,
    .create = [](const gantry_host* host, void**, gantry_status* status) -> gantry_code {
      breaker().host = host;
      enter("create");
      return fails("create") ? fail(status) : GANTRY_OK;
    },
    .destroy = [](void*) { enter("destroy"); }};

}  // namespace

Breaker& breaker() {
  static Breaker only;
  return only;
}

gantry_device_table right_device_table() { return kDevice; }
gantry_module_table right_module_table() { return kModule; }

// The tables depend on the test, so each query builds them again; the core copies them.
const gantry_plugin_table* query_breaker(const gantry_host_info*, gantry_status*) {
  static gantry_loader_table loader;
  static gantry_plugin_table plugin;
  static const gantry_loader_table* loaders[1];
  static const gantry_device_table* devices[1];
  enter("query");
  loader = kLoader;
  loader.device = breaker().loader_device;
  loader.flags = breaker().loader_flags;
  loaders[0] = &loader;
  devices[0] = breaker().device_table != nullptr ? breaker().device_table : &kDevice;
  plugin = kPlugin;
  plugin.loaders = loaders;
  plugin.devices = devices;
  return &plugin;
}

}  // namespace gantry::test
