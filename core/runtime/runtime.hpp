// SPDX-License-Identifier: Apache-2.0
//
// gantry/runtime.hpp - what an embedder holds: a runtime, the modules it loads, their functions, tensors.
//
//     auto runtime  = gantry::Runtime::create();                       // plugins are found, none is opened yet
//     auto model    = runtime->load("digits.so");                      // opens the plugins that the file needs
//     auto executor = runtime->executor(*model, {"cpu"});
//     executor->set_input("x", *x);  executor->run();  auto y = executor->output(0);
//
// Everything here is a handle: copying one adds a reference. Whatever is handed out keeps what it needs alive, the
// runtime included, so handles may be dropped in any order and on any thread. No global state: two runtimes can
// live in one process. Errors come as Result (gantry/result.hpp), never as exceptions; memory that is out is
// Code::exhausted. Only what returns a bare text or list throws, and only std::bad_alloc, as the text itself does.
#pragma once

#include <gantry/gantry.h>
#include <gantry/result.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gantry {

// core/runtime/state.hpp
struct RuntimeState;
class Function;
class Module;
class Runtime;

// One reference to an object of the runtime; empty by default.
class GANTRY_EXPORT Object {
 public:
  Object() = default;
  Object(const Object& other);
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() {
    if (object_ != nullptr) drop(object_);
  }

  explicit operator bool() const { return object_ != nullptr; }
  gantry_object* get() const { return object_; }

  // Takes over one reference. For code that also speaks the C ABI.
  static Object adopt(gantry_object* object);
  // Gives one reference back.
  static void drop(gantry_object* object);

 protected:
  gantry_object* object_ = nullptr;
};

// A DLPack tensor with an owner.
class GANTRY_EXPORT Tensor : public Object {
 public:
  Tensor() = default;
  // precondition: a tensor
  explicit Tensor(Object object) : Object(std::move(object)) {}

  // Precondition of all: not empty.
  gantry_tensor* dlpack() const;
  gantry_dtype dtype() const { return dlpack()->dtype; }
  std::span<const std::int64_t> shape() const {
    return {dlpack()->shape, static_cast<std::size_t>(dlpack()->ndim)};
  }
  std::uint64_t byte_size() const;
  // "float32[1, 64] on cpu:0"
  std::string describe() const;

  // First element, where the CPU can read it: device "cpu", else NULL.
  void* data() const;
  // precondition: data() is not NULL, T has the element's size
  template <class T>
  std::span<T> elements() const {
    return {static_cast<T*>(data()), byte_size() / sizeof(T)};
  }
  // Row `index` of the first axis, as a tensor of the other axes. A view.
  Result<Tensor> row(std::int64_t index) const;
};

// Whatever a function returned: none, a number, a text, an object.
class GANTRY_EXPORT Any {
 public:
  Any() = default;
  Any(const Any& other);
  Any(Any&& other) noexcept : value_(std::exchange(other.value_, gantry_value{})) {}
  Any& operator=(Any other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Any() {
    if (value_.kind >= GANTRY_OBJECT) Object::drop(value_.object);
  }

  const gantry_value& value() const { return value_; }
  // for a call's result; precondition: is_none()
  gantry_value* slot() { return &value_; }
  bool is_none() const { return value_.kind == GANTRY_NONE; }
  // invalid: "value is a tensor, expected an integer"
  Result<std::int64_t> integer() const;
  Result<double> number() const;
  Result<std::string> text() const;
  Result<Tensor> tensor() const;
  Result<Function> function() const;
  Result<Module> module() const;
  // An array's items, or a map's keys and values in turn.
  Result<std::vector<Any>> items() const;

  // Takes over the reference, if it holds one.
  static Any adopt(const gantry_value& value) {
    Any any;
    any.value_ = value;
    return any;
  }
  // adds one
  static Any share(const gantry_value& value);

 private:
  gantry_value value_{};
};

// A packed function.
class GANTRY_EXPORT Function : public Object {
 public:
  Function() = default;
  // precondition: a function
  explicit Function(Object object) : Object(std::move(object)) {}

  // env      [in]   where it runs; NULL: the CPU, default stream
  // thread   any, in parallel; an executor's functions one at a time
  Result<Any> call(std::span<const gantry_value> args, const gantry_env* env = nullptr) const;

  // Numbers, texts, tensors, device ids, Any, in any mix.
  template <class... Args>
  Result<Any> operator()(const Args&... args) const {
    const gantry_value values[] = {argument(args)..., gantry_value{}};
    return call(std::span(values, sizeof...(args)));
  }

 private:
  template <class T>
  static gantry_value argument(const T& from) {
    gantry_value to{};
    if constexpr (std::is_same_v<T, Any>) {
      to = from.value();
    } else if constexpr (std::is_base_of_v<Object, T>) {
      if (from) to = {from.get()->kind, 0, {}}, to.object = from.get();
    } else if constexpr (std::is_same_v<T, gantry_device_id>) {
      to = {GANTRY_DEVICE, 0, {}}, to.device = from;
    } else if constexpr (std::is_same_v<T, bool>) {
      to = {GANTRY_BOOL, 0, {}}, to.i = from;
    } else if constexpr (std::is_integral_v<T>) {
      to = {GANTRY_INT, 0, {}}, to.i = from;
    } else if constexpr (std::is_floating_point_v<T>) {
      to = {GANTRY_FLOAT, 0, {}}, to.f = from;
    } else if constexpr (std::is_same_v<T, std::string>) {
      to = {GANTRY_CSTRING, 0, {}}, to.cstring = from.c_str();
    } else {
      static_assert(std::is_convertible_v<T, const char*>, "argument kinds: see gantry/value.h");
      to = {GANTRY_CSTRING, 0, {}}, to.cstring = from;
    }
    return to;
  }
};

// A module of a loaded artifact, or one that a function made (an executor).
class GANTRY_EXPORT Module : public Object {
 public:
  Module() = default;
  // precondition: a module
  explicit Module(Object object) : Object(std::move(object)) {}

  std::string type_key() const;
  std::vector<Module> imports() const;
  // Looks in this module, then in its imports. not_found names the unbound modules that were passed.
  Result<Function> function(std::string_view name) const;
  // What this module itself lists.
  Result<std::vector<std::string>> functions() const;
  // Modules of the tree that nobody serves (only after allow_missing), each with the reason in full.
  std::vector<std::string> missing() const;
};

// A graph executor: one thread at a time, many may share one module.
class GANTRY_EXPORT Executor {
 public:
  // Looks the executor's functions up, once.
  //
  // made     [in]   what a factory function returned
  static Result<Executor> wrap(Module made);

  Status set_input(const std::string& name, const Tensor& tensor);
  Status run();
  // Sets these inputs, runs, and gives every output in order.
  Result<std::vector<Tensor>> run(std::span<const std::pair<std::string, Tensor>> inputs);
  Result<std::vector<Tensor>> run(std::initializer_list<std::pair<std::string, Tensor>> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  Result<Tensor> output(
      // the executor's own memory: the next run() writes it
      std::int64_t index) const;
  Result<std::int64_t> output_count() const;
  const Module& module() const { return module_; }

 private:
  Module module_;
  Function set_input_, run_, output_, output_count_;
};

// What a call belongs to: hand `env()` to Function::call, and cancel() from any thread.
class Task {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // lifetime the task must outlive the call
  gantry_env env(gantry_device_id device = {1, 0}) const { return {device, nullptr, this}; }

 private:
  std::atomic<bool> cancelled_{false};
};

struct LoadOptions {
  // keep modules that nobody serves as unbound placeholders
  bool allow_missing = false;
};

struct RuntimeOptions {
  // empty: /etc/gantry/runtime.yaml where present
  std::string config_file;
  // before all other places
  std::vector<std::string> plugin_dirs;
  // manifests, before plugin_dirs
  std::vector<std::string> plugin_files;
  // search no other place
  bool only_these_plugins = false;
  // of the pool, caller included; 0: the configuration's, else all allowed CPUs
  int threads = 0;
  // "error" "warning" "info" "debug"; empty: the configuration's
  std::string log_level;
  // empty: stderr
  std::function<void(std::int32_t level, std::string_view line)> log_sink;
  // record spans for trace_json()
  bool trace = false;
};

struct DeviceInfo {
  // "cpu"
  std::string name;
  // its number
  std::int32_t type;
  std::int32_t index;
  // id; empty: the core
  std::string plugin;
  std::vector<std::pair<std::string, std::string>> attributes;
};

class GANTRY_EXPORT Runtime {
 public:
  // Reads the configuration and finds plugins by their manifests; opens none.
  static Result<Runtime> create(RuntimeOptions options = {});

  // Loads an artifact: its own library, and every module in it through the plugin that serves its type key. The
  // same file loaded again is the same module while anything of it is alive.
  //
  // returns  malformed, unsupported: the file; unavailable, reason NO_PLUGIN: all type keys that nobody serves,
  //          what was searched and what would serve them; unavailable: a plugin that is there but cannot
  // costs    bare dlopen plus microseconds; payloads are not copied
  Result<Module> load(const std::string& path, const LoadOptions& options = {});

  // Calls a model's factory function.
  //
  // model    [in]   a module with such a function, itself or in its imports
  // devices  [in]   "cpu", "opencl:1"; the first is where the graph's unplaced parts go; at least one
  // factory  [in]   the function's name; TVM's exporter calls it "default". "cuda_graph_create": the device records
  //                 the second run and replays it from then on; unsupported where a device does not record
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

  // Binds modules of the model that were missing when it was loaded, as far as plugins are there by now: one that was
  // added, or one that failed when it was opened and no longer does.
  //
  // model    [in]   as load() gave it
  // returns  as load(), where some are still missing; those that are not are bound nevertheless
  Status bind_missing(const Module& model);

  // "cpu", "opencl:1" as a device id. Opens the plugin that serves the device.
  Result<gantry_device_id> device(std::string_view name);
  // Every device of every installed plugin, the CPU first; plugins that fail are told of in `problems`.
  std::vector<DeviceInfo> devices(std::vector<std::string>& problems);

  // A new tensor, content undefined.
  Result<Tensor> tensor(std::span<const std::int64_t> shape, gantry_dtype dtype,
                        std::string_view device = "cpu");
  Result<Tensor> tensor(std::initializer_list<std::int64_t> shape, gantry_dtype dtype) {
    return tensor(std::span(shape.begin(), shape.size()), dtype);
  }
  // Copies between devices and shapes of equal element count.
  Status copy(const Tensor& from, const Tensor& to);

  // Tensors of a .npy (one, without a name), .npz or .params file, on the CPU.
  Result<std::vector<std::pair<std::string, Tensor>>> read_tensors(const std::string& path);

  // The spans recorded so far as a Chrome trace; empty list without RuntimeOptions::trace.
  std::string trace_json() const;

  // The parts behind it, for tools built with the core.
  RuntimeState& state() const { return *state_; }

 private:
  explicit Runtime(std::shared_ptr<RuntimeState> state) : state_(std::move(state)) {}
  std::shared_ptr<RuntimeState> state_;
};

// The core's version, "0.1.0".
GANTRY_EXPORT std::string_view core_version();

}  // namespace gantry
