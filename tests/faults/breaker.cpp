// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/breaker.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace gantry::test {
namespace {

// What each function does first: is seen, throws.
void enter(const char* function) {
  if (breaker().inside) breaker().inside(function);
  if (breaker().throws_in == function)
    throw std::runtime_error(std::string("breaker: thrown in ") + function);
}

bool fails(const char* function) { return breaker().fails_in == function; }

gantry_code fail(gantry_status* status) {
  return gantry_fail(status, breaker().code, "TEST", breaker().says.c_str()), breaker().code;
}

gantry_code call(void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
                 gantry_status* status) {
  enter("call");
  if (fails("call")) return fail(status);
  const Breaker& b = breaker();
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
                       gantry_status*) -> gantry_code {
      enter("get_function");
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
  b.self_module = self_module;
  enter("load_binary");
  b.self_module = nullptr;
  if (fails("load_binary")) return fail(status);
  b.kept = blob->data;
  if (b.keeps_pin) b.host->retain(b.host, blob->pin);
  std::uint64_t size = 0;
  std::memcpy(&size, blob->data, sizeof size);
  *consumed = b.consumed < 0 ? sizeof size + size : static_cast<std::uint64_t>(b.consumed);
  *module = {nullptr, b.module_table != nullptr ? b.module_table : &kModule};
  return GANTRY_OK;
}

constexpr gantry_loader_table kLoader = {.struct_size = sizeof(gantry_loader_table),
                                         .type_key = "test.break",
                                         .load_binary = load_binary};
constexpr const gantry_loader_table* kLoaders[] = {&kLoader};

constexpr gantry_device_table kDevice = {
    .struct_size = sizeof(gantry_device_table),
    .flags = GANTRY_DEVICE_OPAQUE_DATA,
    .name = "breaker",
    .count = [](void*, std::int32_t* count, gantry_status*) -> gantry_code {
      enter("device.count");
      return *count = 1, GANTRY_OK;
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
constexpr const gantry_device_table* kDevices[] = {&kDevice};

constexpr gantry_plugin_table kPlugin = {
    .struct_size = sizeof(gantry_plugin_table),
    .abi = {GANTRY_ABI_MAJOR, 0, GANTRY_ABI_MINOR, 0},
    .id = "test.breaker",
    .version = "1.0.0",
    .vendor = "gantry",
    .display_name = "breaks rules",
    .license = "Apache-2.0",
    .loaders = kLoaders,
    .devices = kDevices,
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

const gantry_plugin_table* query_breaker(const gantry_host_info*, gantry_status*) {
  enter("query");
  return &kPlugin;
}

}  // namespace gantry::test
