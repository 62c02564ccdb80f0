// SPDX-License-Identifier: Apache-2.0
//
// gantry/runtime.hpp - the core's classes: a runtime, modules, functions and tensors. For the command
// line, the demos and the tests; they are not installed. Embedders use gantry/embed.hpp of the SDK.
//
//     auto runtime = gantry::Runtime::create();
//     auto module  = runtime->load("digits.so");
//     auto model   = runtime->model(*module, {"cpu"});
//     auto digits  = model->function();
//     auto outputs = digits->run({{"x", *x}});
//
// The classes are handles: copying one adds a reference. An object keeps everything that it needs
// alive, including the runtime, so handles may be destroyed in any order and on any thread. The last
// one destroys the plugins, in the reverse order of their creation; a process that ends before that
// calls no plugin. There is no global state: two runtimes can exist in one process. Errors are
// returned as Result (gantry/result.hpp), not thrown; exhausted memory is Code::exhausted. Functions
// that return a text or a list without Result may throw std::bad_alloc.
#pragma once

#include <gantry/gantry.h>
#include <gantry/result.hpp>
#include <gantry/runtime/device_info.hpp>
#include <gantry/runtime/executor.hpp>
#include <gantry/runtime/model.hpp>
#include <gantry/runtime/module.hpp>
#include <gantry/runtime/options.hpp>
#include <gantry/runtime/raised_error.hpp>
#include <gantry/runtime/task.hpp>
#include <gantry/runtime/tensor.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// gantry/linked_symbols.h
struct gantry_linked_symbols;

namespace gantry {

// core/engine/runtime/state.hpp
struct RuntimeState;

class Runtime {
 public:
  // Reads the configuration and the manifests of plugins; opens no plugin. The runtime keeps what it
  // has read: a plugin that is installed, upgraded or removed afterwards changes nothing in it. A
  // runtime that is created later has the new state, except that a process opens only one version
  // of a plugin, until it ends: see explain_plugins().
  static Result<Runtime> create(RuntimeOptions options = {});

  // Loads an artifact: its own library, and each of its modules with the plugin that serves its
  // type key. Loading a file again returns the same module while its root is alive.
  //
  // path     [in]   recognized by its content: a shared library; an object, or an ar or tar archive of
  //                 objects and C sources, which the system's compiler links into the user's cache
  //                 directory; a Model Library Format archive, whose module has a function for each of
  //                 several models; a container without its library, whose host code is missing(); a
  //                 parameter file or a graph with the others beside it, as for load_graph()
  // returns  malformed, unsupported  the file
  //          unavailable, reason COMPILER_MISSING; invalid, reason COMPILE_FAILED
  //          unavailable, reason NO_PLUGIN  lists all type keys without a usable plugin, what was
  //                       searched and what would serve them
  //          the error of a plugin
  // costs    dlopen plus microseconds; payloads are not copied. Seconds when a file is linked first
  Result<Module> load(const std::string& path, const LoadOptions& options = {});

  // Loads an artifact that is in memory. Each call returns another module with its own variables.
  //
  // bytes    [in]   as the file of load(), no parameters or graph; copied once, into sealed memory
  // name     [in]   for messages: "model.so"
  // returns  as load(); exhausted; unavailable: the system permits no files in memory
  Result<Module> load_bytes(std::span<const std::uint8_t> bytes,
                            std::string_view name = "artifact in memory",
                            const LoadOptions& options = {});

  // Loads a graph whose library and parameters are in files of their own. Its module is a
  // GraphExecutorFactory, as in an artifact in one file. The parameters are not copied.
  //
  // returns  as load(), for each of the files
  Result<Module> load_graph(const GraphFiles& files, const LoadOptions& options = {});

  // Loads code that is linked into the program; gantry::system_library() of
  // gantry/system_library.hpp calls it. The same module is returned while it is alive.
  //
  // symbols  [in]   valid as long as the runtime
  // prefix   [in]   of the system library
  // returns  not_found: no symbol is registered; invalid, reason LINKED_TWICE: the code belongs to a
  //          module of another runtime, or to one that has ended; else as load()
  Result<Module> load_linked(const gantry_linked_symbols& symbols, std::string_view prefix = {},
                             const LoadOptions& options = {});

  // Creates a model: the virtual machine of a module, or the executors of its graphs.
  //
  // module   [in]   a module that has the executable or the graph, itself or in its imports
  // devices  [in]   "cpu", "opencl:1"; at least one. Code of virtual machines runs on the first; the
  //                 CPU, where the code requires it as well, is added
  // returns  not_found: the module has neither; unsupported: an option that the model does not have;
  //          the errors of the plugin
  Result<Model> model(const Module& module, std::span<const std::string> devices,
                      const ModelOptions& options = {});
  Result<Model> model(const Module& module, std::initializer_list<std::string> devices,
                      const ModelOptions& options = {}) {
    return model(module, std::span(devices.begin(), devices.size()), options);
  }

  // Calls a graph's factory function. An executor is the simplest form of a model.
  //
  // model    [in]   a module that has the function, itself or in its imports
  // devices  [in]   "cpu", "opencl:1"; at least one. The first runs the parts of the graph that
  //                 name no device
  // factory  [in]   the function's name; "default" in files of TVM's exporter. "cuda_graph_create":
  //                 the device records the second run and replays it in later runs; unsupported if
  //                 a device cannot record
  Result<Executor> executor(const Module& model, std::span<const std::string> devices,
                            std::string_view factory = "default");
  Result<Executor> executor(const Module& model, std::initializer_list<std::string> devices,
                            std::string_view factory = "default") {
    return executor(model, std::span(devices.begin(), devices.size()), factory);
  }

  // Adds a plugin that is part of the program. It is preferred to all others.
  //
  // query    [in]   its gantry_plugin_query_v1
  Status add_plugin(const gantry_plugin_table* (*query)(const gantry_host_info*, gantry_status*));

  // A function of the embedder. The arguments are borrowed for the call: gantry/value.hpp reads
  // them, Any::share() keeps an object.
  using AddedFunction = std::function<Result<Any>(std::span<const gantry_value> args)>;
  // Adds a function that compiled code finds by its name, and that is preferred to functions of
  // plugins. It remains until the runtime ends. An error that it returns reaches the caller of the
  // compiled code; one of raised_error() keeps its kind. An exception is reported as by guard()
  // (gantry/abi_boundary.hpp).
  //
  // function [in]   called on any thread, also on several at the same time. The runtime owns it, so
  //                 it must not own a handle of this runtime, its modules or its tensors: the
  //                 runtime would never end
  // returns  invalid  the name is empty or in use, or the function is empty
  // thread   any
  Status add_function(std::string name, AddedFunction function);
  // Returns a function that belongs to no module: one of the core, one that was added, or one that
  // a plugin offers to compiled code, whose plugin is opened.
  //
  // returns  not_found, reason GLOBAL_MISSING: lists the functions of the core and those that were
  //          added; the error of a plugin that offers the function and fails
  // thread   any
  Result<Function> function(std::string_view name) const;

  // Binds modules of the model that had no usable plugin when it was loaded and have one now: a
  // plugin that was added, or one that no longer fails when it is opened.
  //
  // model    [in]   as load() returned it
  // returns  as load(), if some are still missing; the others are bound
  Status bind_missing(const Module& model);

  // Returns the device id of a name: "cpu", "opencl:1". Opens the plugin that serves the device.
  Result<gantry_device_id> device(std::string_view name);
  // Returns every device of every installed plugin, the CPU first. Appends errors of plugins to
  // `problems`.
  std::vector<DeviceInfo> devices(std::vector<Message>& problems);

  // Returns the number of threads that compiled host code uses, including the caller.
  int threads() const;

  // Creates a tensor. Its content is undefined.
  Result<Tensor> tensor(std::span<const std::int64_t> shape, gantry_dtype dtype,
                        std::string_view device = "cpu");
  Result<Tensor> tensor(std::initializer_list<std::int64_t> shape, gantry_dtype dtype) {
    return tensor(std::span(shape.begin(), shape.size()), dtype);
  }
  // Copies a tensor, also between devices, and between shapes of equal element count.
  Status copy(const Tensor& from, const Tensor& to);

  // Reads the tensors of an .npy (one, without a name), .npz or .params file to the CPU.
  Result<std::vector<std::pair<std::string, Tensor>>> read_tensors(const std::string& path);

  // Returns the spans recorded so far as a Chrome trace; an empty list unless
  // RuntimeOptions::trace.
  std::string trace_json() const;

  // Waits until the work in the default stream of a device is done.
  //
  // returns  not_found, unavailable: no such device; a failure of the work in the stream, once
  // thread   any
  Status synchronize(gantry_device_id device) const;
  // Returns the function table of a device, for code that uses the C ABI. Valid as long as the
  // runtime. Opens the plugin.
  //
  // returns  not_found, unavailable: no such device
  Result<gantry_device> device_table(gantry_device_id device) const;
  // Returns the plugins that were opened so far: "gantry.graph 0.1.0".
  std::vector<std::string> plugins_in_use() const;
  // Returns the text of `gantry plugins doctor` for this runtime: for each type key and device every
  // candidate, whether it is chosen, the reason if it is not, and what would make it the chosen one.
  // The reasons STALE_MAPPED and RESTART_NEEDED state that an upgrade requires a restart of the
  // program (sdk/REASONS.md). Runs no code of a plugin.
  //
  // thread   any
  // costs    inspects the libraries of plugins that are not open: milliseconds
  std::string explain_plugins() const;
  // Returns how often a plugin failed and the next one that offers the type key or device was tried
  // instead; each was logged as a warning.
  std::uint64_t fallbacks() const;

  const std::shared_ptr<RuntimeState>& state() const { return state_; }

 private:
  explicit Runtime(std::shared_ptr<RuntimeState> state) : state_(std::move(state)) {}
  std::shared_ptr<RuntimeState> state_;
};

// Returns the core's version: "0.1.0".
std::string_view core_version();

}  // namespace gantry
