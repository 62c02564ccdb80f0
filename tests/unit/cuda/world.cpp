// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/world.hpp"
#include "tests/support/payload_blob.hpp"

#include <gantry/globals.h>
#include <gantry/abi_boundary.hpp>

namespace gantry::cuda::test {

Bytes payload_of(const std::vector<KernelFields>& kernels, const Bytes& code,
                 std::string_view format) {
  Words words;
  words.str(format).u64(kernels.size());
  for (const KernelFields& kernel : kernels) {
    words.str(kernel.name).str("").u64(kernel.parameters.size());
    for (const char parameter : kernel.parameters) {
      const bool wide = parameter == 'l' || parameter == 'd';
      const int type = parameter == 'i' || parameter == 'l'   ? 0
                       : parameter == 'u'                     ? 1
                       : parameter == 'f' || parameter == 'd' ? 2
                                                              : 3;
      words.u8(static_cast<std::uint8_t>(type)).u8(type == 3 || wide ? 64 : 32).u16(1);
    }
    words.strs(kernel.tags).u64(kernel.parameters.size());
    for (const char parameter : kernel.parameters) words.i32(parameter == 'm' ? 1 : 0);
  }
  words.u64(code.size()).bytes(code);
  return bytes_of_words(words);
}

std::string ptx_with(const std::vector<std::string>& kernels, std::string_view version,
                     std::string_view target) {
  std::string text = concat(".version ", version, "\n.target ", target, "\n.address_size 64\n");
  for (const std::string& kernel : kernels) {
    text.append(concat(".visible .entry ", kernel, "() { ret; }\n"));
  }
  return text;
}

std::string World::fake_library() { return GANTRY_FAKE_CUDA; }

const gantry_plugin_table& World::plugin_table() { return gantry::plugin_table<Plugin>; }

World::World(const std::string& library, const std::map<std::string, std::string>& options) {
  host.options["library"] = library;
  for (const auto& [name, value] : options) host.options[name] = value;
  EXPECT_EQ(plugin_table().create(host.table(), &self_, nullptr), GANTRY_OK);
}
World::~World() { plugin_table().destroy(self_); }

Result<gantry_module> World::load(const Bytes& given, std::int32_t generation) {
  kept_.push_back(std::make_unique<const Bytes>(given));
  const Bytes& payload = *kept_.back();
  gantry_object* const pin = host.new_pin();
  const gantry_blob blob = gantry::test::payload_blob(payload, generation, true, pin);
  StatusBuffer status;
  gantry_module module{};
  std::uint64_t consumed = 0;
  const gantry_code code = plugin_table().loaders[0]->load_binary(self_, &blob, host.node(),
                                                                  &module, &consumed, status.get());
  host.release(pin);
  if (code != GANTRY_OK) return status.error(code, "load_binary");
  EXPECT_EQ(consumed, payload.size());
  return module;
}

Result<gantry_function> World::function(const gantry_module& module, std::string_view name) {
  StatusBuffer status;
  gantry_function function{};
  const gantry_code code =
      module.table->get_function(module.self, bytes_of(name), &function, status.get());
  if (code != GANTRY_OK) return status.error(code, "get_function");
  return function;
}

Status World::call(const gantry_function& function, const std::vector<gantry_value>& args,
                   std::int32_t index, void* stream) {
  const gantry_env env{{cuda_type, index}, stream, nullptr, nullptr};
  StatusBuffer status;
  gantry_value result{};
  const gantry_code code =
      function.table->call(function.self, &env, args.data(), static_cast<std::int32_t>(args.size()),
                           &result, status.get());
  EXPECT_EQ(result.kind, GANTRY_NONE);
  if (code != GANTRY_OK) return status.error(code, "call");
  return {};
}

Status World::call_named(std::string_view name, const std::vector<gantry_value>& args,
                         const gantry_env& env) {
  const auto& globals =
      *static_cast<const gantry_globals*>(plugin_table().get_extension(self_, GANTRY_GLOBALS_1));
  StatusBuffer status;
  gantry_function function{};
  gantry_code code = globals.get_global(self_, bytes_of(name), &function, status.get());
  if (code != GANTRY_OK) return status.error(code, "get_global");
  gantry_value result{};
  code = function.table->call(function.self, &env, args.data(),
                              static_cast<std::int32_t>(args.size()), &result, status.get());
  if (code != GANTRY_OK) return status.error(code, "call");
  return {};
}

Result<void*> World::alloc(std::uint64_t size, std::int32_t index, std::uint64_t alignment) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = size;
  what.alignment = alignment;
  StatusBuffer status;
  void* data = nullptr;
  const gantry_code code = device().alloc(self_, index, &what, &data, status.get());
  if (code != GANTRY_OK) return status.error(code, "alloc");
  return data;
}

Status World::copy(gantry_location from, gantry_location to, std::uint64_t size,
                   std::uint32_t flags, void* stream, std::int32_t index) {
  const gantry_copy what{sizeof what, flags, from, to, size};
  StatusBuffer status;
  const gantry_code code = device().copy(self_, index, &what, stream, status.get());
  if (code != GANTRY_OK) return status.error(code, "copy");
  return {};
}

Status World::synchronize(void* stream, std::int32_t index) {
  StatusBuffer status;
  const gantry_code code = device().synchronize(self_, index, stream, status.get());
  if (code != GANTRY_OK) return status.error(code, "synchronize");
  return {};
}

Status World::upload(void* to, std::span<const float> from, std::int32_t index) {
  return copy(on_host(from.data()), on_cuda(to, 0, index), from.size_bytes(), GANTRY_COPY_BLOCKING,
              nullptr, index);
}
Status World::download(std::span<float> to, void* from, std::int32_t index) {
  return copy(on_cuda(from, 0, index), on_host(to.data()), to.size_bytes(), GANTRY_COPY_BLOCKING,
              nullptr, index);
}

std::int64_t World::live_bytes(std::int32_t index) {
  gantry_value value{};
  EXPECT_EQ(device().attribute(self_, index, GANTRY_ATTRIBUTE_ALLOCATED_BYTES, &value, nullptr),
            GANTRY_OK);
  return value.i;
}

}  // namespace gantry::cuda::test
