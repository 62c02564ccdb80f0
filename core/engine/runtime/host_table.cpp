// SPDX-License-Identifier: Apache-2.0
//
// Implements the functions of gantry_host. None of them throws.
#include "core/engine/runtime/host_table.hpp"

#include "core/base/escape.hpp"
#include "core/base/reason.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/module/trace_arguments.hpp"
#include "core/engine/native/batch.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/runtime/call_task.hpp"
#include "core/engine/runtime/checked.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/runtime/traced_copy.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/batch.h>
#include <gantry/host.h>
#include <gantry/output.h>
#include <gantry/progress.h>
#include <gantry/threads.h>
#include <gantry/trace.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

Result<ModuleNode*> module_argument(gantry_object* object, std::string_view function) {
  if (object == nullptr || object->kind != GANTRY_MODULE) {
    return invalid(function, ": the object is ", object ? concat("of kind ", object->kind) : "NULL",
                   ", expected a module (kind ", std::int32_t{GANTRY_MODULE}, ")")
        .with_reason("ARGUMENT_KIND");
  }
  return reinterpret_cast<ModuleNode*>(object);
}

// Version 1.0 defines no flags for these calls.
Status check_flags(std::uint32_t flags, std::string_view function) {
  if (flags == 0) return {};
  return unsupported(function, ": flags are ", Hex{flags}, ", this version defines none")
      .with_reason("FLAGS");
}

Status check_device_type(std::int32_t type, std::string_view function) {
  if (type >= 0 && type < kDeviceTypeCount) return {};
  return invalid(function, ": device type is ", type, ", range is 0 to ", kDeviceTypeCount - 1)
      .with_reason("DEVICE_TYPE");
}

void host_log(const gantry_host* host, std::int32_t level, gantry_bytes text) {
  abi_boundary(nullptr, [&]() -> Status {
    const Log& log = state_of(host).log;
    const auto known = static_cast<LogLevel>(level < 0                  ? 0
                                             : level > GANTRY_LOG_DEBUG ? GANTRY_LOG_DEBUG
                                                                        : level);
    if (log.is_enabled(known))
      log.write(known, {PluginHost::of(host).name(), ": ", Message::lines(view_of(text))});
    return {};
  });
}

gantry_code host_config_get(const gantry_host* host, gantry_bytes key, gantry_value* borrowed,
                            gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const PluginHost& plugin = PluginHost::of(host);
    for (const auto& [name, value] : plugin.options) {
      if (name != view_of(key)) continue;
      *borrowed = value.get();
      return {};
    }
    return not_found("option ", quoted(view_of(key)), " of ", plugin.title(),
                     " not found; options: ",
                     join(plugin.options, ", ", [](const auto& option) { return option.first; }))
        .with_reason(reason::config_key.tag);
  });
}

std::int32_t host_is_cancelled(const gantry_host*, const gantry_env* env) {
  return env != nullptr && env->task != nullptr &&
                 static_cast<const CallTask*>(env->task)->cancelled()
             ? 1
             : 0;
}

gantry_code host_text_new(const gantry_host* host, std::int32_t kind, gantry_bytes text,
                          gantry_value* out, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    if (kind == GANTRY_STRING && !is_utf8(view_of(text))) {
      return invalid("text_new: ", PluginHost::of(host).title(),
                     " passes a string that is not UTF-8, ", quoted(view_of(text)),
                     "; bytes are of kind ", std::int32_t{GANTRY_BYTES})
          .with_reason("TEXT_UTF8");
    }
    GANTRY_TRY(Value made, new_text(kind, view_of(text)));
    *out = made.take();
    return {};
  });
}

gantry_code host_shape_new(const gantry_host*, const std::int64_t* dims, std::uint64_t count,
                           gantry_value* out, gantry_status* status) {
  return abi_boundary(status, [&] { return give(new_shape({dims, count}), out); });
}

gantry_code host_items_new(const gantry_host*, std::int32_t kind, const gantry_value* items,
                           std::uint64_t count, gantry_value* out, gantry_status* status) {
  return abi_boundary(status, [&] { return give(new_items(kind, {items, count}), out); });
}

gantry_code host_items_get(const gantry_host*, gantry_object* object, const gantry_value** items,
                           std::uint64_t* count, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    if (object == nullptr || (object->kind != GANTRY_ARRAY && object->kind != GANTRY_MAP)) {
      return invalid("items_get: the object is ",
                     object ? concat("of kind ", object->kind) : "NULL",
                     ", expected an array (kind ", std::int32_t{GANTRY_ARRAY}, ") or a map (kind ",
                     std::int32_t{GANTRY_MAP}, ")")
          .with_reason("ARGUMENT_KIND");
    }
    GANTRY_TRY(const auto all, items_of(*object));
    *items = all.data();
    *count = all.size();
    return {};
  });
}

gantry_code host_error_new(const gantry_host*, const gantry_error* what, gantry_value* out,
                           gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_CHECK(check_text(what->kind, "error_new", "kind"));
    GANTRY_CHECK(check_text(what->message, "error_new", "message"));
    GANTRY_CHECK(check_text(what->backtrace, "error_new", "backtrace"));
    return give(new_error(*what), out);
  });
}

gantry_code host_object_new(const gantry_host* host, const gantry_object_type* type, void* self,
                            gantry_value* out, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const bool is_complete = type != nullptr && GANTRY_HAS(type, destroy) &&
                             type->name != nullptr && type->destroy != nullptr;
    if (!is_complete) {
      return bug("object_new: ", PluginHost::of(host).title(),
                 " passes a type without `name` or `destroy`")
          .with_reason("TABLE_INCOMPLETE");
    }
    return give(new_opaque(type, self, state_of(host).life()), out);
  });
}

gantry_code host_object_get(const gantry_host*, gantry_object* object,
                            const gantry_object_type* type, void** self, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(*self, opaque_self(object, type));
    return {};
  });
}

gantry_code host_tensor_new(const gantry_host* host, const gantry_tensor* like, gantry_bytes scope,
                            std::uint32_t flags, gantry_value* out, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_CHECK(check_flags(flags, "tensor_new"));
    return give(tensor_new(state_of(host).devices, *like, view_of(scope)), out);
  });
}

gantry_code host_tensor_view(const gantry_host*, const gantry_tensor* what, gantry_object* owner,
                             std::uint32_t flags, gantry_value* out, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_CHECK(check_flags(flags, "tensor_view"));
    return give(tensor_view(*what, owner), out);
  });
}

gantry_code host_tensor_copy(const gantry_host* host, const gantry_tensor* from,
                             const gantry_tensor* to, const gantry_env* env,
                             gantry_status* status) {
  return abi_boundary(status, [&] { return traced_copy(state_of(host), *from, *to, env); });
}

gantry_code host_module_new(const gantry_host* host, gantry_object* parent, gantry_module module,
                            std::int32_t device_type, gantry_value* out, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_CHECK(check_device_type(device_type, "module_new"));
    RuntimeState& state = state_of(host);
    ModuleNode* above = nullptr;
    if (parent != nullptr) {
      GANTRY_TRY(above, module_argument(parent, "module_new"));
    }
    GANTRY_TRY(const gantry_module_table* table,
               state.tables.get(module.table, PluginHost::of(host).title()));
    Artifact made = state.new_artifact();
    if (above != nullptr) made.device_numbers = above->artifact->device_numbers;
    GANTRY_TRY(Ref<ModuleNode> node,
               new_module_node(std::make_shared<const Artifact>(std::move(made)), table->type_name,
                               ModuleNode::kNoIndex));
    if (above != nullptr) {
      node->imports = above->imports;
      node->ext_devs = above->ext_devs.load();
      node->parent = Ref<ModuleNode>::share(above);
    }
    GANTRY_CHECK(bind(*node, {module.self, table}, PluginHost::of(host).plugin, device_type));
    *out = owned_value(std::move(node)).take();
    return {};
  });
}

gantry_code host_function_new(const gantry_host* host, gantry_object* parent,
                              gantry_function function, std::int32_t device_type, gantry_value* out,
                              gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_CHECK(check_device_type(device_type, "function_new"));
    ModuleNode* above = nullptr;
    if (parent != nullptr) {
      GANTRY_TRY(above, module_argument(parent, "function_new"));
    }
    auto made =
        new_function(function, Ref<ModuleNode>::share(above), device_type, state_of(host).life());
    if (!made.ok())
      return std::move(made).failure().at("in function_new of ", PluginHost::of(host).title());
    return give(std::move(made), out);
  });
}

gantry_code host_module_info(const gantry_host*, gantry_object* module, gantry_module_info* info,
                             gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const ModuleNode* node, module_argument(module, "module_info"));
    const auto* table = node->table.load(std::memory_order_acquire);
    info->flags = table != nullptr ? table->flags : 0;
    info->type_key = {node->type_key.data(), node->type_key.size()};
    info->device_type = node->device_type;
    info->zero = 0;
    return {};
  });
}

gantry_code host_find(const gantry_host*, gantry_object* module, std::uint32_t where,
                      gantry_bytes name, gantry_object** function, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModuleNode * node, module_argument(module, "find"));
    const auto look_up = status != nullptr ? find_function : find_optional_function;
    GANTRY_TRY(Ref<FunctionObject> found, look_up(*node, where, view_of(name)));
    if (!found) return fail(Code::not_found);
    *function = reinterpret_cast<gantry_object*>(found.take());
    return {};
  });
}

// Called for every operator, so without abi_boundary(). Only the callee can throw, which call()
// handles.
gantry_code host_call(const gantry_host*, gantry_object* function, const gantry_env* env,
                      const gantry_value* args, std::int32_t count, gantry_value* result,
                      gantry_status* status) {
  if (function == nullptr || function->kind != GANTRY_FUNCTION) {
    return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                       "call: the object is not a function");
  }
  return call(*reinterpret_cast<FunctionObject*>(function), env, args, count, result, status);
}

gantry_code host_device_type(const gantry_host* host, gantry_bytes name, std::int32_t* type,
                             gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(*type, state_of(host).devices.number_of(view_of(name)));
    return {};
  });
}

gantry_code host_device_type_in(const gantry_host* host, gantry_object* module, std::int32_t number,
                                std::int32_t* type, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModuleNode * node, module_argument(module, "device_type_in"));
    if (number == kExtDev)
      GANTRY_CHECK(check_ext_dev(*node, node->ext_devs, state_of(host).devices));
    *type = to_runtime(*node, number);
    return {};
  });
}

gantry_code host_device_get(const gantry_host* host, gantry_device_id id, gantry_device* out,
                            gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const auto device, state_of(host).device(id.type));
    GANTRY_TRY(*out, device_at(*device, id.index, concat(device->name, ":", id.index)));
    return {};
  });
}

// Of both tables.
constexpr auto* checked_items_get =
    checked<host_items_get, "items_get", "host?", "object?", "items", "count">;
constexpr auto* checked_tensor_view =
    checked<host_tensor_view, "tensor_view", "host?", "what", "owner?", "flags", "tensor">;
constexpr auto* checked_find =
    checked<host_find, "find", "host?", "module?", "where", "name", "function">;

// An operator of a model costs a few times what a look at each of its arguments does; programs call less often.
constexpr auto* checked_call_of_plugins =
    checked<host_call, "call", "host?", "function?", "env?", "args[?]", "count", "result">;
constexpr auto* checked_call_of_programs =
    checked<host_call, "call", "host?", "function?", "env?", "args[]", "count", "result">;

constexpr gantry_threads kThreads = {
    .struct_size = sizeof(gantry_threads),
    .zero = 0,
    .thread_count = [](const gantry_host* host) { return state_of(host).pool->size(); },
    .parallel_for =
        [](const gantry_host* host, std::int64_t count, gantry_parallel_body body, void* self,
           gantry_status* status) {
          return state_of(host).pool->parallel_for(count, body, self, status);
        },
};

// Returns NULL if nothing is recorded.
TraceRecorder* trace_of(const gantry_host* host) { return state_of(host).trace.get(); }

// A text of a plugin; one without an address is empty.
std::string_view text_of(const gantry_bytes& bytes) {
  return bytes.data != nullptr ? view_of(bytes) : std::string_view();
}

// Several plugins can use the same name of a group.
std::string group_of(const gantry_host* host, const gantry_bytes& group) {
  return concat(text_of(group).substr(0, TraceLimits{}.text / 2), " (", PluginHost::of(host).name(),
                ")");
}

std::vector<TraceArgument> arguments_of(const gantry_trace_argument* arguments,
                                        std::uint32_t count) {
  std::vector<TraceArgument> all;
  if (arguments == nullptr) return all;
  for (const gantry_trace_argument& each :
       std::span(arguments, std::min<std::size_t>(count, TraceLimits{}.arguments))) {
    if (auto value = trace_value(each.value)) {
      all.push_back(
          {std::string(text_of(each.name).substr(0, TraceLimits{}.text + 1)), *std::move(value)});
    }
  }
  return all;
}

constexpr gantry_trace kTrace = {
    .struct_size = sizeof(gantry_trace),
    .zero = 0,
    .now = [](const gantry_host* host) -> std::int64_t {
      const TraceRecorder* const trace = trace_of(host);
      return trace != nullptr && trace->is_recording() ? trace->now_ns() : -1;
    },
    // GANTRY_TRACK_THREAD is 0, so the recorder's numbers are one less.
    .track = [](const gantry_host* host, gantry_bytes group, gantry_bytes name) -> std::uint64_t {
      std::uint64_t track = GANTRY_TRACK_THREAD;
      TraceRecorder* const trace = trace_of(host);
      if (trace == nullptr) return track;
      abi_boundary(nullptr, [&]() -> Status {
        track = trace->track(group_of(host, group), text_of(name)) + 1;
        return {};
      });
      return track;
    },
    .thread_name =
        [](const gantry_host* host, gantry_bytes name) {
          if (TraceRecorder* const trace = trace_of(host)) trace->name_thread(text_of(name));
        },
    .span =
        [](const gantry_host* host, std::uint64_t track, std::int64_t begin, std::int64_t end,
           gantry_bytes name, gantry_bytes category, const gantry_trace_argument* arguments,
           std::uint32_t count) {
          TraceRecorder* const trace = trace_of(host);
          if (trace == nullptr || begin < 0) return;
          abi_boundary(nullptr, [&]() -> Status {
            const std::int64_t duration = end > begin ? end - begin : 0;
            auto all = arguments_of(arguments, count);
            if (track == GANTRY_TRACK_THREAD) {
              trace->add(text_of(name), text_of(category), begin, duration, std::move(all));
            } else {
              trace->add_on(track - 1, text_of(name), text_of(category), begin, duration,
                            std::move(all));
            }
            return {};
          });
        },
    .counter =
        [](const gantry_host* host, gantry_bytes group, gantry_bytes name, std::int64_t time,
           double value) {
          TraceRecorder* const trace = trace_of(host);
          if (trace == nullptr || time < 0) return;
          abi_boundary(nullptr, [&]() -> Status {
            trace->count(group_of(host, group), text_of(name), time, value);
            return {};
          });
        },
};

constexpr gantry_progress kProgress = {
    .struct_size = sizeof(gantry_progress),
    .zero = 0,
    .work_begin = [](const gantry_host* host, gantry_bytes text) -> std::uint64_t {
      std::uint64_t work = 0;
      abi_boundary(nullptr, [&]() -> Status {
        RuntimeState& state = state_of(host);
        const auto& sink = state.options.work_sink;
        if (!sink && !state.log.is_enabled(LogLevel::info)) return {};
        const Message line(PluginHost::of(host).name(), ": ", view_of(text));
        state.log.info(line);
        if (!sink) return {};
        work = ++state.last_work;
        sink(work, line);
        return {};
      });
      return work;
    },
    .work_end =
        [](const gantry_host* host, std::uint64_t work) {
          if (work == 0) return;
          abi_boundary(nullptr, [&]() -> Status {
            state_of(host).options.work_sink(work, {});
            return {};
          });
        },
};

constexpr gantry_batch kBatch = {
    .struct_size = sizeof(gantry_batch),
    .zero = 0,
    .prepare = [](const gantry_host*, const gantry_batch_call* calls, std::uint64_t count,
                  gantry_object** batch, gantry_status* status) -> gantry_code {
      return abi_boundary(status, [&]() -> Status {
        GANTRY_TRY(ObjectPtr made, new_batch({calls, count}));
        *batch = made.take();
        return {};
      });
    },
    .run = [](const gantry_host*, gantry_object* batch, const gantry_env* env,
              std::uint64_t* failed, gantry_status* status) -> gantry_code {
      const gantry_env none{};
      const auto is_cancelled = [](const gantry_env& outer) {
        return static_cast<const CallTask*>(outer.task)->cancelled();
      };
      return run_batch(batch, env != nullptr ? *env : none, is_cancelled, failed, status);
    },
};

// Writes what a model prints.
Status write_output(const RuntimeState& state, std::string_view text) {
  if (state.options.output_sink) {
    state.options.output_sink(text);
    return {};
  }
  const std::string shown = escaped_lines(text);
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() &&
      std::fflush(stdout) == 0)
    return {};
  const int number = errno;
  return unavailable("cannot write to stdout: ", std::strerror(number))
      .native("errno", number)
      .with_reason("OUTPUT_WRITE");
}

constexpr gantry_output kOutput = {
    .struct_size = sizeof(gantry_output),
    .zero = 0,
    .write = [](const gantry_host* host, gantry_bytes text, gantry_status* status) -> gantry_code {
      return abi_boundary(status, [&] { return write_output(state_of(host), text_of(text)); });
    },
};

struct Extension {
  std::string_view id;
  const void* table;
};
constexpr Extension kExtensions[] = {{GANTRY_THREADS_1, &kThreads},
                                     {GANTRY_TRACE_2, &kTrace},
                                     {GANTRY_BATCH_1, &kBatch},
                                     {GANTRY_PROGRESS_1, &kProgress},
                                     {GANTRY_OUTPUT_1, &kOutput}};

// Returns a static table, or NULL for an unknown name.
const void* host_extension(const gantry_host*, const char* id) {
  for (const Extension& extension : kExtensions) {
    if (extension.id == id) return extension.table;
  }
  return nullptr;
}

}  // namespace

std::string PluginHost::title() const {
  return plugin.empty() ? std::string("the program") : concat("plugin ", plugin);
}

Status add_host_options(PluginHost& host) {
  host.options.emplace_back("threads", Value::adopt(int_value(host.state->pool->size())));
  GANTRY_TRY(Value cache, new_text(GANTRY_STRING, host.state->cache_directory));
  host.options.emplace_back("cache_directory", std::move(cache));
  return {};
}

const gantry_host& functions_without_host() {
  static constexpr gantry_host table = {
      .struct_size = sizeof(gantry_host),
      .items_get = checked_items_get,
      .tensor_view = checked_tensor_view,
      .find = checked_find,
      .call = checked_call_of_programs,
  };
  return table;
}

void fill_host_table(PluginHost& host, std::uint32_t abi_minor) {
  host.table = {
      .struct_size = sizeof(gantry_host),
      .abi_minor = abi_minor,
      .get_extension = host_extension,
      .log = checked<host_log, "log", "host", "level", "text">,
      .config_get = checked<host_config_get, "config_get", "host", "key", "value">,
      .is_cancelled = host_is_cancelled,
      .text_new = checked<host_text_new, "text_new", "host", "kind", "text", "value">,
      .shape_new = checked<host_shape_new, "shape_new", "host", "dims[]", "count", "value">,
      .items_new =
          checked<host_items_new, "items_new", "host", "kind", "items[]", "count", "value">,
      .items_get = checked_items_get,
      .error_new = checked<host_error_new, "error_new", "host", "error", "value">,
      .object_new = checked<host_object_new, "object_new", "host", "type?", "self?", "value">,
      .object_get = checked<host_object_get, "object_get", "host", "object?", "type", "self">,
      .tensor_new =
          checked<host_tensor_new, "tensor_new", "host", "like", "scope", "flags", "value">,
      .tensor_view = checked_tensor_view,
      .tensor_copy = checked<host_tensor_copy, "tensor_copy", "host", "from", "to", "env?">,
      .module_new = checked<host_module_new, "module_new", "host", "parent?", "module",
                            "device_type", "value">,
      .function_new = checked<host_function_new, "function_new", "host", "parent?", "function",
                              "device_type", "value">,
      .module_info = checked<host_module_info, "module_info", "host", "module?", "info">,
      .find = checked_find,
      .call = checked_call_of_plugins,
      .device_type = checked<host_device_type, "device_type", "host", "name", "type">,
      .device_type_in =
          checked<host_device_type_in, "device_type_in", "host", "module?", "number", "type">,
      .device_get = checked<host_device_get, "device_get", "host", "id", "device">,
  };
}

}  // namespace gantry
