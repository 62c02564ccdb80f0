// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "plugin.hpp"

#include <gantry/progress.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::vulkan {
namespace {

// Returns a part of the key of a payload's pipeline cache. A collision is harmless: drivers compare
// cached pipelines with the shader.
std::string digest_of(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return concat(Hex{DiskCache::digest(text)}, ' ', bytes.size());
}

}  // namespace

Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(Payload payload, read_payload(blob));
  std::unique_ptr<Module> module(new Module(plugin, std::move(payload)));
  for (const KernelInfo& info : module->payload_.table.kernels()) {
    auto made = make_kernel(info, *module->payload_.shader_of(info.name));
    // A kernel that this version cannot run is an error of its look-up, not of the load: callers
    // may need only other kernels.
    if (!made.ok() && made.error().code != Code::unsupported) return std::move(made).failure();
    auto kernel = std::make_unique<LoadedKernel>(std::move(made));
    kernel->module = module.get();
    module->kernels_.push_back(std::move(kernel));
  }
  return module;
}

Result<std::int32_t> Module::check(Plugin& plugin, Blob& blob, std::int32_t device_index) {
  GANTRY_TRY(const Payload payload, read_payload(blob));
  GANTRY_TRY(const Gpu* const gpu, plugin.gpu(device_index));
  // Every driver compiles SPIR-V.
  std::int32_t verdict = GANTRY_VERDICT_RECOMPILE;
  for (const KernelInfo& info : payload.table.kernels()) {
    const auto kernel = make_kernel(info, *payload.shader_of(info.name));
    if (!kernel.ok() && kernel.error().code != Code::unsupported) return kernel.error();
    if (!kernel.ok() || !check_kernel(*gpu, *kernel).ok()) verdict = GANTRY_VERDICT_NO;
  }
  return verdict;
}

Module::~Module() {
  for (const auto& kernel : kernels_) {
    for (std::int32_t i = 0; i < max_devices; ++i) {
      auto& owned = kernel->owned[static_cast<std::size_t>(i)];
      if (owned) plugin_.started(i)->discard(std::move(owned));
    }
  }
}

Result<LoadedKernel*> Module::find(std::string_view name) const {
  const auto index = payload_.table.index_of(name);
  if (!index) return nullptr;
  LoadedKernel* const found = kernels_[*index].get();
  if (!found->kernel.ok()) return found->kernel.error();
  return found;
}

Status Module::prepare(const gantry_env& env, std::span<const gantry_device_id> devices) {
  Status first;
  for (const gantry_device_id id : devices) {
    GANTRY_TRY(Device* const device, plugin_.device(id.index));
    for (const auto& kernel : kernels_) {
      GANTRY_CHECK(plugin_.host().check_task(&env));
      const auto prepared = [&]() -> Status {
        if (!kernel->kernel.ok()) return kernel->kernel.error();
        GANTRY_CHECK(pipeline(*kernel, *device));
        return {};
      };
      Status made = prepared();
      if (!made.ok() && first.ok()) first = std::move(made);
    }
  }
  return first;
}

PipelineCache& Module::cache(const Device& device) {
  const std::lock_guard lock(mutex_);
  auto& cache = caches_[static_cast<std::size_t>(device.index())];
  if (!cache) {
    cache = std::make_unique<PipelineCache>(device, plugin_.disk(), digest_of(payload_.kept.bytes));
  }
  return *cache;
}

Result<const Pipeline*> Module::pipeline(LoadedKernel& kernel, Device& device) {
  const auto index = static_cast<std::size_t>(device.index());
  std::atomic<const Pipeline*>& location = kernel.pipelines[index];
  if (const Pipeline* const ready = location.load(std::memory_order_acquire)) return ready;
  const std::lock_guard lock(kernel.building);
  if (const Pipeline* const ready = location.load(std::memory_order_acquire)) return ready;
  const AnnouncedWork work(plugin_.host(),
                           concat("compiling kernel ", quoted(kernel.kernel->call.name()), " for ",
                                  std::string_view(device.gpu().properties.deviceName)));
  GANTRY_TRY(kernel.owned[index],
             build_pipeline(device, kernel.kernel.value(), cache(device).handle()));
  location.store(kernel.owned[index].get(), std::memory_order_release);
  return kernel.owned[index].get();
}

}  // namespace gantry::vulkan
