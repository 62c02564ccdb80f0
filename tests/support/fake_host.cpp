// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_host.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/value.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gantry::test {
namespace {

// Objects. Each is a struct that begins with the header, which the cell follows, and counts itself.
class Counted {
 public:
  explicit Counted(std::shared_ptr<std::atomic<int>> live) : live_(std::move(live)) { ++*live_; }
  ~Counted() { --*live_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::shared_ptr<std::atomic<int>> live_;
};

void release_object(gantry_object* object) {
  if (object != nullptr) gantry_release(object);
}
gantry_object* retain_object(gantry_object* object) {
  if (object != nullptr) gantry_retain(object);
  return object;
}

struct Text {
  gantry_object header;
  gantry_bytes cell;
  std::string content;
  Counted counted;
};
struct Shape {
  gantry_object header;
  gantry_shape cell;
  std::vector<std::int64_t> content;
  Counted counted;
};
struct Items {
  gantry_object header;
  std::vector<gantry_value> items;
  Counted counted;
  ~Items() {
    for (const gantry_value& item : items) {
      if (item.kind >= GANTRY_OBJECT) release_object(item.object);
    }
  }
};
struct Tensor {
  gantry_object header;
  gantry_tensor cell;
  std::vector<std::int64_t> shape, strides;
  gantry_object* owner;
  // owned; NULL for a view
  std::uint8_t* memory;
  Counted counted;
  ~Tensor() {
    release_object(owner);
    std::free(memory);
  }
};
struct Module {
  gantry_object header;
  gantry_module pair;
  gantry_object* parent;
  Counted counted;
  ~Module() {
    if (pair.table != nullptr) pair.table->destroy(pair.self);
    release_object(parent);
  }
};
struct Function {
  gantry_object header;
  FakeHost::Body body;
  gantry_object* parent;
  Counted counted;
  ~Function() { release_object(parent); }
};
struct Opaque {
  gantry_object header;
  // NULL for a pin.
  const gantry_object_type* type;
  void* self;
  Counted counted;
  ~Opaque() {
    if (type != nullptr) type->destroy(self);
  }
};
struct Batch {
  gantry_object header;
  std::vector<gantry_batch_call> calls;
  Counted counted;
  ~Batch() {
    for (const gantry_batch_call& call : calls) release_object(call.function);
  }
};

template <class T>
gantry_object header_of(std::int32_t kind) {
  return {(std::uint64_t{1} << 32) | 1, kind, 0,
          [](void* self, std::int32_t) { delete static_cast<T*>(self); }};
}
template <class T>
void give(T* object, gantry_value* out) {
  *out = {};
  out->kind = object->header.kind;
  out->object = &object->header;
}
template <class T>
T* as(gantry_object* object) {
  return reinterpret_cast<T*>(object);
}

}  // namespace

struct FakeHost::Entries {
  static FakeHost& of(const gantry_host* host) {
    return *reinterpret_cast<const Lent*>(host)->owner;
  }

  static const void* get_extension(const gantry_host* host, const char* id) {
    static const gantry_trace trace = {
        sizeof(gantry_trace),
        0,
        [](const gantry_host* h) -> std::int64_t {
          return of(h).recording ? std::chrono::steady_clock::now().time_since_epoch().count() : -1;
        },
        [](const gantry_host* h, gantry_bytes group, gantry_bytes name) -> std::uint64_t {
          const std::lock_guard lock(of(h).mutex_);
          of(h).tracks.push_back(concat(view_of(group), "/", view_of(name)));
          return of(h).tracks.size();
        },
        [](const gantry_host*, gantry_bytes) {},
        [](const gantry_host* h, std::uint64_t track, std::int64_t begin, std::int64_t end,
           gantry_bytes name, gantry_bytes category, const gantry_trace_argument*, std::uint32_t) {
          const std::lock_guard lock(of(h).mutex_);
          if (track == GANTRY_TRACK_THREAD) {
            of(h).spans.push_back(concat(view_of(category), ":", view_of(name)));
          } else {
            of(h).track_spans.push_back({of(h).tracks.at(track - 1), std::string(view_of(name)),
                                         std::string(view_of(category)), begin, end});
          }
        },
        [](const gantry_host*, gantry_bytes, gantry_bytes, std::int64_t, double) {}};
    static const gantry_progress progress = {
        sizeof(gantry_progress), 0,
        [](const gantry_host* h, gantry_bytes text) -> std::uint64_t {
          const std::lock_guard lock(of(h).mutex_);
          ++of(h).running_works;
          of(h).works.emplace_back(text.data, text.size);
          return of(h).works.size();
        },
        [](const gantry_host* h, std::uint64_t) {
          const std::lock_guard lock(of(h).mutex_);
          --of(h).running_works;
        }};
    static const gantry_output output = {
        sizeof(gantry_output), 0,
        [](const gantry_host* h, gantry_bytes text, gantry_status*) -> gantry_code {
          const std::lock_guard lock(of(h).mutex_);
          of(h).output.emplace_back(text.data, text.size);
          return GANTRY_OK;
        }};
    static const gantry_batch batch = {sizeof(gantry_batch), 0, batch_prepare, batch_run};
    if (of(host).tracing && std::string_view(id) == GANTRY_TRACE_2) return &trace;
    if (std::string_view(id) == GANTRY_PROGRESS_1) return &progress;
    if (std::string_view(id) == GANTRY_OUTPUT_1) return &output;
    if (of(host).has_batches && std::string_view(id) == GANTRY_BATCH_1) return &batch;
    return nullptr;
  }
  static gantry_code batch_prepare(const gantry_host* host, const gantry_batch_call* calls,
                                   std::uint64_t count, gantry_object** batch,
                                   gantry_status* status) {
    if (of(host).batch_refusal != nullptr)
      return gantry_fail(status, GANTRY_INVALID, "BATCH", of(host).batch_refusal);
    auto* const made =
        new Batch{header_of<Batch>(GANTRY_OBJECT), {calls, calls + count}, Counted(of(host).live_)};
    for (const gantry_batch_call& call : made->calls) retain_object(call.function);
    *batch = &made->header;
    return GANTRY_OK;
  }
  static gantry_code batch_run(const gantry_host* host, gantry_object* batch, const gantry_env* env,
                               std::uint64_t* failed, gantry_status* status) {
    {
      const std::lock_guard lock(of(host).mutex_);
      ++of(host).batch_runs;
    }
    std::uint64_t index = 0;
    for (const gantry_batch_call& one : as<Batch>(batch)->calls) {
      if (env->task != nullptr && of(host).cancelled) {
        *failed = GANTRY_NO_CALL;
        return gantry_fail(status, GANTRY_CANCELLED, "CANCELLED", "run is cancelled");
      }
      const gantry_env here{one.device, gantry_env_stream(env, one.device), env->task,
                            env->streams};
      gantry_value result{};
      const gantry_code code =
          call(host, one.function, &here, one.args, one.count, &result, status);
      if (result.kind >= GANTRY_OBJECT) release_object(result.object);
      *failed = index++;
      if (code != GANTRY_OK) return code;
    }
    return GANTRY_OK;
  }
  static void log(const gantry_host* host, std::int32_t, gantry_bytes text) {
    of(host).log.emplace_back(text.data, text.size);
  }
  static gantry_code config_get(const gantry_host* host, gantry_bytes key, gantry_value* borrowed,
                                gantry_status* status) {
    const auto& options = of(host).options;
    if (const auto found = options.find(std::string_view(key.data, key.size));
        found != options.end()) {
      *borrowed = {};
      if (const auto* text = std::get_if<std::string>(&found->second)) {
        borrowed->kind = GANTRY_CSTRING;
        borrowed->cstring = text->c_str();
      } else if (const auto* number = std::get_if<std::int64_t>(&found->second)) {
        borrowed->kind = GANTRY_INT;
        borrowed->i = *number;
      } else {
        borrowed->kind = GANTRY_BOOL;
        borrowed->i = std::get<bool>(found->second);
      }
      return GANTRY_OK;
    }
    return gantry_fail(status, GANTRY_NOT_FOUND, "CONFIG", "fake host: option does not exist");
  }
  static std::int32_t is_cancelled(const gantry_host* host, const gantry_env*) {
    FakeHost& fake = of(host);
    return fake.cancelled || fake.spans.size() >= fake.cancelled_after_spans ||
           ++fake.polls > fake.cancelled_after_polls;
  }
  static gantry_code text_new(const gantry_host* host, std::int32_t kind, gantry_bytes text,
                              gantry_value* out, gantry_status*) {
    const bool is_string = kind == GANTRY_STRING;
    if (gantry_value_small(is_string ? GANTRY_SMALL_STRING : GANTRY_SMALL_BYTES, text, out) != 0)
      return GANTRY_OK;
    auto* object = new Text{
        header_of<Text>(kind), {}, std::string(text.data, text.size), Counted(of(host).live_)};
    object->cell = {object->content.data(), object->content.size()};
    give(object, out);
    return GANTRY_OK;
  }
  static gantry_code shape_new(const gantry_host* host, const std::int64_t* dims,
                               std::uint64_t count, gantry_value* out, gantry_status*) {
    auto* object = new Shape{header_of<Shape>(GANTRY_SHAPE),
                             {},
                             std::vector<std::int64_t>(dims, dims + count),
                             Counted(of(host).live_)};
    object->cell = {object->content.data(), object->content.size()};
    give(object, out);
    return GANTRY_OK;
  }
  static gantry_code items_new(const gantry_host* host, std::int32_t kind,
                               const gantry_value* items, std::uint64_t count, gantry_value* out,
                               gantry_status*) {
    auto* object =
        new Items{header_of<Items>(kind), std::vector<gantry_value>(items, items + count),
                  Counted(of(host).live_)};
    for (const gantry_value& item : object->items) {
      if (item.kind >= GANTRY_OBJECT) retain_object(item.object);
    }
    give(object, out);
    return GANTRY_OK;
  }
  static gantry_code items_get(const gantry_host*, gantry_object* object,
                               const gantry_value** items, std::uint64_t* count,
                               gantry_status* status) {
    if (object->kind != GANTRY_ARRAY && object->kind != GANTRY_MAP) {
      return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                         "fake host: object is neither an array nor a map");
    }
    *items = as<Items>(object)->items.data();
    *count = as<Items>(object)->items.size();
    return GANTRY_OK;
  }

  static gantry_code error_new(const gantry_host* host, const gantry_error* what, gantry_value* out,
                               gantry_status*) {
    of(host).error_kinds.emplace_back(what->kind.data, what->kind.size);
    give(new Opaque{header_of<Opaque>(GANTRY_ERROR), nullptr, nullptr, Counted(of(host).live_)},
         out);
    return GANTRY_OK;
  }
  static gantry_code object_new(const gantry_host* host, const gantry_object_type* type, void* self,
                                gantry_value* out, gantry_status*) {
    give(new Opaque{header_of<Opaque>(GANTRY_OBJECT), type, self, Counted(of(host).live_)}, out);
    return GANTRY_OK;
  }
  static gantry_code object_get(const gantry_host*, gantry_object* object,
                                const gantry_object_type* type, void** self,
                                gantry_status* status) {
    if (object->kind != GANTRY_OBJECT || as<Opaque>(object)->type != type) {
      return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                         "fake host: object has another type");
    }
    *self = as<Opaque>(object)->self;
    return GANTRY_OK;
  }

  static gantry_code no_device(gantry_status* status) {
    return gantry_fail(status, GANTRY_NOT_FOUND, "DEVICE", "fake host: device types are 1 and 4");
  }
  // Tensors of other plugins' devices are in host memory, too.
  static bool has_memory(const FakeHost& self, gantry_device_id device) {
    return device.type == cpu.type || device.type == handles.type ||
           self.devices.contains(device.type);
  }
  static gantry_code tensor_new(const gantry_host* host, const gantry_tensor* like, gantry_bytes,
                                std::uint32_t, gantry_value* out, gantry_status* status) {
    FakeHost& self = of(host);
    const std::lock_guard lock(self.mutex_);
    const bool fails = self.failing_allocations > 0;
    if (fails) --self.failing_allocations;
    if (fails || self.allocations.size() >= self.max_allocations) {
      return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "fake host: memory is exhausted");
    }
    if (!has_memory(self, like->device)) return no_device(status);
    const auto size = tensor_bytes(shape_of(*like), like->dtype);
    if (!size.ok())
      return gantry_fail(status, GANTRY_INVALID, "ARGUMENT", "fake host: tensor has no size");
    const std::uint64_t bytes = *size;
    if (bytes > self.max_tensor_bytes) {
      return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "fake host: tensor is too large");
    }
    self.allocations.push_back(bytes);
    // It ends with the last element, so that a sanitizer finds what is written behind it.
    void* allocated = nullptr;
    if (posix_memalign(&allocated, 128, bytes) != 0)
      return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "fake host: memory is exhausted");
    auto* const memory = static_cast<std::uint8_t*>(allocated);
    if (bytes != 0) std::memset(memory, 0xcd, bytes);
    gantry_tensor tensor = *like;
    tensor.strides = nullptr;
    tensor.byte_offset = 0;
    tensor.data = memory;
    if (like->device.type == handles.type) {
      self.handles_[self.next_handle_] = memory;
      tensor.data = reinterpret_cast<void*>(self.next_handle_);
      self.next_handle_ += 2;
    }
    give(new_tensor(self, tensor, nullptr, memory), out);
    return GANTRY_OK;
  }
  static gantry_code tensor_view(const gantry_host* host, const gantry_tensor* what,
                                 gantry_object* owner, std::uint32_t, gantry_value* out,
                                 gantry_status*) {
    give(new_tensor(of(host), *what, retain_object(owner), nullptr), out);
    return GANTRY_OK;
  }
  static Tensor* new_tensor(FakeHost& self, const gantry_tensor& what, gantry_object* owner,
                            std::uint8_t* memory) {
    auto* object = new Tensor{header_of<Tensor>(GANTRY_TENSOR),
                              what,
                              std::vector<std::int64_t>(what.shape, what.shape + what.ndim),
                              {},
                              owner,
                              memory,
                              Counted(self.live_)};
    object->cell.shape = object->shape.data();
    if (what.strides != nullptr) {
      object->strides.assign(what.strides, what.strides + what.ndim);
      object->cell.strides = object->strides.data();
    }
    return object;
  }
  static gantry_code tensor_copy(const gantry_host* host, const gantry_tensor* from,
                                 const gantry_tensor* to, const gantry_env*,
                                 gantry_status* status) {
    for (const gantry_tensor* tensor : {from, to}) {
      if (!has_memory(of(host), tensor->device)) return no_device(status);
    }
    const auto size = tensor_bytes(shape_of(*from), from->dtype);
    const auto room = tensor_bytes(shape_of(*to), to->dtype);
    if (!size.ok() || !room.ok() || *size != *room || !same_dtype(from->dtype, to->dtype) ||
        !is_compact(*from) || !is_compact(*to)) {
      return gantry_fail(status, GANTRY_INVALID, "TENSOR_COPY",
                         "fake host: source and target differ");
    }
    const std::uint64_t bytes = *size;
    {
      const std::lock_guard lock(of(host).mutex_);
      of(host).copies.push_back(bytes);
    }
    if (bytes != 0) std::memmove(of(host).memory_of(*to), of(host).memory_of(*from), bytes);
    return GANTRY_OK;
  }

  static gantry_code module_new(const gantry_host* host, gantry_object* parent,
                                gantry_module module, std::int32_t, gantry_value* out,
                                gantry_status*) {
    give(new Module{header_of<Module>(GANTRY_MODULE), module, retain_object(parent),
                    Counted(of(host).live_)},
         out);
    return GANTRY_OK;
  }
  static gantry_code function_new(const gantry_host* host, gantry_object* parent,
                                  gantry_function function, std::int32_t, gantry_value* out,
                                  gantry_status*) {
    give(new_function(of(host), parent, function), out);
    return GANTRY_OK;
  }
  static Function* new_function(FakeHost& self, gantry_object* parent, gantry_function pair) {
    return new Function{header_of<Function>(GANTRY_FUNCTION),
                        [pair](const gantry_env* env, std::span<const gantry_value> args,
                               gantry_value* result, gantry_status* status) {
                          return pair.table->call(pair.self, env, args.data(),
                                                  static_cast<std::int32_t>(args.size()), result,
                                                  status);
                        },
                        retain_object(parent), Counted(self.live_)};
  }
  static gantry_code module_info(const gantry_host*, gantry_object* module,
                                 gantry_module_info* info, gantry_status*) {
    const gantry_module_table* table = as<Module>(module)->pair.table;
    info->flags = table != nullptr ? table->flags : 0;
    info->type_key = gantry_text(table != nullptr ? table->type_name : "fake");
    info->device_type = 0;
    info->zero = 0;
    return GANTRY_OK;
  }
  static gantry_code find(const gantry_host* host, gantry_object* module, std::uint32_t where,
                          gantry_bytes name, gantry_object** function, gantry_status* status) {
    FakeHost& self = of(host);
    if ((where & GANTRY_FIND_SELF) != 0 && as<Module>(module)->pair.table != nullptr) {
      gantry_function found{};
      const gantry_module& pair = as<Module>(module)->pair;
      const gantry_code code = pair.table->get_function(pair.self, name, &found, status);
      if (code == GANTRY_OK) {
        *function = found.table != nullptr ? &new_function(self, module, found)->header
                                           : static_cast<gantry_object*>(found.self);
        return GANTRY_OK;
      }
      if (code != GANTRY_NOT_FOUND) return code;
    }
    for (const auto& [place, functions] : {std::pair(GANTRY_FIND_IMPORTS, &self.imports_),
                                           std::pair(GANTRY_FIND_GLOBALS, &self.globals_)}) {
      const auto known = functions->find(std::string_view(name.data, name.size));
      if ((where & place) == 0 || known == functions->end()) continue;
      *function = &(new Function{header_of<Function>(GANTRY_FUNCTION), known->second, nullptr,
                                 Counted(self.live_)})
                       ->header;
      return GANTRY_OK;
    }
    const std::string text = "fake host: no function \"" + std::string(name.data, name.size) + "\"";
    return gantry_fail(status, GANTRY_NOT_FOUND, "FUNCTION", text.c_str());
  }
  static gantry_code call(const gantry_host*, gantry_object* function, const gantry_env* env,
                          const gantry_value* args, std::int32_t count, gantry_value* result,
                          gantry_status* status) {
    return as<Function>(function)->body(env, std::span(args, static_cast<std::size_t>(count)),
                                        result, status);
  }

  static gantry_code device_type(const gantry_host*, gantry_bytes, std::int32_t*,
                                 gantry_status* status) {
    return gantry_fail(status, GANTRY_NOT_FOUND, "DEVICE",
                       "fake host: device names are not supported");
  }
  static gantry_code device_type_in(const gantry_host* host, gantry_object*, std::int32_t number,
                                    std::int32_t* type, gantry_status*) {
    const auto& numbers = of(host).device_numbers;
    const auto found = numbers.find(number);
    *type = found == numbers.end() ? number : found->second;
    return GANTRY_OK;
  }
  static gantry_code device_get(const gantry_host* host, gantry_device_id id, gantry_device* out,
                                gantry_status* status) {
    static const gantry_device_table cpu_table = device_table("cpu", 1, 0);
    static const gantry_device_table handle_table =
        device_table("handles", 4, GANTRY_DEVICE_OPAQUE_DATA);
    if (const auto other = of(host).devices.find(id.type); other != of(host).devices.end()) {
      *out = other->second;
      out->id = id;
      return GANTRY_OK;
    }
    if (id.type != cpu.type && id.type != handles.type) return no_device(status);
    *out = {&of(host), id.type == cpu.type ? &cpu_table : &handle_table, id};
    return GANTRY_OK;
  }
  // The one stream and the one recording of the handles device.
  static inline int own_stream = 0;
  static inline int recording = 0;
  static gantry_code note(void* self, std::string_view call, void* stream) {
    const std::lock_guard lock(static_cast<FakeHost*>(self)->mutex_);
    static_cast<FakeHost*>(self)->device_calls.push_back(concat(call, stream == nullptr ? " default"
                                                                      : stream == &own_stream
                                                                          ? " own"
                                                                          : " caller's"));
    return GANTRY_OK;
  }
  static void add_captures(gantry_device_table& table) {
    table.stream_create = [](void*, std::int32_t, std::uint32_t, void** stream,
                             gantry_status*) -> gantry_code {
      return *stream = &own_stream, GANTRY_OK;
    };
    table.stream_destroy = [](void* self, std::int32_t, void* stream) {
      note(self, "stream_destroy", stream);
    };
    table.capture_begin = [](void* self, std::int32_t, void* stream,
                             gantry_status*) -> gantry_code {
      return note(self, "capture_begin", stream);
    };
    table.capture_end = [](void* self, std::int32_t, void* stream, void** graph,
                           gantry_status*) -> gantry_code {
      *graph = &recording;
      return note(self, "capture_end", stream);
    };
    table.capture_launch = [](void* self, std::int32_t, void*, void* stream,
                              gantry_status*) -> gantry_code {
      return note(self, "capture_launch", stream);
    };
    table.capture_destroy = [](void* self, std::int32_t, void*) {
      static_cast<FakeHost*>(self)->device_calls.emplace_back("capture_destroy");
    };
  }
  static gantry_device_table device_table(const char* name, std::int32_t type,
                                          std::uint32_t flags) {
    gantry_device_table table{};
    table.struct_size = sizeof table;
    table.flags = flags;
    table.name = name;
    table.type = type;
    table.synchronize = [](void* self, std::int32_t, void* stream, gantry_status*) -> gantry_code {
      ++static_cast<FakeHost*>(self)->synchronizations;
      return note(self, "synchronize", stream);
    };
    table.stream_create = [](void*, std::int32_t, std::uint32_t, void**,
                             gantry_status* status) -> gantry_code {
      return gantry_fail(status, GANTRY_UNSUPPORTED, "STREAM",
                         "fake host: streams are not supported");
    };
    table.attribute = [](void* self, std::int32_t, std::int32_t kind, gantry_value* out,
                         gantry_status* status) -> gantry_code {
      FakeHost& fake = *static_cast<FakeHost*>(self);
      const std::lock_guard lock(fake.mutex_);
      ++fake.attribute_reads;
      const auto found = fake.attributes.find(kind);
      if (found == fake.attributes.end()) {
        return gantry_fail(status, GANTRY_NOT_FOUND, "ATTRIBUTE",
                           "fake host: the device has no such attribute");
      }
      return *out = int_value(found->second), GANTRY_OK;
    };
    if ((flags & GANTRY_DEVICE_OPAQUE_DATA) != 0) add_captures(table);
    return table;
  }
};

FakeHost::FakeHost() {
  lent_.owner = this;
  lent_.table = {.struct_size = sizeof(gantry_host),
                 .abi_minor = 0,
                 .get_extension = Entries::get_extension,
                 .log = Entries::log,
                 .config_get = Entries::config_get,
                 .is_cancelled = Entries::is_cancelled,
                 .text_new = Entries::text_new,
                 .shape_new = Entries::shape_new,
                 .items_new = Entries::items_new,
                 .items_get = Entries::items_get,
                 .error_new = Entries::error_new,
                 .object_new = Entries::object_new,
                 .object_get = Entries::object_get,
                 .tensor_new = Entries::tensor_new,
                 .tensor_view = Entries::tensor_view,
                 .tensor_copy = Entries::tensor_copy,
                 .module_new = Entries::module_new,
                 .function_new = Entries::function_new,
                 .module_info = Entries::module_info,
                 .find = Entries::find,
                 .call = Entries::call,
                 .device_type = Entries::device_type,
                 .device_type_in = Entries::device_type_in,
                 .device_get = Entries::device_get};
  gantry_value made{};
  Entries::module_new(table(), nullptr, {nullptr, nullptr}, 0, &made, nullptr);
  node_ = made.object;
  // the node is not counted
  *live_ = 0;
}

FakeHost::~FakeHost() {
  *live_ += 1;
  release_object(node_);
  if (*live_ == 0) return;
  std::fprintf(stderr, "fake host: %d objects are still held\n", live_->load());
  std::abort();
}

gantry_object* FakeHost::new_pin() {
  return &(new Opaque{header_of<Opaque>(GANTRY_OBJECT), nullptr, nullptr, Counted(live_)})->header;
}

void FakeHost::release(gantry_object* object) { release_object(object); }

std::uint8_t* FakeHost::memory_of(const gantry_tensor& tensor) const {
  if (tensor.device.type != handles.type)
    return static_cast<std::uint8_t*>(tensor.data) + tensor.byte_offset;
  const std::lock_guard lock(mutex_);
  return handles_.at(reinterpret_cast<std::uintptr_t>(tensor.data)) + tensor.byte_offset;
}

}  // namespace gantry::test
