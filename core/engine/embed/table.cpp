// SPDX-License-Identifier: Apache-2.0
//
// The table of gantry/embed.h. None of its functions throws.
#include "core/base/call_destroy.hpp"
#include "core/engine/embed/arguments.hpp"
#include "core/engine/embed/dlpack.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/embed/pool.hpp"
#include "core/engine/embed/reports.hpp"
#include "core/engine/embed/run.hpp"
#include "core/engine/embed/stream.hpp"
#include "core/engine/embed/task.hpp"
#include "core/engine/embed/value_tree.hpp"
#include "core/engine/module/function.hpp"
#include "core/engine/module/global_functions.hpp"
#include "core/engine/module/module.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/graph_files.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/offered_by.hpp"
#include "core/engine/runtime/options.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/engine/runtime/read_tensors.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/object.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"
#include "core/formats/inspect/report.hpp"
#include "core/plugins/choice/serving_plugins.hpp"

#include <gantry/call.h>
#include <gantry/embed.h>
#include <gantry/function.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/value.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gantry {
namespace {

constexpr std::uint32_t known_flags =
    GANTRY_RUNTIME_ONLY_THESE_PLUGINS | GANTRY_RUNTIME_NO_PROBE | GANTRY_RUNTIME_TRACE;

// A gantry_log_sink, a gantry_work_sink or a gantry_output_sink, which is destroyed with the object.
template <class Table>
class Sink {
 public:
  // title    [in]   for messages: "a log sink"
  Sink(const Table& sink, std::string_view title) : sink_(sink), title_(title) {}
  Sink(Sink&& other) noexcept : sink_(std::exchange(other.sink_, {})), title_(other.title_) {}
  Sink& operator=(Sink&&) = delete;
  ~Sink() {
    if (sink_.destroy != nullptr) call_destroy(title_, [&] { sink_.destroy(sink_.self); });
  }

  bool writes() const { return sink_.write != nullptr; }
  // before   [in]   the level of a line, or the number of the work; none of an output
  template <class... Number>
  void write(std::string_view text, Number... before) const {
    sink_.write(sink_.self, before..., bytes_of(text));
  }

 private:
  Table sink_;
  std::string_view title_;
};

// True if a path of plugins is a manifest, and not a directory. One that does not exist is what its
// name says.
bool is_manifest(const std::filesystem::path& path) {
  std::error_code failed;
  if (std::filesystem::exists(path, failed)) return !std::filesystem::is_directory(path, failed);
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// Converts the options of a runtime. Takes its sinks over, also if it fails.
//
// given    [in]   may be NULL
// returns  invalid or unsupported, see gantry_embed::runtime_new
Result<EngineOptions> runtime_options(const gantry_runtime_options* given) {
  constexpr std::string_view function = "runtime_new";
  // Destroyed by every failure from here on.
  const gantry_runtime_options unread = known_members(given);
  Sink log(unread.log, "a log sink");
  Sink work(unread.work, "a work sink");
  Sink output(unread.output, "an output sink");
  GANTRY_TRY(const gantry_runtime_options known,
             read_options(given, known_flags, "gantry_runtime_options"));
  EngineOptions options;
  GANTRY_TRY(options.config_file, path_argument(known.config_file, function));
  if (known.plugin_path_count != 0)
    GANTRY_CHECK(check_pointer(known.plugin_paths, function, "plugin_paths"));
  for (std::uint32_t i = 0; i < known.plugin_path_count; ++i) {
    GANTRY_TRY(std::string path, path_argument(known.plugin_paths[i], function));
    (is_manifest(path) ? options.plugin_files : options.plugin_dirs).push_back(std::move(path));
  }
  options.only_these_plugins = (known.flags & GANTRY_RUNTIME_ONLY_THESE_PLUGINS) != 0;
  options.probe = (known.flags & GANTRY_RUNTIME_NO_PROBE) == 0;
  options.trace = (known.flags & GANTRY_RUNTIME_TRACE) != 0;
  options.threads = known.threads;
  if (known.spin_us < -1 || known.spin_us > kMaxSpinUs) {
    return invalid(function, ": spin_us is ", known.spin_us, ", expected -1 to ", kMaxSpinUs)
        .with_reason("ARGUMENT_RANGE");
  }
  if (known.spin_us != 0) options.spin_us = std::max(0, known.spin_us);
  if (known.pool != nullptr) {
    GANTRY_TRY(const PoolObject* pool, pool_argument(known.pool, function));
    if (known.threads != 0) {
      return invalid(function, ": threads is ", known.threads,
                     ", and a pool is given, whose threads the runtime uses")
          .with_reason("ARGUMENT");
    }
    options.pool = pool->pool;
  }
  GANTRY_CHECK(check_text(known.log_level, function, "log_level"));
  options.log_level = view_of(known.log_level);
  if (log.writes()) {
    options.log_sink = [kept = std::make_shared<const decltype(log)>(std::move(log))](
                           std::int32_t level, std::string_view line) { kept->write(line, level); };
  }
  if (work.writes()) {
    options.work_sink = [kept = std::make_shared<const decltype(work)>(std::move(work))](
                            std::uint64_t number, std::string_view text) {
      kept->write(text, number);
    };
  }
  if (output.writes()) {
    options.output_sink = [kept = std::make_shared<const decltype(output)>(std::move(output))](
                              std::string_view text) { kept->write(text); };
  }
  return options;
}

// Returns a JSON value as a value. The recursion is bounded by the depth that the parser permits.
Result<Value> value_of_json(const JsonValue& json) {
  gantry_value number{};
  switch (json.kind()) {
    case JsonKind::null:
      return Value();
    case JsonKind::boolean:
      number.kind = GANTRY_BOOL;
      number.i = json.truth() ? 1 : 0;
      return Value::adopt(number);
    case JsonKind::negative:
      return Value::adopt(int_value(json.integer()));
    case JsonKind::count:
      if (json.count() > INT64_MAX) return new_text(GANTRY_STRING, concat(json.count()));
      return Value::adopt(int_value(json.integer()));
    case JsonKind::fraction:
      number.kind = GANTRY_FLOAT;
      number.f = json.fraction();
      return Value::adopt(number);
    case JsonKind::text:
      return new_text(GANTRY_STRING, json.text());
    case JsonKind::array:
    case JsonKind::object:
      break;
  }
  const bool is_map = json.is(JsonKind::object);
  ValueList list;
  for (const JsonValue item : json) {
    GANTRY_TRY(Value value, value_of_json(item));
    if (is_map) {
      GANTRY_CHECK(list.member(item.key(), std::move(value)));
    } else {
      list.item(std::move(value));
    }
  }
  return is_map ? list.map() : list.array();
}

// See gantry_embed::inspect.
Result<Value> inspection(const RuntimeState& runtime, const std::string& path) {
  ServingPlugins serving(*runtime.plugins);
  const InspectOptions options{
      .find_layouts = [&]() -> Result<const PayloadLayouts*> { return &runtime.layouts; },
      .served_by = [&](std::string_view type_key) { return serving.id_for(type_key); },
      .offered_by = [&](std::string_view name) { return offered_by(runtime, serving, name); },
      .verbose = true};
  GANTRY_TRY(const InspectReport report, inspect_file(path, options));
  std::string text;
  write_inspect_json(report, options, [&](std::string_view piece) { text += piece; });
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, {.name = "report"}));
  return value_of_json(tree.root());
}

// The beginning of a function object, which is compiled into programs.
static_assert(offsetof(FunctionObject, target) == offsetof(gantry_function_cell, target));
static_assert(offsetof(FunctionObject, packed) == offsetof(gantry_function_cell, packed));
static_assert(offsetof(FunctionObject, env) == offsetof(gantry_function_cell, env));
static_assert(offsetof(FunctionObject, process_phase) ==
              offsetof(gantry_function_cell, process_phase));
static_assert(sizeof(std::atomic<std::uint8_t>) == sizeof(std::uint8_t));

// A function of the program until an object owns it.
class GivenFunction {
 public:
  explicit GivenFunction(const gantry_function& function) : function_(function) {}
  GivenFunction(const GivenFunction&) = delete;
  GivenFunction& operator=(const GivenFunction&) = delete;
  ~GivenFunction() { destroy_target(function_); }

  const gantry_function& get() const { return function_; }
  void release() { function_ = {}; }

 private:
  gantry_function function_;
};

// See gantry_embed::function_add.
//
// runtime  [in]   NULL: the function is destroyed
// function [in]   taken over, also after a failure
Status add_function(RuntimeState* runtime, std::string_view name, const gantry_function& function) {
  GivenFunction given(function);
  if (runtime == nullptr) return invalid("function_add: there is no runtime");
  if (name.empty())
    return invalid("function_add: the function has an empty name").with_reason("ARGUMENT");
  if (function.table == nullptr) {
    return invalid("function_add: the table of function ", quoted(name), " is NULL")
        .with_reason("ARGUMENT_KIND");
  }
  // Without a pin: the runtime keeps the function, which must not keep the runtime.
  GANTRY_TRY(Ref<FunctionObject> made, new_function(given.get(), {}, 0));
  given.release();
  return runtime->globals->add(std::string(name), std::move(made));
}

// Memory of the embedder.
struct ForeignMemory {
  // bytes at the tensor's address
  std::uint64_t size;
  void* self;
  // may be NULL
  void (*destroy)(void* self);
};

// Calls destroy of a memory once it is owned.
class MemoryOwner {
 public:
  explicit MemoryOwner(const ForeignMemory& memory) : memory_(memory) {}
  MemoryOwner(const MemoryOwner&) = delete;
  MemoryOwner& operator=(const MemoryOwner&) = delete;
  ~MemoryOwner() {
    if (owns_ && memory_.destroy != nullptr)
      call_destroy("a memory of tensor_foreign", [&] { memory_.destroy(memory_.self); });
  }
  void own() { owns_ = true; }

 private:
  ForeignMemory memory_;
  bool owns_ = false;
};

Failure outside(const gantry_tensor& what, std::uint64_t size) {
  return invalid("tensor_foreign: the elements of ", tensor_text(what), " with byte offset ",
                 what.byte_offset, " are not within the memory of ", ByteCount(size))
      .with_reason("ARGUMENT_RANGE");
}

// Checks that every element is within the memory.
//
// bytes    [in]   of the elements alone
Status check_extent(const gantry_tensor& what, std::uint64_t bytes, std::uint64_t size) {
  if (bytes == 0) return {};
  if (what.byte_offset > size) return outside(what, size);
  const std::uint64_t left = size - what.byte_offset;
  if (what.strides == nullptr || is_packed(what.dtype))
    return bytes <= left ? Status() : outside(what, size);
  // the index of the last element; elements before the first one are outside
  std::uint64_t last = 0;
  const auto shape = shape_of(what);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t stride = what.strides[axis];
    if (shape[axis] == 1) continue;
    std::uint64_t reach = 0;
    if (stride < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(shape[axis] - 1),
                               static_cast<std::uint64_t>(stride), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return outside(what, size);
  }
  const std::uint64_t element = element_bytes(what.dtype);
  return last < left / element ? Status() : outside(what, size);
}

// See gantry_embed::tensor_foreign.
Result<Ref<TensorObject>> foreign_tensor(RuntimeState& runtime, const gantry_tensor& what,
                                         const ForeignMemory& memory) {
  GANTRY_TRY(const std::uint64_t bytes, data_bytes(what));
  GANTRY_CHECK(check_packed(what));
  GANTRY_CHECK(check_extent(what, bytes, memory.size));
  GANTRY_TRY(const auto device, runtime.device(what.device.type));
  GANTRY_CHECK(device_at(*device, what.device.index, concat(device->name, ":", what.device.index)));
  auto owner = std::make_shared<MemoryOwner>(memory);
  GANTRY_TRY(const ObjectPtr pin, new_pin(owner));
  GANTRY_TRY(Ref<TensorObject> tensor, tensor_view(what, pin.get()));
  owner->own();
  return tensor;
}

// Memory that a device has imported. Frees it, then calls destroy of the memory.
class ImportedMemory {
 public:
  ImportedMemory(std::shared_ptr<const Device> device, std::int32_t index, void* data,
                 const ForeignMemory& memory)
      : owner_(memory), device_(std::move(device)), index_(index), data_(data) {}
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;
  // The plugin may defer the release, and the owner of the memory may free it afterwards.
  ~ImportedMemory() {
    if (!may_call(*device_)) return;
    device_->table->synchronize(device_->self, index_, nullptr, nullptr);
    device_->table->free(device_->self, index_, data_);
  }
  void own() { owner_.own(); }

 private:
  // Destroyed last.
  MemoryOwner owner_;
  std::shared_ptr<const Device> device_;
  std::int32_t index_;
  void* data_;
};

// Returns a tensor over memory that a device imports; NULL: it does not import host memory.
Result<Ref<TensorObject>> import_on(RuntimeState& runtime, const gantry_external& external,
                                    const gantry_tensor& what, const ForeignMemory& memory) {
  GANTRY_TRY(const std::shared_ptr<const Device> device, runtime.devices.lend(what.device.type));
  const std::int32_t index = what.device.index;
  const bool is_host = external.kind == GANTRY_EXTERNAL_HOST;
  StatusBuffer status;
  void* data = nullptr;
  gantry_code code = GANTRY_UNSUPPORTED;
  if (device->table->memory_import != nullptr) {
    code = status.call([&](gantry_status* out) {
      return device->table->memory_import(device->self, index, &external, &data, out);
    });
    if (code != GANTRY_OK && (code != GANTRY_UNSUPPORTED || !is_host))
      return status.error(code, concat("memory_import of ", described(*device)));
  }
  if (code != GANTRY_OK) {
    if (is_host) return Ref<TensorObject>();
    return unsupported(described(*device), " does not import external memory of kind ",
                       external.kind)
        .with_reason("EXTERNAL_KIND");
  }
  if (data == nullptr) {
    return bug(described(*device), ": memory_import succeeds but returns NULL")
        .with_reason("DEVICE_ALLOC");
  }
  auto owner = std::make_shared<ImportedMemory>(device, index, data, memory);
  GANTRY_TRY(const ObjectPtr pin, new_pin(owner));
  gantry_tensor there = what;
  there.data = data;
  GANTRY_TRY(Ref<TensorObject> tensor, tensor_view(there, pin.get()));
  owner->own();
  return tensor;
}

// See gantry_embed::memory_import.
Result<Ref<TensorObject>> imported_tensor(RuntimeState& runtime, const gantry_external& external,
                                          gantry_tensor what, const ForeignMemory& memory) {
  GANTRY_TRY(const std::uint64_t bytes, data_bytes(what));
  if (what.strides != nullptr && !is_compact(what)) {
    return invalid("memory_import: tensor ", tensor_text(what), " has strides, expected none")
        .with_reason("ARGUMENT_STRIDES");
  }
  what.strides = nullptr;
  if (what.byte_offset > external.size || bytes > external.size - what.byte_offset) {
    return invalid("memory_import: the elements of ", tensor_text(what), " with byte offset ",
                   what.byte_offset, " are not within the memory of ", ByteCount(external.size))
        .with_reason("ARGUMENT_RANGE");
  }
  if (external.kind == GANTRY_EXTERNAL_HOST && external.handle == nullptr) {
    return invalid("memory_import: host memory is at address 0").with_reason("ARGUMENT_KIND");
  }
  GANTRY_TRY(const auto device, runtime.device(what.device.type));
  GANTRY_CHECK(device_at(*device, what.device.index, concat(device->name, ":", what.device.index)));
  gantry_tensor here = what;
  here.device = {kCpu, 0};
  here.data = static_cast<char*>(external.handle) + external.offset;
  if (external.kind == GANTRY_EXTERNAL_HOST && what.device.type == kCpu)
    return foreign_tensor(runtime, here, memory);
  GANTRY_TRY(Ref<TensorObject> imported, import_on(runtime, external, what, memory));
  if (imported) return imported;
  GANTRY_TRY(Ref<TensorObject> copy, tensor_new(runtime.devices, what));
  GANTRY_CHECK(tensor_copy(runtime.devices, here, copy->tensor, nullptr));
  MemoryOwner unused(memory);
  unused.own();
  return copy;
}

// Returns the devices that the program names; none if it names none.
//
// options  [in]   has `devices` and `device_count`
// subject  [in]   for messages: "model_new"
template <class Options>
Result<std::vector<std::string>> names_of(const Options& options, std::string_view subject) {
  std::vector<std::string> names;
  if (options.devices == nullptr && options.device_count == 0) return names;
  GANTRY_CHECK(check_pointer(options.devices, subject, "devices"));
  for (std::uint32_t i = 0; i < options.device_count; ++i) {
    GANTRY_CHECK(check_text(options.devices[i], subject, "a device"));
    names.emplace_back(view_of(options.devices[i]));
  }
  if (names.empty())
    return invalid(subject, ": device_count is 0, minimum is 1").with_reason("ARGUMENT_COUNT");
  return names;
}

// See gantry_embed::model_new.
Result<Ref<ModelObject>> new_model(ModuleNode& node, const gantry_model_options* given) {
  GANTRY_TRY(
      const gantry_model_options known,
      read_options(given, GANTRY_MODEL_CAPTURE | GANTRY_MODEL_PREPARE, "gantry_model_options"));
  ModelSource source{.runtime = state_of(*node.artifact),
                     .module = Ref<ModuleNode>::share(&node),
                     .devices = {},
                     .capture = (known.flags & GANTRY_MODEL_CAPTURE) != 0,
                     .prepare = (known.flags & GANTRY_MODEL_PREPARE) != 0};
  GANTRY_TRY(source.devices, names_of(known, "model_new"));
  const auto threads = static_cast<std::uint32_t>(std::max(1, source.runtime->pool->size()));
  GANTRY_TRY(std::shared_ptr<ModelState> model, ModelState::find(std::move(source)));
  GANTRY_TRY(Ref<ModelObject> made,
             new_model_object(std::move(model), known.executors != 0 ? known.executors : threads));
  if ((known.flags & GANTRY_MODEL_PREPARE) != 0) GANTRY_CHECK(made->model->prepare());
  // The models of an archive are created when they are used.
  if (made->model->is_archive()) return made;
  GANTRY_CHECK(made->model->devices(0));
  if (made->model->members().size() != 1) return made;
  ModelInstances::Use use(made->instances);
  GANTRY_CHECK(use.begin());
  GANTRY_CHECK(use->executor(0, default_env));
  return made;
}

// The function of an executable that creates virtual machines, by which artifacts call it.
constexpr std::string_view make_machine = "vm_load_executable";

// See gantry_embed::model_module.
Result<Ref<ModuleNode>> module_of(ModelObject& model) {
  const Ref<ModuleNode>& module = model.model->source().module;
  GANTRY_TRY(const Ref<FunctionObject> make,
             find_optional_function(*module, own_or_imported, make_machine));
  if (!make) return module;
  GANTRY_TRY(const auto devices, model.model->devices(0));
  std::vector<gantry_value> args;
  for (const gantry_device_id& device : devices) args.push_back(device_value(device));
  GANTRY_TRY(Value made, call(*make, nullptr, args));
  if (made.get().kind != GANTRY_MODULE) return wrong_kind(made.get(), "a module");
  return Ref<ModuleNode>::adopt(reinterpret_cast<ModuleNode*>(made.take().object));
}

// See gantry_embed::model_signature.
Result<const FunctionSignature*> signature_of(ModelObject& model, std::string_view name) {
  GANTRY_TRY(const ModelState::Function* const function, model.model->function(name));
  return model.model->signature(*function);
}

// Memory for the content until it is in sealed memory; wiped afterwards.
class Scratch {
 public:
  // name     [in]   for messages
  // returns  exhausted
  static Result<Scratch> create(std::uint64_t size, std::string_view name) {
    Scratch made;
    if (size == 0) return made;
    void* const bytes = size <= PTRDIFF_MAX ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                            : MAP_FAILED;
    if (bytes == MAP_FAILED) {
      return exhausted("no memory for ", ByteCount(size), " of a reader")
          .at("while loading ", name);
    }
    made.bytes_ = {static_cast<std::uint8_t*>(bytes), size};
    return made;
  }
  Scratch(Scratch&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (bytes_.empty()) return;
    ::explicit_bzero(bytes_.data(), bytes_.size());
    ::munmap(bytes_.data(), bytes_.size());
  }

  std::span<std::uint8_t> bytes() const { return bytes_; }

 private:
  Scratch() = default;
  std::span<std::uint8_t> bytes_;
};

// The size that gantry_reader::read states.
constexpr std::size_t max_read = std::size_t{1} << 20;

Status read_all(const gantry_reader& reader, std::span<std::uint8_t> to) {
  for (std::size_t offset = 0; offset < to.size();) {
    const std::size_t size = std::min(to.size() - offset, max_read);
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* reported) {
      return reader.read(reader.self, offset, to.data() + offset, size, reported);
    });
    if (code != GANTRY_OK) {
      return status.error(code, "the reader")
          .at("while reading ", size, " bytes at offset ", offset);
    }
    offset += size;
  }
  return {};
}

// Reads the options of a load.
//
// given    [in]   may be NULL
// returns  invalid: allow_missing and strict, also of the configuration, exclude each other
Result<LoadPermissions> load_options(const RuntimeObject& runtime,
                                     const gantry_load_options* given) {
  GANTRY_TRY(const gantry_load_options known,
             read_options(given,
                          GANTRY_LOAD_ALLOW_MISSING | GANTRY_LOAD_ALLOW_EXECUTABLE_STACK |
                              GANTRY_LOAD_STRICT,
                          "gantry_load_options"));
  const auto has = [&](std::uint32_t flag) { return (known.flags & flag) != 0; };
  const Config& config = runtime.state->config;
  LoadPermissions options{.allow_missing = has(GANTRY_LOAD_ALLOW_MISSING),
                          .strict = has(GANTRY_LOAD_STRICT) || config.strict,
                          .devices = {},
                          .allow_executable_stack = has(GANTRY_LOAD_ALLOW_EXECUTABLE_STACK)};
  if (options.allow_missing && options.strict) {
    return invalid("a load cannot allow missing modules (allow_missing) and refuse them (strict",
                   has(GANTRY_LOAD_STRICT) ? "" : concat(", of ", config.strict_file), ")")
        .with_reason("ARGUMENT");
  }
  GANTRY_TRY(options.devices, names_of(known, "gantry_load_options"));
  return options;
}

// See gantry_embed::load_reader.
//
// name     [in]   see memory_title()
Result<Ref<ModuleNode>> load_read(RuntimeState& runtime, const gantry_reader& reader,
                                  const std::string& name, const LoadPermissions& allowed) {
  const std::string title = memory_title(name);
  GANTRY_TRY(const Scratch scratch, Scratch::create(reader.size, title));
  Status read = read_all(reader, scratch.bytes());
  if (!read.ok()) return std::move(read).failure().at("while loading ", title);
  return load_memory(runtime, scratch.bytes(), title, allowed);
}

void retain(gantry_object* object) {
  if (object != nullptr) gantry_retain(object);
}

void release(gantry_object* object) {
  if (object != nullptr) gantry_release(object);
}

gantry_code runtime_new(const gantry_runtime_options* options, gantry_object** runtime,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(EngineOptions known, runtime_options(options));
    GANTRY_TRY(auto made, RuntimeState::create(std::move(known)));
    return give(new_runtime_object(std::move(made)), runtime);
  });
}

const gantry_host* host(gantry_object* object) {
  const RuntimeObject* const runtime = as_runtime(object);
  return runtime != nullptr ? &runtime->state->program.table : nullptr;
}

gantry_code device_find(gantry_object* object, gantry_bytes name, gantry_device_id* device,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "device_find"));
    GANTRY_TRY(*device, find_device(*runtime->state, view_of(name)));
    return {};
  });
}

gantry_code tensor_foreign(gantry_object* object, const gantry_tensor* what, std::uint64_t size,
                           std::uint32_t flags, void* self, void (*destroy)(void* self),
                           gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "tensor_foreign"));
    GANTRY_CHECK(check_flags(flags, 0, "tensor_foreign"));
    return give(foreign_tensor(*runtime->state, *what, {size, self, destroy}), tensor);
  });
}

gantry_code memory_import(gantry_object* object, const gantry_external* memory,
                          const gantry_tensor* what, void* self, void (*destroy)(void* self),
                          gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "memory_import"));
    return give(imported_tensor(*runtime->state, *memory, *what, {memory->size, self, destroy}),
                tensor);
  });
}

gantry_code model_new(gantry_object* module, const gantry_model_options* options,
                      gantry_object** model, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModuleNode * node, module_argument(module, "model_new"));
    return give(new_model(*node, options), model);
  });
}

gantry_code model_functions(gantry_object* object, gantry_value* names, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const ModelObject* model, model_argument(object, "model_functions"));
    std::vector<Value> texts;
    std::vector<gantry_value> items;
    for (const ModelState::Function& function : model->model->functions()) {
      GANTRY_TRY(Value text, new_text(GANTRY_STRING, function.name));
      items.push_back(text.get());
      texts.push_back(std::move(text));
    }
    return give(new_items(GANTRY_ARRAY, items), names);
  });
}

gantry_code model_signature(gantry_object* object, gantry_bytes function,
                            const gantry_signature** signature, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModelObject * model, model_argument(object, "model_signature"));
    GANTRY_TRY(const FunctionSignature* known, signature_of(*model, view_of(function)));
    *signature = &known->table;
    return {};
  });
}

gantry_code model_module(gantry_object* object, gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModelObject * model, model_argument(object, "model_module"));
    return give(module_of(*model), module);
  });
}

gantry_code run(gantry_object* object, gantry_run* run, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModelObject * model, model_argument(object, "run"));
    GANTRY_CHECK(check_struct(run, sizeof *run, "gantry_run"));
    const std::uint32_t size = run->struct_size;
    gantry_run known = known_members(run);
    GANTRY_CHECK(run_model(*model, known));
    known.struct_size = size;
    std::memcpy(run, &known, std::min<std::size_t>(size, sizeof known));
    return {};
  });
}

gantry_code task_new(const gantry_task_options* options, gantry_object** task,
                     gantry_status* status) {
  return abi_boundary(status, [&]() -> Status { return give(new_task(options), task); });
}

void task_cancel(gantry_object* object) {
  if (TaskObject* const task = as_task(object)) task->task.cancel();
}

const void* task_handle(gantry_object* object) {
  const TaskObject* const task = as_task(object);
  return task != nullptr ? static_cast<const CallTask*>(&task->task) : nullptr;
}

gantry_code function_add(gantry_object* object, gantry_bytes name, gantry_function function,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    auto runtime = runtime_argument(object, "function_add");
    // The function is taken over in every case.
    RuntimeState* const state = runtime.ok() ? (*runtime)->state.get() : nullptr;
    Status named = check_text(name, "function_add", "name");
    Status added = add_function(named.ok() ? state : nullptr,
                                named.ok() ? view_of(name) : std::string_view(), function);
    if (!named.ok()) return named;
    return runtime.ok() ? std::move(added) : Status(std::move(runtime).failure());
  });
}

gantry_code function_find(gantry_object* object, gantry_bytes name, gantry_object** function,
                          gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "function_find"));
    return give(runtime->state->globals->get(view_of(name)), function);
  });
}

gantry_code report(gantry_object* object, gantry_bytes what, gantry_value* tree,
                   gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    if (object != nullptr && object->kind == GANTRY_MODULE) {
      GANTRY_TRY(ModuleNode * node, module_argument(object, "report"));
      GANTRY_TRY(Value made, gantry::report(*node, view_of(what)));
      *tree = made.take();
      return {};
    }
    if (object != nullptr && object->kind == GANTRY_MODEL) {
      GANTRY_TRY(ModelObject * model, model_argument(object, "report"));
      GANTRY_TRY(Value made, gantry::report(*model->model, view_of(what)));
      *tree = made.take();
      return {};
    }
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "report"));
    GANTRY_TRY(Value made, gantry::report(*runtime->state, view_of(what)));
    *tree = made.take();
    return {};
  });
}

gantry_code pool_new(const gantry_pool_options* options, gantry_object** pool,
                     gantry_status* status) {
  return abi_boundary(status, [&]() -> Status { return give(new_pool(options), pool); });
}

gantry_code items_get(gantry_object* object, const gantry_value** items, std::uint64_t* count,
                      gantry_status* status) {
  return functions_without_host().items_get(nullptr, object, items, count, status);
}

gantry_code tensor_view(const gantry_tensor* what, gantry_object* owner, std::uint32_t flags,
                        gantry_value* tensor, gantry_status* status) {
  return functions_without_host().tensor_view(nullptr, what, owner, flags, tensor, status);
}

gantry_code find(gantry_object* module, std::uint32_t where, gantry_bytes name,
                 gantry_object** function, gantry_status* status) {
  return functions_without_host().find(nullptr, module, where, name, function, status);
}

gantry_code call(gantry_object* function, const gantry_env* env, const gantry_value* args,
                 std::int32_t count, gantry_value* result, gantry_status* status) {
  return functions_without_host().call(nullptr, function, env, args, count, result, status);
}

gantry_code load_file(gantry_object* object, gantry_bytes path, const gantry_load_options* options,
                      gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_file"));
    GANTRY_TRY(const LoadPermissions how, load_options(*runtime, options));
    GANTRY_TRY(const std::string file, path_argument(path, "load_file"));
    return give(gantry::load_file(*runtime->state, file, how), module);
  });
}

gantry_code tensors_read(gantry_object* object, gantry_bytes path, gantry_value* tensors,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "tensors_read"));
    GANTRY_TRY(const std::string file, path_argument(path, "tensors_read"));
    GANTRY_TRY(const auto named, read_tensors(*runtime->state, file));
    std::vector<Value> names;
    std::vector<gantry_value> items;
    for (const auto& [name, tensor] : named) {
      GANTRY_TRY(Value text, new_text(GANTRY_STRING, name));
      items.push_back(text.get());
      items.push_back(value_of(tensor.base()));
      names.push_back(std::move(text));
    }
    return give(new_items(GANTRY_MAP, items), tensors);
  });
}

gantry_code load_memory(gantry_object* object, const void* data, std::uint64_t size,
                        gantry_bytes name, const gantry_load_options* options,
                        gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_memory"));
    GANTRY_TRY(const LoadPermissions how, load_options(*runtime, options));
    GANTRY_TRY(const std::string title, path_argument(name, "load_memory"));
    return give(gantry::load_memory(*runtime->state, {static_cast<const std::uint8_t*>(data), size},
                                    title, how),
                module);
  });
}

gantry_code load_reader(gantry_object* object, const gantry_reader* reader, gantry_bytes name,
                        const gantry_load_options* options, gantry_object** module,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_reader"));
    GANTRY_TRY(const gantry_reader known, read_options(reader, 0, "gantry_reader"));
    GANTRY_CHECK(check_pointer(reinterpret_cast<const void*>(known.read), "load_reader", "read"));
    GANTRY_TRY(const LoadPermissions how, load_options(*runtime, options));
    GANTRY_TRY(const std::string title, path_argument(name, "load_reader"));
    return give(load_read(*runtime->state, known, title, how), module);
  });
}

gantry_code plugin_add(gantry_object* object,
                       const gantry_plugin_table* (*query)(const gantry_host_info*, gantry_status*),
                       gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "plugin_add"));
    return runtime->state->plugins->add_program_plugin(query);
  });
}

gantry_code module_bind_missing(gantry_object* module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModuleNode * node, module_argument(module, "module_bind_missing"));
    return bind_missing(*state_of(*node->artifact), *node, {.strict = true});
  });
}

gantry_code load_graph(gantry_object* object, gantry_bytes library, gantry_bytes graph,
                       gantry_bytes params, const gantry_load_options* options,
                       gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_graph"));
    GANTRY_TRY(const LoadPermissions how, load_options(*runtime, options));
    ModelFiles files;
    GANTRY_TRY(files.library, path_argument(library, "load_graph"));
    GANTRY_TRY(files.graph, path_argument(graph, "load_graph"));
    GANTRY_TRY(files.params, path_argument(params, "load_graph"));
    return give(load_graph_files(*runtime->state, files, how), module);
  });
}

gantry_code load_linked(gantry_object* object, const gantry_linked_symbols* symbols,
                        gantry_bytes prefix, const gantry_load_options* options,
                        gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_linked"));
    GANTRY_TRY(const LoadPermissions how, load_options(*runtime, options));
    return give(gantry::load_linked(*runtime->state, *symbols, view_of(prefix), how), module);
  });
}

gantry_code inspect(gantry_object* object, gantry_bytes path, gantry_value* tree,
                    gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const RuntimeObject* runtime, runtime_argument(object, "inspect"));
    GANTRY_TRY(const std::string file, path_argument(path, "inspect"));
    GANTRY_TRY(Value made, inspection(*runtime->state, file));
    *tree = made.take();
    return {};
  });
}

// Returns the handle of a stream; NULL, the default one, if there is none.
Result<void*> handle_of(gantry_object* stream, const RuntimeState& runtime,
                        std::string_view function) {
  if (stream == nullptr) return static_cast<void*>(nullptr);
  GANTRY_TRY(const StreamObject* given, stream_argument(stream, runtime, function));
  return given->handle;
}

// streams  [in]   see dlpack::import_tensor()
Status import_tensor(RuntimeState& state, const dlpack::Managed& managed,
                     const dlpack::Streams* streams, std::string_view function,
                     gantry_value* tensor) {
  if ((managed.versioned == nullptr) == (managed.plain == nullptr)) {
    return invalid(function, ": ", managed.versioned == nullptr ? "neither" : "each",
                   " of versioned and plain is given, expected one")
        .with_reason("ARGUMENT_KIND");
  }
  return give(dlpack::import_tensor(state, managed, streams), tensor);
}

gantry_code dlpack_import(gantry_object* object, DLManagedTensorVersioned* versioned,
                          DLManagedTensor* plain, gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "dlpack_import"));
    return import_tensor(*runtime->state, {versioned, plain}, nullptr, "dlpack_import", tensor);
  });
}

gantry_code dlpack_import_after(gantry_object* object, DLManagedTensorVersioned* versioned,
                                DLManagedTensor* plain, void* produced, gantry_object* stream,
                                gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    constexpr std::string_view name = "dlpack_import_after";
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, name));
    RuntimeState& state = *runtime->state;
    dlpack::Streams streams{produced, nullptr};
    if (stream != nullptr) {
      GANTRY_TRY(streams.stream, stream_argument(stream, state, name));
    }
    return import_tensor(state, {versioned, plain}, &streams, name, tensor);
  });
}

gantry_code dlpack_export(gantry_object* object, gantry_object* tensor, std::uint32_t max_version,
                          gantry_object* stream, void** managed, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "dlpack_export"));
    GANTRY_TRY(TensorObject * exported, tensor_argument(tensor, "dlpack_export"));
    RuntimeState& state = *runtime->state;
    GANTRY_TRY(void* const handle, handle_of(stream, state, "dlpack_export"));
    const gantry_device_id device = exported->tensor.device;
    if (device.type != kCpu) GANTRY_CHECK(gantry::synchronize(state, device, handle));
    GANTRY_TRY(*managed, dlpack::export_tensor(*exported, max_version >> 16));
    return {};
  });
}

gantry_code stream_new(gantry_object* object, gantry_device_id device, gantry_object** stream,
                       gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "stream_new"));
    return give(new_stream(*runtime->state, device), stream);
  });
}

void* stream_handle(gantry_object* object) {
  const StreamObject* const stream = as_stream(object);
  return stream != nullptr ? stream->handle : nullptr;
}

gantry_code synchronize(gantry_object* object, gantry_device_id device, gantry_object* stream,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "synchronize"));
    RuntimeState& state = *runtime->state;
    GANTRY_TRY(void* const handle, handle_of(stream, state, "synchronize"));
    return gantry::synchronize(state, device, handle);
  });
}

gantry_code stream_import(gantry_object* object, gantry_device_id device, void* handle,
                          gantry_object** stream, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "stream_import"));
    return give(import_stream(*runtime->state, device, handle), stream);
  });
}

gantry_code native_get(gantry_object* object, std::int32_t kind, void** handle,
                       gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(*handle, native_handle(object, kind));
    return {};
  });
}

gantry_code stream_notify(gantry_object* object, void (*notify)(void* argument), void* argument,
                          gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    StreamObject* const stream = as_stream(object);
    if (stream == nullptr) {
      return invalid("stream_notify: the object is ",
                     object == nullptr ? "NULL" : concat("of kind ", object->kind),
                     ", expected a stream")
          .with_reason("ARGUMENT_KIND");
    }
    return notify_after(*stream, notify, argument);
  });
}

gantry_code model_input(gantry_object* object, gantry_bytes function, gantry_bytes name,
                        std::uint32_t* index, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModelObject * model, model_argument(object, "model_input"));
    GANTRY_TRY(const FunctionSignature* known, signature_of(*model, view_of(function)));
    GANTRY_TRY(const std::size_t found,
               input_index(known->subject, known->own.inputs(), view_of(name)));
    *index = static_cast<std::uint32_t>(found);
    return {};
  });
}

constexpr gantry_embed table = {
    .struct_size = sizeof(gantry_embed),
    .zero = 0,
    .version = GANTRY_CORE_VERSION,
    .retain = retain,
    .release = release,
    .runtime_new = checked<runtime_new, "runtime_new", "options?", "runtime">,
    .host = host,
    .device_find = checked<device_find, "device_find", "object?", "name", "device">,
    .load_file = checked<load_file, "load_file", "object?", "path", "options?", "module">,
    .tensors_read = checked<tensors_read, "tensors_read", "object?", "path", "tensors">,
    .tensor_foreign = checked<tensor_foreign, "tensor_foreign", "object?", "what", "size", "flags",
                              "self?", "destroy?", "tensor">,
    .model_new = checked<model_new, "model_new", "object?", "options?", "model">,
    .model_functions = checked<model_functions, "model_functions", "object?", "names">,
    .model_signature =
        checked<model_signature, "model_signature", "object?", "function", "signature">,
    .run = checked<run, "run", "object?", "run">,
    .load_memory = checked<load_memory, "load_memory", "object?", "data[]", "size", "name",
                           "options?", "module">,
    .load_reader =
        checked<load_reader, "load_reader", "object?", "reader", "name", "options?", "module">,
    .dlpack_import =
        checked<dlpack_import, "dlpack_import", "object?", "versioned?", "plain?", "tensor">,
    .dlpack_export = checked<dlpack_export, "dlpack_export", "object?", "object?", "version",
                             "stream?", "managed">,
    .stream_new = checked<stream_new, "stream_new", "object?", "device", "stream">,
    .stream_handle = stream_handle,
    .synchronize = synchronize,
    .task_new = checked<task_new, "task_new", "options?", "task">,
    .task_cancel = task_cancel,
    .task_handle = task_handle,
    .function_add = function_add,
    .function_find = checked<function_find, "function_find", "object?", "name", "function">,
    .report = checked<report, "report", "object?", "what", "tree">,
    .pool_new = checked<pool_new, "pool_new", "options?", "pool">,
    .plugin_add = checked<plugin_add, "plugin_add", "object?", "query">,
    .module_bind_missing = module_bind_missing,
    .load_graph = checked<load_graph, "load_graph", "object?", "library", "graph", "params",
                          "options?", "module">,
    .load_linked =
        checked<load_linked, "load_linked", "object?", "symbols", "prefix", "options?", "module">,
    .items_get = items_get,
    .tensor_view = tensor_view,
    .find = find,
    .call = call,
    .dlpack_import_after = checked<dlpack_import_after, "dlpack_import_after", "object?",
                                   "versioned?", "plain?", "produced?", "stream?", "tensor">,
    .inspect = checked<inspect, "inspect", "object?", "path", "tree">,
    .model_module = checked<model_module, "model_module", "object?", "module">,
    .model_input = checked<model_input, "model_input", "object?", "function", "name", "index">,
    .memory_import = checked<memory_import, "memory_import", "object?", "memory", "what", "self?",
                             "destroy?", "tensor">,
    .stream_import =
        checked<stream_import, "stream_import", "object?", "device", "handle?", "stream">,
    .native_get = checked<native_get, "native_get", "object?", "kind", "handle">,
    .stream_notify = checked<stream_notify, "stream_notify", "object?", "notify", "argument?">,
};

}  // namespace

}  // namespace gantry

const gantry_embed* gantry_embed_query_v1(void) { return &gantry::table; }
