// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

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

  // Kernels may still run: waits for them. Failures tell nobody anything, the driver may be gone.
  ~OnDevice() {
    const Result<ContextScope> scope = device.enter();
    if (!scope.ok()) return;
    device.driver.context_synchronize.function();
    device.driver.module_unload.function(module);
  }
};

namespace {

// A compiler's log as lines of place, of a length that fits into an error.
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
    error.at("driver: ", shown_utf8(line.substr(0, 200)));
    ++lines;
  }
}

}  // namespace

Module::Module(Plugin& plugin, Payload payload) : plugin_(plugin), payload_(std::move(payload)) {
  kernels_.reserve(payload_.calls.size());
  for (std::size_t i = 0; i < payload_.calls.size(); ++i) {
    kernels_.push_back({this, i, &payload_.calls[i]});
  }
}

Module::~Module() = default;

Kernel* Module::find(std::string_view name) {
  const KernelInfo* const info = payload_.kernels.find(name);
  if (info == nullptr) return nullptr;
  return &kernels_[static_cast<std::size_t>(info - payload_.kernels.kernels().data())];
}

Error Module::wrong_architecture(const Device& device) const {
  const std::string own = architecture_text(device.architecture());
  return unavailable("cuda: payload has ", payload_.image.text(), ", ", device.text(), " is ", own,
                     "; export the model for ", own,
                     ", or as PTX for it or an earlier one, which later devices run too")
      .with_reason("BLOB_ARCH");
}

Error Module::explain(const Device& device, CUresult result, const std::string& log) const {
  const Driver& driver = device.driver;
  const Architecture latest = driver.latest_ptx();
  const bool has_later = payload_.image.has_later_ptx(latest);
  const bool is_of_code = result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_INVALID_IMAGE ||
                          result == CUDA_ERROR_INVALID_SOURCE;

  Error error = driver.failed(driver.module_load_data.name, result);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    error = wrong_architecture(device).native("CUDA", result);
  } else if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || (is_of_code && has_later)) {
    const std::string up_to =
        latest == Architecture{} ? ""
                                 : concat(" and knows PTX up to ", latest.major, '.', latest.minor);
    error = unavailable("cuda: payload has ", payload_.image.text(), ", the driver of ",
                        device.text(), " is CUDA ", driver.version_text(), up_to,
                        "; install a later driver, or export the model with a CUDA Toolkit of "
                        "that version or as a cubin for ",
                        architecture_text(device.architecture()))
                .with_reason("PTX_VERSION")
                .native("CUDA", result);
  } else if (is_of_code) {
    error.reason = "BLOB_CODE";
    error.at("while loading ", payload_.image.text(), " on ", device.text());
  } else {
    error.at("while loading ", payload_.image.text(), " on ", device.text());
    if (result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) {
      error.at("PTX is compiled by libnvidia-ptxjitcompiler.so.1, which comes with the driver");
    }
  }
  add_log(error, log);
  return error;
}

Result<CUmodule> Module::load_image(Device& device) {
  const Driver& driver = device.driver;
  const Image& image = payload_.image;
  if (image.verdict(device.architecture()) == GANTRY_VERDICT_NO) return wrong_architecture(device);

  // The driver reads PTX up to a NUL, which the file does not have.
  std::string text;
  const void* code = image.code.data();
  if (image.kind == Image::Kind::ptx) {
    text.assign(reinterpret_cast<const char*>(image.code.data()), image.code.size());
    code = text.c_str();
  }
  std::string log(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  const CUresult result = driver.module_load_data.function(
      &module, code, static_cast<unsigned>(std::size(options)), options, values);
  if (result != CUDA_SUCCESS) return explain(device, result, log);
  return module;
}

// The lock is held.
Result<Module::OnDevice*> Module::load(Device& device) {
  const auto index = static_cast<std::size_t>(device.index());
  if (devices_[index] == nullptr) {
    GANTRY_TRY(const CUmodule module, load_image(device));
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
                                                             kernel.call->name().c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    return not_found("kernel ", quoted(kernel.call->name()),
                     " is in the payload's table, but not in its ", payload_.image.text())
        .with_reason("KERNEL")
        .native("CUDA", found);
  }
  if (found != CUDA_SUCCESS) return driver.failed(driver.module_get_function.name, found);
  if (kernel.call->tags().has_dynamic_shared_memory) {
    int limit = 0;
    GANTRY_CHECK(driver.call(driver.function_get_attribute, &limit,
                             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, made->function));
    made->dynamic_shared_limit = limit;
  }
  location = std::move(made);
  there->ready[kernel.index].store(location.get(), std::memory_order_release);
  return location.get();
}

// ---- the tables ----------------------------------------------------------------------------------

namespace {

Module& module_of(void* self) { return *static_cast<Module*>(self); }

// What the launch of this version leaves out, told when the kernel is asked for and not when it is called.
Status check_launch(const KernelCall& call) {
  const auto refuse = [&](std::string_view what) {
    return unsupported("kernel ", quoted(call.name()), " wants ", what,
                       ", which this version of gantry.cuda does not launch")
        .with_reason("LAUNCH_TAG");
  };
  const LaunchTags& tags = call.tags();
  if (tags.has_cluster() || tags.has_preferred_cluster()) return refuse("clusters of blocks");
  if (tags.is_cooperative) return refuse("a cooperative launch");
  return {};
}

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  Kernel* const kernel = module_of(self).find(view_of(name));
  if (kernel == nullptr) return GANTRY_NOT_FOUND;
  return abi_boundary(status, [&]() -> Status {
    GANTRY_CHECK(check_launch(*kernel->call));
    *out = {kernel, &launch_table};
    return {};
  });
}

gantry_code list_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  for (const KernelInfo& kernel : module_of(self).payload().kernels.kernels()) {
    const gantry_function_info info{sizeof info, 0, bytes_of(kernel.name), {}};
    if (const gantry_code code = visitor->visit(visitor->self, &info, status); code != GANTRY_OK) {
      return code;
    }
  }
  return GANTRY_OK;
}

gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    write_payload(module_of(self).payload(), *sink);
    return {};
  });
}

gantry_code load_binary(void* self, const gantry_blob* blob, gantry_object*, gantry_module* out,
                        std::uint64_t* consumed, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Plugin& plugin = *static_cast<Plugin*>(self);
    std::uint64_t read_bytes = 0;
    GANTRY_TRY(Payload payload, read_payload(*blob, &read_bytes));
    *out = {new Module(plugin, std::move(payload)), &module_table};
    *consumed = read_bytes;
    return {};
  });
}

gantry_code check_binary(void* self, const gantry_blob* blob, std::int32_t device_index,
                         std::int32_t* verdict, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Plugin& plugin = *static_cast<Plugin*>(self);
    std::uint64_t read_bytes = 0;
    GANTRY_TRY(const Payload payload, read_payload(*blob, &read_bytes));
    GANTRY_TRY(const Architecture device, plugin.devices.architecture(device_index));
    *verdict = payload.image.verdict(device);
    // PTX alone, of a version that the driver does not know. In a fatbin another part may do.
    GANTRY_TRY(const Driver* const driver, plugin.devices.driver());
    if (payload.image.kind == Image::Kind::ptx &&
        payload.image.has_later_ptx(driver->latest_ptx())) {
      *verdict = GANTRY_VERDICT_NO;
    }
    return {};
  });
}

}  // namespace

const gantry_module_table module_table = {
    .struct_size = sizeof(gantry_module_table),
    .flags = 0,
    .type_name = "cuda",
    .destroy = [](void* self) { delete static_cast<Module*>(self); },
    .get_function = get_function,
    .list_functions = list_functions,
    .save_binary = save_binary,
};

const gantry_loader_table loader_table = {
    .struct_size = sizeof(gantry_loader_table),
    .flags = GANTRY_LOADER_PARALLEL,
    .type_key = "cuda",
    .device = "cuda",
    .load_binary = load_binary,
    .check_binary = check_binary,
};

}  // namespace gantry::cuda
