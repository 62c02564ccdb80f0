// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "plugin.hpp"

#include <gantry/join.hpp>
#include <gantry/progress.hpp>
#include <gantry/quoted.hpp>

#include <optional>
#include <utility>

namespace gantry::cuda {

struct Module::OnDevice {
  Device& device;
  CUmodule module;
  std::unique_ptr<std::atomic<LoadedKernel*>[]> ready;
  std::vector<std::unique_ptr<LoadedKernel>> kernels;

  OnDevice(Device& where, CUmodule loaded, std::size_t kernel_count)
      : device(where),
        module(loaded),
        ready(std::make_unique<std::atomic<LoadedKernel*>[]>(kernel_count)),
        kernels(kernel_count) {}

  // Waits for running kernels. Failures are ignored: the driver may already be shut down.
  ~OnDevice() {
    const Result<ContextScope> scope = device.enter();
    if (!scope.ok()) return;
    device.driver.context_synchronize.function();
    device.driver.module_unload.function(module);
  }
};

namespace {

// Adds a compiler's log as lines of context, truncated to the size of an error.
void add_log(Error& error, std::string_view log) {
  constexpr std::size_t max_lines = 12;
  std::size_t lines = 0;
  while (!log.empty() && lines < max_lines) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const std::size_t nul = line.find('\0'); nul != line.npos) {
      line = line.substr(0, nul);
      log = {};
    }
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    error.at("driver: ", line.substr(0, 200));
    ++lines;
  }
}

// Rejects unsupported launch tags when the kernel is looked up, not when it is called.
Status check_launch(const KernelCall& call) {
  const auto refuse = [&](std::string_view what) {
    return unsupported("kernel ", quoted(call.name()), " requires ", what,
                       ", which this version of gantry.cuda does not launch")
        .with_reason("LAUNCH_TAG");
  };
  const LaunchTags& tags = call.tags();
  if (tags.has_cluster() || tags.has_preferred_cluster()) return refuse("clusters of blocks");
  if (tags.is_cooperative) return refuse("a cooperative launch");
  return {};
}

}  // namespace

Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(Payload payload, read_payload(blob));
  return std::make_unique<Module>(plugin, std::move(payload));
}

Result<std::int32_t> Module::check(Plugin& plugin, Blob& blob, std::int32_t device_index) {
  GANTRY_TRY(const Payload payload, read_payload(blob));
  GANTRY_TRY(const CUdevice handle, plugin.gpus.handle(device_index));
  GANTRY_TRY(const Driver* const driver, plugin.gpus.driver());
  GANTRY_TRY(const Architecture device, architecture_of(*driver, handle));
  if (payload.is_source()) {
    const Result<const Nvrtc*> nvrtc = plugin.compiler.nvrtc();
    const bool compiles = nvrtc.ok() && (*nvrtc)->architecture_for(device).ok();
    return compiles ? GANTRY_VERDICT_RECOMPILE : GANTRY_VERDICT_NO;
  }
  // The driver does not support this PTX version; another part of a fatbin may run.
  const Image& image = payload.image;
  if (image.kind == Image::Kind::ptx && image.has_later_ptx(driver->latest_ptx()))
    return GANTRY_VERDICT_NO;
  return image.verdict(device);
}

Module::Module(Plugin& plugin, Payload payload) : plugin_(plugin), payload_(std::move(payload)) {
  kernels_.reserve(payload_.calls.size());
  for (std::size_t i = 0; i < payload_.calls.size(); ++i) {
    kernels_.push_back({this, i, &payload_.calls[i]});
  }
}

Module::~Module() = default;

Result<Kernel*> Module::find(std::string_view name) {
  const auto index = payload_.kernels.index_of(name);
  if (!index) return nullptr;
  GANTRY_CHECK(check_launch(payload_.calls[*index]));
  return &kernels_[*index];
}

Status Module::prepare(const gantry_env& env, std::span<const gantry_device_id> devices) {
  Status first;
  for (const gantry_device_id id : devices) {
    GANTRY_TRY(Device* const device, plugin_.gpus.at(id.index));
    GANTRY_TRY(const ContextScope scope, device->enter());
    for (const Kernel& kernel : kernels_) {
      GANTRY_CHECK(plugin_.host.check_task(&env));
      const auto prepared = [&]() -> Status {
        GANTRY_CHECK(check_launch(*kernel.signature));
        GANTRY_CHECK(loaded(kernel, *device));
        return {};
      };
      Status made = prepared();
      if (made.ok()) continue;
      if (first.ok()) first = std::move(made);
      // Each further kernel would compile the code again.
      if (loaded_[static_cast<std::size_t>(device->index())].load() == nullptr) break;
    }
  }
  return first;
}

std::string Module::text_of(const Image& image) const {
  if (!payload_.is_source()) return image.text();
  return concat(payload_.text(), ", compiled to ", image.text());
}

std::string Module::work_text(const Device& device) const {
  const auto name = [](const KernelCall& call) { return quoted(call.name()); };
  return concat("compiling kernels ", join(payload_.calls, ", ", name, 3), " for ", device.text());
}

Error Module::wrong_architecture(const Device& device, const Image& image) const {
  const std::string own = architecture_text(device.architecture());
  return unavailable("cuda: payload has ", text_of(image), ", ", device.text(), " is ", own,
                     "; export the model for ", own,
                     ", or as PTX for it or an earlier one, which later devices run too")
      .with_reason("BLOB_ARCH");
}

Error Module::explain(const Device& device, const Image& image, CUresult result,
                      const std::string& log) const {
  const Driver& driver = device.driver;
  const Architecture latest = driver.latest_ptx();
  const bool has_later = image.has_later_ptx(latest);
  const bool is_of_code = result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_INVALID_IMAGE ||
                          result == CUDA_ERROR_INVALID_SOURCE;

  Error error = driver.failed(driver.module_load_data.name, result);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    error = wrong_architecture(device, image).native("CUDA", result);
  } else if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || (is_of_code && has_later)) {
    const std::string up_to = latest == Architecture{} ? ""
                                                       : concat(" and supports PTX up to ",
                                                                latest.major, '.', latest.minor);
    error = unavailable("cuda: payload has ", text_of(image), ", the driver of ", device.text(),
                        " is CUDA ", driver.version_text(), up_to,
                        "; install a later driver, or export the model with a CUDA Toolkit of "
                        "that version or as a cubin for ",
                        architecture_text(device.architecture()))
                .with_reason("PTX_VERSION")
                .native("CUDA", result);
  } else {
    if (is_of_code) error.reason = "BLOB_CODE";
    error.at("while loading ", text_of(image), " on ", device.text());
    if (result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) {
      error.at("PTX is compiled by libnvidia-ptxjitcompiler.so.1, which comes with the driver");
    }
  }
  add_log(error, log);
  return error;
}

Result<CUmodule> Module::load_code(Device& device) {
  if (!payload_.is_source()) return load_image(device, payload_.image);
  GANTRY_TRY(const std::string code,
             plugin_.compiler.compile(payload_.source, device.architecture(), work_text(device)));
  GANTRY_TRY(const Image image, read_image(ByteReader::of_text(code)));
  return load_image(device, image);
}

Result<CUmodule> Module::load_image(Device& device, const Image& image) {
  const Driver& driver = device.driver;
  if (image.verdict(device.architecture()) == GANTRY_VERDICT_NO) {
    return wrong_architecture(device, image);
  }

  // The driver reads PTX up to a NUL, which the payload does not contain.
  std::string text;
  const void* code = image.code.data();
  if (image.kind == Image::Kind::ptx) {
    text.assign(reinterpret_cast<const char*>(image.code.data()), image.code.size());
    code = text.c_str();
  }
  std::optional<AnnouncedWork> work;
  if (image.verdict(device.architecture()) == GANTRY_VERDICT_RECOMPILE) {
    work.emplace(plugin_.host, work_text(device));
  }
  std::string log(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  const CUresult result = driver.module_load_data.function(
      &module, code, static_cast<unsigned>(std::size(options)), options, values);
  if (result != CUDA_SUCCESS) return explain(device, image, result, log);
  return module;
}

// Requires the lock.
Result<Module::OnDevice*> Module::load(Device& device) {
  const auto index = static_cast<std::size_t>(device.index());
  if (devices_[index] == nullptr) {
    GANTRY_TRY(const CUmodule module, load_code(device));
    devices_[index] = std::make_unique<OnDevice>(device, module, kernels_.size());
    loaded_[index].store(devices_[index].get(), std::memory_order_release);
  }
  return devices_[index].get();
}

Result<LoadedKernel*> Module::loaded(const Kernel& kernel, Device& device) {
  OnDevice* there =
      loaded_[static_cast<std::size_t>(device.index())].load(std::memory_order_acquire);
  if (there != nullptr) {
    LoadedKernel* const ready = there->ready[kernel.index].load(std::memory_order_acquire);
    if (ready != nullptr) return ready;
  }
  const std::lock_guard lock(mutex_);
  GANTRY_TRY(there, load(device));
  std::unique_ptr<LoadedKernel>& location = there->kernels[kernel.index];
  if (location != nullptr) return location.get();
  const Driver& driver = device.driver;
  auto made = std::make_unique<LoadedKernel>();
  const CUresult found = driver.module_get_function.function(&made->function, there->module,
                                                             kernel.signature->name().c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    return not_found("kernel ", quoted(kernel.signature->name()),
                     " is in the payload's table, but not in its ", payload_.text())
        .with_reason("KERNEL")
        .native("CUDA", found);
  }
  if (found != CUDA_SUCCESS) return driver.failed(driver.module_get_function.name, found);
  if (kernel.signature->tags().has_dynamic_shared_memory) {
    int limit = 0;
    GANTRY_CHECK(driver.call(driver.function_get_attribute, &limit,
                             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, made->function));
    made->dynamic_shared_limit = limit;
  }
  location = std::move(made);
  there->ready[kernel.index].store(location.get(), std::memory_order_release);
  return location.get();
}

}  // namespace gantry::cuda
