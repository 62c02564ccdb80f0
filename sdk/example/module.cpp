// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "launch.hpp"

#include <gantry/abi_boundary.hpp>

namespace abacus {
namespace {

// What a function's self is. It lives in its module, which the host keeps as long as the function.
struct Callable {
  const Plugin* plugin;
  Kernel kernel;
};

struct Module {
  std::vector<Callable> callables;
  // of the payload
  std::span<const std::uint8_t> bytes;
  // keeps them
  gantry::ObjectRef pin;
};

gantry_code call(void* self, const gantry_env* env, const gantry_value* args, std::int32_t count,
                 gantry_value*, gantry_status* status) {
  return gantry::abi_boundary(status, [&] {
    const auto& callable = *static_cast<const Callable*>(self);
    return launch(*callable.plugin, callable.kernel, *env,
                  std::span(args, static_cast<std::size_t>(count < 0 ? 0 : count)));
  });
}

constexpr gantry_function_table function_table = {sizeof(gantry_function_table), 0, nullptr, call};

void destroy(void* self) { delete static_cast<Module*>(self); }

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out, gantry_status*) {
  for (Callable& callable : static_cast<Module*>(self)->callables) {
    if (callable.kernel.call.name() != gantry::view_of(name)) continue;
    *out = {&callable, &function_table};
    return GANTRY_OK;
  }
  return GANTRY_NOT_FOUND;
}

gantry_code list_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  for (const Callable& callable : static_cast<Module*>(self)->callables) {
    const gantry_function_info info{
        sizeof info, 0, gantry::bytes_of(callable.kernel.call.name()), {}};
    if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
  }
  return GANTRY_OK;
}

gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  const auto& module = *static_cast<Module*>(self);
  return sink->write(sink->self, module.bytes.data(), module.bytes.size(), status);
}

constexpr gantry_module_table module_table = {sizeof(gantry_module_table),
                                              0,
                                              "example.abacus",
                                              destroy,
                                              get_function,
                                              list_functions,
                                              save_binary};

gantry_code load_binary(void* self, const gantry_blob* blob, gantry_object*, gantry_module* out,
                        std::uint64_t* consumed, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    const auto& plugin = *static_cast<const Plugin*>(self);
    GANTRY_TRY(Payload payload, read_payload(*blob));
    auto module = std::make_unique<Module>();
    for (Kernel& kernel : payload.kernels)
      module->callables.push_back({&plugin, std::move(kernel)});
    module->bytes = {blob->data, payload.size};
    module->pin = gantry::ObjectRef::share(blob->pin);
    *out = {module.release(), &module_table};
    *consumed = payload.size;
    return {};
  });
}

gantry_code check_binary(void* self, const gantry_blob* blob, std::int32_t device_index,
                         std::int32_t* verdict, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_CHECK(static_cast<const Plugin*>(self)->device(device_index));
    GANTRY_CHECK(read_payload(*blob));
    *verdict = GANTRY_VERDICT_OPTIMAL;
    return {};
  });
}

}  // namespace

const gantry_loader_table loader = {sizeof(gantry_loader_table),
                                    GANTRY_LOADER_PARALLEL,
                                    "example.abacus",
                                    "abacus",
                                    load_binary,
                                    check_binary};

}  // namespace abacus
