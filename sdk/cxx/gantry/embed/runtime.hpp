// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/runtime.hpp - a runtime: it loads artifacts and creates models, tensors and streams.
#pragma once

#include <gantry/compact_tensor.hpp>
#include <gantry/embed/model.hpp>
#include <gantry/embed/module.hpp>
#include <gantry/embed/options.hpp>
#include <gantry/handle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Of dlpack.h.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace gantry {
inline namespace embed_api {

// One device of an installed plugin.
struct DeviceInfo {
  // of the kind: "cpu"
  std::string name;
  gantry_device_id id{};
  // id of the plugin; empty: the core
  std::string plugin;
  std::vector<std::pair<std::string, std::string>> attributes;
  // The same hardware, served by other drivers: "vulkan:0".
  std::vector<std::string> same_as;
};

struct DeviceList {
  std::vector<DeviceInfo> devices;
  // errors of plugins whose devices are therefore not listed
  std::vector<std::string> problems;
};

// thread   any, for all functions
class Runtime : public Object {
 public:
  Runtime() = default;
  // Precondition: `object` is a runtime.
  explicit Runtime(ObjectRef object) : Object(std::move(object)) {}

  // Reads the configuration and the manifests of plugins; opens no plugin.
  static Result<Runtime> create(const RuntimeOptions& options = {}) {
    gantry_runtime_options given{};
    given.struct_size = sizeof given;
    if (options.only_these_plugins) given.flags |= GANTRY_RUNTIME_ONLY_THESE_PLUGINS;
    if (!options.probe) given.flags |= GANTRY_RUNTIME_NO_PROBE;
    if (options.trace) given.flags |= GANTRY_RUNTIME_TRACE;
    const std::vector<gantry_bytes> paths = bytes_of_all(options.plugin_paths);
    given.config_file = bytes_of(options.config_file);
    given.plugin_paths = paths.data();
    given.plugin_path_count = static_cast<std::uint32_t>(paths.size());
    given.threads = options.threads;
    given.pool = options.pool.get();
    given.log_level = bytes_of(options.log_level);
    // The table's 0 is "as configured".
    given.spin_us = options.spin_us == -1 ? 0 : options.spin_us == 0 ? -1 : options.spin_us;
    set_sink(given.log, options.log_sink);
    set_sink(given.work, options.work_sink);
    set_sink(given.output, options.output_sink);
    GANTRY_TRY(ObjectRef made, embed_detail::made_object(
                                   "runtime_new", [&](gantry_object** out, gantry_status* status) {
                                     return embed_table().runtime_new(&given, out, status);
                                   }));
    return Runtime(std::move(made));
  }

  // The functions that plugins use. Valid as long as the runtime.
  Host host() const { return Host(embed_table().host(get())); }

  // Loads an artifact, with a plugin for each type key in it. See gantry_embed::load_file.
  Result<Module> load(std::string_view path, const LoadOptions& options = {}) const {
    return loaded("load_file", options,
                  [&](const auto* how, gantry_object** out, gantry_status* status) {
                    return embed_table().load_file(get(), bytes_of(path), how, out, status);
                  });
  }
  // Loads an artifact that is in memory. See gantry_embed::load_memory.
  //
  // name     [in]   for messages: "model.so"
  Result<Module> load_bytes(std::span<const std::uint8_t> bytes, std::string_view name = {},
                            const LoadOptions& options = {}) const {
    return loaded("load_memory", options,
                  [&](const auto* how, gantry_object** out, gantry_status* status) {
                    return embed_table().load_memory(get(), bytes.data(), bytes.size(),
                                                     bytes_of(name), how, out, status);
                  });
  }
  // Loads an artifact that a function reads, such as one that is decrypted.
  Result<Module> load_reader(const gantry_reader& reader, std::string_view name = {},
                             const LoadOptions& options = {}) const {
    return loaded(
        "load_reader", options, [&](const auto* how, gantry_object** out, gantry_status* status) {
          return embed_table().load_reader(get(), &reader, bytes_of(name), how, out, status);
        });
  }
  Result<Module> load_graph(const GraphFiles& files, const LoadOptions& options = {}) const {
    return loaded(
        "load_graph", options, [&](const auto* how, gantry_object** out, gantry_status* status) {
          return embed_table().load_graph(get(), bytes_of(files.library), bytes_of(files.graph),
                                          bytes_of(files.params), how, out, status);
        });
  }
  // Loads code that is linked into the program: see gantry/system_library.hpp.
  //
  // symbols  [in]   valid as long as the runtime
  Result<Module> load_linked(const gantry_linked_symbols& symbols, std::string_view prefix = {},
                             const LoadOptions& options = {}) const {
    return loaded(
        "load_linked", options, [&](const auto* how, gantry_object** out, gantry_status* status) {
          return embed_table().load_linked(get(), &symbols, bytes_of(prefix), how, out, status);
        });
  }

  // Creates a model: a graph, code compiled ahead of time, or a virtual machine.
  //
  // module   [in]   has it, itself or in its imports
  // devices  [in]   "cpu", "opencl:1"; none: those that the artifact states, else those that run its
  //                 modules, missing ones too, else the CPU
  Result<Model> model(const Module& module, std::span<const std::string> devices,
                      const ModelOptions& options = {}) const {
    const std::vector<gantry_bytes> names = bytes_of_all(devices);
    gantry_model_options given{};
    given.struct_size = sizeof given;
    if (options.capture) given.flags |= GANTRY_MODEL_CAPTURE;
    if (options.prepare) given.flags |= GANTRY_MODEL_PREPARE;
    given.devices = names.empty() ? nullptr : names.data();
    given.device_count = static_cast<std::uint32_t>(names.size());
    given.executors = options.executors;
    GANTRY_TRY(ObjectRef made, embed_detail::made_object("model_new", [&](gantry_object** out,
                                                                          gantry_status* status) {
                 return embed_table().model_new(module.get(), &given, out, status);
               }));
    return Model(std::move(made), *this);
  }
  Result<Model> model(const Module& module, std::initializer_list<std::string> devices = {},
                      const ModelOptions& options = {}) const {
    return model(module, std::span(devices.begin(), devices.size()), options);
  }

  // Adds a plugin that is part of the program. It is preferred to all others.
  Status add_plugin(const gantry_plugin_table* (*query)(const gantry_host_info*,
                                                        gantry_status*)) const {
    return embed_detail::checked("plugin_add", [&](gantry_status* status) {
      return embed_table().plugin_add(get(), query, status);
    });
  }
  // Adds a function that compiled code finds by its name. It must not own a handle of the runtime or
  // of its objects: the runtime would never end.
  Status add_function(std::string_view name, AddedFunction function) const {
    if (!function) return invalid("function_add: the function is empty").with_reason("ARGUMENT");
    const gantry_function given{new AddedFunction(std::move(function)),
                                &embed_detail::added_function_table};
    return embed_detail::checked("function_add", [&](gantry_status* status) {
      return embed_table().function_add(get(), bytes_of(name), given, status);
    });
  }
  // Returns a function of the core, of add_function(), or of a plugin.
  Result<Function> function(std::string_view name) const {
    GANTRY_TRY(
        ObjectRef found,
        embed_detail::made_object("function_find", [&](gantry_object** out, gantry_status* status) {
          return embed_table().function_find(get(), bytes_of(name), out, status);
        }));
    return Function(std::move(found));
  }

  // Each returns a value for functions, and copies its argument.
  Result<Any> text(std::string_view text) const {
    return made_by_host("text", [&](const Host& host) { return host.text(text); });
  }
  Result<Any> shape(std::span<const std::int64_t> extents) const {
    return made_by_host("shape", [&](const Host& host) { return host.shape(extents); });
  }
  Result<Any> shape(std::initializer_list<std::int64_t> extents) const {
    return shape(std::span(extents.begin(), extents.size()));
  }
  // A tuple is an array.
  Result<Any> array(std::span<const Any> items) const {
    std::vector<gantry_value> flat;
    for (const Any& item : items) flat.push_back(item.value());
    return items_of("array", GANTRY_ARRAY, flat);
  }
  Result<Any> array(std::initializer_list<Any> items) const {
    return array(std::span(items.begin(), items.size()));
  }
  // A dictionary, in the order of its members.
  Result<Any> map(std::span<const std::pair<Any, Any>> members) const {
    std::vector<gantry_value> flat;
    for (const auto& [key, value] : members) flat.insert(flat.end(), {key.value(), value.value()});
    return items_of("map", GANTRY_MAP, flat);
  }
  // Returns an object that owns a pointer of the program. After a failure the caller still owns it.
  //
  // type     [in]   static for the life of the process
  Result<Any> object(const gantry_object_type& type, void* self) const {
    return made_by_host("object", [&](const Host& host) { return host.object_new(type, self); });
  }

  // Returns the device of a name: "cpu", "opencl:1". Opens the plugin that serves it.
  Result<gantry_device_id> device(std::string_view name) const {
    gantry_device_id found{};
    GANTRY_CHECK(embed_detail::checked("device_find", [&](gantry_status* status) {
      return embed_table().device_find(get(), bytes_of(name), &found, status);
    }));
    return found;
  }
  Result<Stream> stream(gantry_device_id device) const {
    GANTRY_TRY(ObjectRef made, embed_detail::made_object(
                                   "stream_new", [&](gantry_object** out, gantry_status* status) {
                                     return embed_table().stream_new(get(), device, out, status);
                                   }));
    return Stream(std::move(made));
  }
  // Returns a stream over one of the driver: CUstream, cl_command_queue.
  //
  // handle   [in]   outlives the stream, which leaves it
  Result<Stream> import_stream(gantry_device_id device, void* handle) const {
    GANTRY_TRY(
        ObjectRef made,
        embed_detail::made_object("stream_import", [&](gantry_object** out, gantry_status* status) {
          return embed_table().stream_import(get(), device, handle, out, status);
        }));
    return Stream(std::move(made));
  }
  // Waits until the work in a stream, or in the default stream of the device, is complete.
  Status synchronize(gantry_device_id device, const Stream& stream = {}) const {
    return embed_detail::checked("synchronize", [&](gantry_status* status) {
      return embed_table().synchronize(get(), device, stream.get(), status);
    });
  }

  // Returns the function table of a device, which is called directly. Valid as long as the runtime.
  // Opens the plugin.
  //
  // returns  NOT_FOUND, UNAVAILABLE  no such device
  Result<gantry_device> device_table(gantry_device_id device) const {
    return host().device(device);
  }
  // Returns all devices, the CPU first. Opens all plugins of devices.
  Result<DeviceList> devices() const {
    GANTRY_TRY(const Any tree, report("devices"));
    DeviceList found;
    GANTRY_TRY(found.problems, texts_of(tree, "problems"));
    GANTRY_TRY(const Any list, tree.member("devices"));
    GANTRY_TRY(const std::vector<Any> items, list.items());
    for (const Any& item : items) {
      GANTRY_TRY(found.devices.emplace_back(), device_info(item));
    }
    return found;
  }

  // Creates a tensor. Its content is undefined.
  Result<Tensor> tensor(std::span<const std::int64_t> shape, gantry_dtype dtype,
                        std::string_view device_name = "cpu") const {
    GANTRY_TRY(const gantry_device_id on, device(device_name));
    GANTRY_TRY(const Value made, host().tensor_new(compact_tensor(dtype, shape, on)));
    return Tensor(ObjectRef::share(made.object()));
  }
  Result<Tensor> tensor(std::initializer_list<std::int64_t> shape, gantry_dtype dtype,
                        std::string_view device_name = "cpu") const {
    return tensor(std::span(shape.begin(), shape.size()), dtype, device_name);
  }
  // Creates a tensor on the CPU, in memory that a device copies without waiting.
  Result<Tensor> host_tensor(std::span<const std::int64_t> shape, gantry_dtype dtype,
                             std::string_view device_name) const {
    GANTRY_TRY(const gantry_device_id on, device(device_name));
    GANTRY_TRY(const Value made,
               host().tensor_new(compact_tensor(dtype, shape, on), GANTRY_SCOPE_HOST));
    return Tensor(ObjectRef::share(made.object()));
  }
  // Creates a tensor over memory of the program. See gantry_embed::tensor_foreign.
  Result<Tensor> tensor_over(const gantry_tensor& what, std::uint64_t size, void* self = nullptr,
                             void (*destroy)(void* self) = nullptr) const {
    return made_tensor("tensor_foreign", [&](gantry_value* out, gantry_status* status) {
      return embed_table().tensor_foreign(get(), &what, size, 0, self, destroy, out, status);
    });
  }
  // Creates a tensor over memory that another interface has allocated. See
  // gantry_embed::memory_import.
  Result<Tensor> import_memory(const gantry_external& memory, const gantry_tensor& what,
                               void* self = nullptr, void (*destroy)(void* self) = nullptr) const {
    return made_tensor("memory_import", [&](gantry_value* out, gantry_status* status) {
      return embed_table().memory_import(get(), &memory, &what, self, destroy, out, status);
    });
  }
  // Copies the elements of a tensor to another one, also between devices.
  Status copy(const Tensor& from, const Tensor& to) const {
    if (!from || !to) return invalid("tensor copy: a handle is empty").with_reason("ARGUMENT_KIND");
    return host().tensor_copy(*from.dlpack(), *to.dlpack(), nullptr);
  }
  // Takes over a tensor of DLPack; after a failure it is still the caller's.
  Result<Tensor> from_dlpack(DLManagedTensorVersioned* tensor) const {
    return made_tensor("dlpack_import", [&](gantry_value* out, gantry_status* status) {
      return embed_table().dlpack_import(get(), tensor, nullptr, out, status);
    });
  }
  Result<Tensor> from_dlpack(DLManagedTensor* tensor) const {
    return made_tensor("dlpack_import", [&](gantry_value* out, gantry_status* status) {
      return embed_table().dlpack_import(get(), nullptr, tensor, out, status);
    });
  }
  // The same for memory that work in a stream may still write: later work in `stream` follows it. See
  // gantry_embed::dlpack_import_after.
  Result<Tensor> from_dlpack(DLManagedTensorVersioned* tensor, void* produced,
                             const Stream& stream = {}) const {
    return made_tensor("dlpack_import_after", [&](gantry_value* out, gantry_status* status) {
      return embed_table().dlpack_import_after(get(), tensor, nullptr, produced, stream.get(), out,
                                               status);
    });
  }
  // Returns a DLManagedTensorVersioned, whose deleter the caller calls.
  Result<DLManagedTensorVersioned*> to_dlpack(const Tensor& tensor,
                                              const Stream& stream = {}) const {
    void* managed = nullptr;
    GANTRY_CHECK(embed_detail::checked("dlpack_export", [&](gantry_status* status) {
      return embed_table().dlpack_export(get(), tensor.get(), 1u << 16, stream.get(), &managed,
                                         status);
    }));
    return static_cast<DLManagedTensorVersioned*>(managed);
  }
  // Reads the tensors of an .npy (one, without a name), .npz or .params file to the CPU.
  Result<std::vector<std::pair<std::string, Tensor>>> read_tensors(std::string_view path) const {
    GANTRY_TRY(Value made, embed_detail::made_value("tensors_read", [&](gantry_value* out,
                                                                        gantry_status* status) {
                 return embed_table().tensors_read(get(), bytes_of(path), out, status);
               }));
    GANTRY_TRY(const std::vector<Any> items, Any(std::move(made)).items());
    std::vector<std::pair<std::string, Tensor>> all;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      GANTRY_TRY(std::string name, items[i].text());
      GANTRY_TRY(Tensor tensor, items[i + 1].tensor());
      all.emplace_back(std::move(name), std::move(tensor));
    }
    return all;
  }

  // Returns a report: "configuration", "devices", "explanation", "plugins" or "trace".
  Result<Any> report(std::string_view what) const {
    GANTRY_TRY(Value tree,
               embed_detail::made_value("report", [&](gantry_value* out, gantry_status* status) {
                 return embed_table().report(get(), bytes_of(what), out, status);
               }));
    return Any(std::move(tree));
  }
  // Returns the contents of a file without loading it. See gantry_embed::inspect.
  Result<Any> inspect(std::string_view path) const {
    GANTRY_TRY(Value tree,
               embed_detail::made_value("inspect", [&](gantry_value* out, gantry_status* status) {
                 return embed_table().inspect(get(), bytes_of(path), out, status);
               }));
    return Any(std::move(tree));
  }
  // Returns the number of threads that compiled CPU code uses, including the caller.
  Result<std::int64_t> threads() const {
    GANTRY_TRY(const Any tree, report("configuration"));
    GANTRY_TRY(const Any threads, tree.member("threads"));
    return threads.integer();
  }
  // Returns the spans recorded so far as a Chrome trace.
  Result<std::string> trace_json() const { return text_of("trace", "chrome_trace"); }
  // Returns the plugins that were opened so far: "gantry.graph 0.1.0".
  Result<std::vector<std::string>> plugins_in_use() const {
    GANTRY_TRY(const Any tree, report("plugins"));
    return texts_of(tree, "in_use");
  }
  // Returns how often a plugin failed and the next one that offers the type key or device was tried
  // instead; each was logged as a warning.
  Result<std::int64_t> fallbacks() const {
    GANTRY_TRY(const Any tree, report("plugins"));
    GANTRY_TRY(const Any count, tree.member("fallbacks"));
    return count.integer();
  }
  // Returns the text of `gantry plugins doctor` for this runtime.
  Result<std::string> explain_plugins() const { return text_of("explanation", "text"); }

 private:
  // sink     [in]   empty: the table's sink stays empty
  template <class Sink, class Number>
  static void set_sink(Sink& given, const std::function<void(Number, std::string_view)>& sink) {
    using Kept = std::function<void(Number, std::string_view)>;
    if (!sink) return;
    given.self = new Kept(sink);
    given.write = [](void* self, Number number, gantry_bytes text) {
      (*static_cast<Kept*>(self))(number, view_of(text));
    };
    given.destroy = [](void* self) { delete static_cast<Kept*>(self); };
  }

  static void set_sink(gantry_output_sink& given,
                       const std::function<void(std::string_view)>& sink) {
    using Kept = std::function<void(std::string_view)>;
    if (!sink) return;
    given.self = new Kept(sink);
    given.write = [](void* self, gantry_bytes text) { (*static_cast<Kept*>(self))(view_of(text)); };
    given.destroy = [](void* self) { delete static_cast<Kept*>(self); };
  }

  static std::vector<gantry_bytes> bytes_of_all(std::span<const std::string> texts) {
    std::vector<gantry_bytes> all;
    for (const std::string& text : texts) all.push_back(bytes_of(text));
    return all;
  }
  template <class Make>
  Result<Any> made_by_host(std::string_view name, Make&& make) const {
    if (!*this) {
      return invalid(name, ": the object is NULL, expected a runtime").with_reason("ARGUMENT_KIND");
    }
    GANTRY_TRY(Value made, make(host()));
    return Any(std::move(made));
  }
  Result<Any> items_of(std::string_view name, std::int32_t kind,
                       std::span<const gantry_value> flat) const {
    return made_by_host(name, [&](const Host& host) {
      return embed_detail::made_value(name, [&](gantry_value* out, gantry_status* status) {
        return host.table()->items_new(host.table(), kind, flat.data(), flat.size(), out, status);
      });
    });
  }
  template <class Load>
  static Result<Module> loaded(std::string_view name, const LoadOptions& options, Load&& load) {
    gantry_load_options given{};
    given.struct_size = sizeof given;
    if (options.allow_missing) given.flags |= GANTRY_LOAD_ALLOW_MISSING;
    if (options.strict) given.flags |= GANTRY_LOAD_STRICT;
    if (options.allow_executable_stack) given.flags |= GANTRY_LOAD_ALLOW_EXECUTABLE_STACK;
    const std::vector<gantry_bytes> devices = bytes_of_all(options.devices);
    given.devices = devices.empty() ? nullptr : devices.data();
    given.device_count = static_cast<std::uint32_t>(devices.size());
    GANTRY_TRY(ObjectRef made,
               embed_detail::made_object(name, [&](gantry_object** out, gantry_status* status) {
                 return load(&given, out, status);
               }));
    return Module(std::move(made));
  }
  template <class Make>
  static Result<Tensor> made_tensor(std::string_view name, Make&& make) {
    GANTRY_TRY(const Value made, embed_detail::made_value(name, std::forward<Make>(make)));
    return Tensor(ObjectRef::share(made.object()));
  }
  static Result<std::vector<std::string>> texts_of(const Any& tree, std::string_view key) {
    GANTRY_TRY(const Any list, tree.member(key));
    return embed_detail::texts_in(list);
  }
  static Result<DeviceInfo> device_info(const Any& item) {
    DeviceInfo info;
    GANTRY_TRY(const Any name, item.member("name"));
    GANTRY_TRY(info.name, name.text());
    GANTRY_TRY(const Any type, item.member("type"));
    GANTRY_TRY(const std::int64_t type_number, type.integer());
    GANTRY_TRY(const Any index, item.member("index"));
    GANTRY_TRY(const std::int64_t index_number, index.integer());
    info.id = {static_cast<std::int32_t>(type_number), static_cast<std::int32_t>(index_number)};
    GANTRY_TRY(const Any plugin, item.member("plugin"));
    GANTRY_TRY(info.plugin, plugin.text());
    GANTRY_TRY(const Any attributes, item.member("attributes"));
    GANTRY_TRY(const std::vector<Any> named, attributes.items());
    for (std::size_t i = 0; i + 1 < named.size(); i += 2) {
      GANTRY_TRY(std::string key, named[i].text());
      GANTRY_TRY(std::string text, named[i + 1].text());
      info.attributes.emplace_back(std::move(key), std::move(text));
    }
    GANTRY_TRY(info.same_as, texts_of(item, "same_as"));
    return info;
  }
  Result<std::string> text_of(std::string_view what, std::string_view key) const {
    GANTRY_TRY(const Any tree, report(what));
    GANTRY_TRY(const Any text, tree.member(key));
    return text.text();
  }
};

// Returns the version of libgantry: "0.1.0".
inline std::string_view core_version() { return embed_table().version; }

}  // namespace embed_api
}  // namespace gantry
