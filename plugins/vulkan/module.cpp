// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "launch.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::vulkan {
namespace {

// FNV-1a of 64 bits: names a module's compiled kernels; a driver checks again whether they are the shader's.
std::string digest_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : bytes) sum = (sum ^ byte) * 0x100000001b3u;
  return concat(Hex{sum}, ' ', bytes.size());
}

}  // namespace

Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, const gantry_blob& blob,
                                             std::uint64_t* consumed) {
  GANTRY_TRY(const Payload payload, read_payload(blob));
  std::unique_ptr<Module> module(new Module(plugin));
  for (const KernelInfo& info : payload.table.kernels()) {
    const Shader& shader = *payload.shader_of(info.name);
    auto made = make_kernel(info, shader);
    // What this version cannot run is told when it is asked for: the others may be all that is wanted.
    if (!made.ok() && made.error().code != Code::unsupported) return std::move(made).failure();
    auto kernel = std::make_unique<LoadedKernel>(std::move(made));
    kernel->module = module.get();
    kernel->name = shader.kernel;
    module->by_name_.emplace(kernel->name, kernel.get());
    module->kernels_.push_back(std::move(kernel));
  }
  module->pin_ = ObjectRef::share(blob.pin);
  module->bytes_ = std::span(blob.data, payload.size);
  *consumed = payload.size;
  return module;
}

Module::~Module() {
  for (const auto& kernel : kernels_) {
    for (std::int32_t i = 0; i < max_devices; ++i) {
      auto& owned = kernel->owned[static_cast<std::size_t>(i)];
      if (owned) plugin_.started(i)->discard(std::move(owned));
    }
  }
}

LoadedKernel* Module::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

PipelineCache& Module::cache(const Device& device) {
  const std::lock_guard lock(mutex_);
  auto& cache = caches_[static_cast<std::size_t>(device.index())];
  if (!cache) {
    cache = std::make_unique<PipelineCache>(device, plugin_.disk(), digest_of(bytes_));
  }
  return *cache;
}

Result<const Pipeline*> Module::pipeline(LoadedKernel& kernel, Device& device) {
  const auto index = static_cast<std::size_t>(device.index());
  std::atomic<const Pipeline*>& location = kernel.pipelines[index];
  if (const Pipeline* const ready = location.load(std::memory_order_acquire)) return ready;
  const std::lock_guard lock(kernel.building);
  if (const Pipeline* const ready = location.load(std::memory_order_acquire)) return ready;
  GANTRY_TRY(kernel.owned[index],
             build_pipeline(device, kernel.kernel.value(), cache(device).handle()));
  location.store(kernel.owned[index].get(), std::memory_order_release);
  return kernel.owned[index].get();
}

namespace {

Module& module_at(void* self) { return *static_cast<Module*>(self); }

void destroy(void* self) { delete static_cast<Module*>(self); }

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  LoadedKernel* const kernel = module_at(self).find(view_of(name));
  if (kernel == nullptr) return GANTRY_NOT_FOUND;
  if (!kernel->kernel.ok()) return to_status(kernel->kernel.error(), status);
  *out = {kernel, &launch_table};
  return GANTRY_OK;
}

gantry_code list_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  for (const auto& kernel : module_at(self).kernels()) {
    const gantry_function_info info{sizeof info, 0, bytes_of(kernel->name), {}};
    if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
  }
  return GANTRY_OK;
}

gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  const auto bytes = module_at(self).bytes();
  return sink->write(sink->self, bytes.data(), bytes.size(), status);
}

constexpr gantry_module_table module_table = {
    sizeof(gantry_module_table), 0, "vulkan", destroy, get_function, list_functions, save_binary};

gantry_code load_binary(void* self, const gantry_blob* blob, gantry_object*, gantry_module* out,
                        std::uint64_t* consumed, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(auto module, Module::load(*static_cast<Plugin*>(self), *blob, consumed));
    *out = {module.release(), &module_table};
    return {};
  });
}

gantry_code check_binary(void* self, const gantry_blob* blob, std::int32_t device,
                         std::int32_t* verdict, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const Payload payload, read_payload(*blob));
    GANTRY_TRY(const Gpu* const gpu, static_cast<Plugin*>(self)->gpu(device));
    // SPIR-V is compiled by every driver
    std::int32_t found = GANTRY_VERDICT_RECOMPILE;
    for (const KernelInfo& info : payload.table.kernels()) {
      const auto kernel = make_kernel(info, *payload.shader_of(info.name));
      if (!kernel.ok() && kernel.error().code != Code::unsupported) return kernel.error();
      if (!kernel.ok() || !check_kernel(*gpu, *kernel).ok()) found = GANTRY_VERDICT_NO;
    }
    *verdict = found;
    return {};
  });
}

}  // namespace

const gantry_loader_table loader_table = {sizeof(gantry_loader_table),
                                          GANTRY_LOADER_PARALLEL,
                                          "vulkan",
                                          "vulkan",
                                          load_binary,
                                          check_binary};

}  // namespace gantry::vulkan
