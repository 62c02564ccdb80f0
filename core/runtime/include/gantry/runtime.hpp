// SPDX-License-Identifier: Apache-2.0
//
// gantry/runtime.hpp - the API for embedders: a runtime, the modules that it loads, their functions
// and tensors.
//
//     auto runtime  = gantry::Runtime::create();
//     auto model    = runtime->load("digits.so");
//     auto executor = runtime->executor(*model, {"cpu"});
//     executor->set_input("x", *x);
//     executor->run();
//     auto y = executor->output(0);
//
// Everything here is a handle: copying one adds a reference. What is returned keeps what it needs
// alive, the runtime included, so handles may be dropped in any order and on any thread. There is no
// global state: two runtimes can exist in one process. Errors are returned as Result
// (gantry/result.hpp), never thrown; memory that is out is Code::exhausted. Functions that return a
// bare text or list throw std::bad_alloc, as the text itself does.
#pragma once

#include <gantry/gantry.h>
#include <gantry/result.hpp>
#include <gantry/runtime/device_info.hpp>
#include <gantry/runtime/executor.hpp>
#include <gantry/runtime/module.hpp>
#include <gantry/runtime/options.hpp>
#include <gantry/runtime/task.hpp>
#include <gantry/runtime/tensor.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// core/runtime/state.hpp
struct RuntimeState;

class GANTRY_EXPORT Runtime {
 public:
  // Reads the configuration and the manifests of plugins; opens no plugin.
  static Result<Runtime> create(RuntimeOptions options = {});

  // Loads an artifact: its own library, and every module in it through the plugin that serves its
  // type key. The same file loaded again is the same module while its root is alive.
  //
  // returns  malformed, unsupported: the file; unavailable, reason NO_PLUGIN: all type keys without a
  //          usable plugin, what was searched and what would serve them; the error of a plugin
  // costs    bare dlopen plus microseconds; payloads are not copied
  Result<Module> load(const std::string& path, const LoadOptions& options = {});

  // Calls a model's factory function.
  //
  // model    [in]   a module with such a function, itself or in its imports
  // devices  [in]   "cpu", "opencl:1"; at least one; the first runs the parts of the graph that name
  //                 no device
  // factory  [in]   the function's name; "default" in files of TVM's exporter. "cuda_graph_create":
  //                 the device records the second run and replays it from then on; unsupported where
  //                 a device does not record
  Result<Executor> executor(const Module& model, std::span<const std::string> devices,
                            std::string_view factory = "default");
  Result<Executor> executor(const Module& model, std::initializer_list<std::string> devices,
                            std::string_view factory = "default") {
    return executor(model, std::span(devices.begin(), devices.size()), factory);
  }

  // Adds a plugin that is part of the program, before all others.
  //
  // query    [in]   its gantry_plugin_query_v1
  Status add_plugin(const gantry_plugin_table* (*query)(const gantry_host_info*, gantry_status*));

  // Binds modules of the model that had no usable plugin when it was loaded and have one now: a
  // plugin that was added, or one that no longer fails when it is opened.
  //
  // model    [in]   as load() returned it
  // returns  as load(), where some are still missing; the others are bound
  Status bind_missing(const Module& model);

  // "cpu", "opencl:1" as a device id. Opens the plugin that serves the device.
  Result<gantry_device_id> device(std::string_view name);
  // Every device of every installed plugin, the CPU first; failures of plugins go to `problems`.
  std::vector<DeviceInfo> devices(std::vector<std::string>& problems);

  // A new tensor, content undefined.
  Result<Tensor> tensor(std::span<const std::int64_t> shape, gantry_dtype dtype,
                        std::string_view device = "cpu");
  Result<Tensor> tensor(std::initializer_list<std::int64_t> shape, gantry_dtype dtype) {
    return tensor(std::span(shape.begin(), shape.size()), dtype);
  }
  // Copies between devices and shapes of equal element count.
  Status copy(const Tensor& from, const Tensor& to);

  // The tensors of a .npy (one, without a name), .npz or .params file, on the CPU.
  Result<std::vector<std::pair<std::string, Tensor>>> read_tensors(const std::string& path);

  // The spans recorded so far as a Chrome trace; empty list without RuntimeOptions::trace.
  std::string trace_json() const;

  // Waits until the work in the default stream of a device is done.
  //
  // returns  not_found, unavailable: no such device; what failed in the stream since the last time
  // thread   any
  Status synchronize(gantry_device_id device) const;
  // The function table of a device, for code that uses the C ABI. Valid as long as the runtime. Its
  // plugin is opened.
  //
  // returns  not_found, unavailable: no such device
  Result<gantry_device> device_table(gantry_device_id device) const;
  // The plugins that were opened so far: "gantry.graph 0.1.0".
  std::vector<std::string> plugins_in_use() const;

 private:
  // core/runtime/installed_plugins.hpp
  friend class InstalledPlugins;
  explicit Runtime(std::shared_ptr<RuntimeState> state) : state_(std::move(state)) {}
  std::shared_ptr<RuntimeState> state_;
};

// The core's version, "0.1.0".
GANTRY_EXPORT std::string_view core_version();

}  // namespace gantry
