// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/table_copy.hpp"

#include "core/base/reason.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace gantry {
namespace {

using AnyFunction = void (*)();

enum class Rule : std::uint8_t {
  // NULL is rejected
  required,
  // NULL is replaced by the stub
  optional,
  // a required C string
  text,
  // an optional C string: NULL is replaced by ""
  note,
};

// One pointer of a table.
struct Location {
  std::size_t offset;
  const char* name;
  Rule rule;
  AnyFunction stub = nullptr;
  // Offset of the function that requires this one; 0: none does.
  std::size_t required_by = 0;
};

template <class Last>
gantry_status* last_of(Last status) {
  return status;
}
template <class First, class... Rest>
gantry_status* last_of(First, Rest... rest) {
  return last_of(rest...);
}

// A stub that returns UNSUPPORTED with the function's name. It has the type of the table's member,
// so that the call through the table is well-defined.
template <const char* text, class Function>
struct Absent;
template <const char* text, class... Arguments>
struct Absent<text, gantry_code (*)(Arguments...)> {
  static gantry_code call(Arguments... arguments) {
    return gantry_fail(last_of(arguments...), GANTRY_UNSUPPORTED, "FUNCTION_ABSENT", text);
  }
};

template <class Function>
struct Quiet;
template <class Answer, class... Arguments>
struct Quiet<Answer (*)(Arguments...)> {
  // Returns nothing, GANTRY_OK or NULL.
  static Answer call(Arguments...) { return Answer(); }
};

// These macros derive offset, name and stub from one member.
#define GANTRY_REQUIRED(TABLE, NOUN, MEMBER) \
  Location { offsetof(TABLE, MEMBER), "gantry." NOUN "/1." #MEMBER, Rule::required }
#define GANTRY_QUIET(TABLE, NOUN, MEMBER, ...)                                              \
  Location {                                                                                \
    offsetof(TABLE, MEMBER), "gantry." NOUN "/1." #MEMBER, Rule::optional,                  \
        reinterpret_cast<AnyFunction>(&Quiet<decltype(TABLE::MEMBER)>::call) __VA_OPT__(, ) \
            __VA_ARGS__                                                                     \
  }
#define GANTRY_ABSENT(TABLE, NOUN, MEMBER, ...)                                           \
  Location {                                                                              \
    offsetof(TABLE, MEMBER), "gantry." NOUN "/1." #MEMBER, Rule::optional,                \
        reinterpret_cast<AnyFunction>(&Absent<k_##MEMBER, decltype(TABLE::MEMBER)>::call) \
            __VA_OPT__(, ) __VA_ARGS__                                                    \
  }
#define GANTRY_ABSENT_TEXT(NOUN, MEMBER) \
  constexpr char k_##MEMBER[] = "gantry." NOUN "/1." #MEMBER " is not offered by this plugin";

GANTRY_ABSENT_TEXT("loader", check_binary)
GANTRY_ABSENT_TEXT("module", list_functions)
GANTRY_ABSENT_TEXT("module", save_binary)
GANTRY_ABSENT_TEXT("device", attribute)
GANTRY_ABSENT_TEXT("device", stream_create)
GANTRY_ABSENT_TEXT("device", event_create)
GANTRY_ABSENT_TEXT("device", event_record)
GANTRY_ABSENT_TEXT("device", event_wait)
GANTRY_ABSENT_TEXT("device", event_elapsed)
GANTRY_ABSENT_TEXT("device", capture_begin)
GANTRY_ABSENT_TEXT("device", capture_end)
GANTRY_ABSENT_TEXT("device", capture_launch)

const Location kPlugin[] = {
    {offsetof(gantry_plugin_table, id), "gantry.plugin/1.id", Rule::text},
    {offsetof(gantry_plugin_table, version), "gantry.plugin/1.version", Rule::text},
    {offsetof(gantry_plugin_table, vendor), "gantry.plugin/1.vendor", Rule::note},
    {offsetof(gantry_plugin_table, display_name), "gantry.plugin/1.display_name", Rule::note},
    {offsetof(gantry_plugin_table, license), "gantry.plugin/1.license", Rule::note},
    GANTRY_REQUIRED(gantry_plugin_table, "plugin", create),
    GANTRY_REQUIRED(gantry_plugin_table, "plugin", destroy),
    GANTRY_QUIET(gantry_plugin_table, "plugin", get_extension),
};

const Location kLoader[] = {
    {offsetof(gantry_loader_table, type_key), "gantry.loader/1.type_key", Rule::text},
    GANTRY_REQUIRED(gantry_loader_table, "loader", load_binary),
    GANTRY_ABSENT(gantry_loader_table, "loader", check_binary),
};

const Location kModule[] = {
    {offsetof(gantry_module_table, type_name), "gantry.module/1.type_name", Rule::text},
    GANTRY_REQUIRED(gantry_module_table, "module", destroy),
    GANTRY_REQUIRED(gantry_module_table, "module", get_function),
    GANTRY_ABSENT(gantry_module_table, "module", list_functions),
    GANTRY_ABSENT(gantry_module_table, "module", save_binary),
    GANTRY_QUIET(gantry_module_table, "module", prepare),
    GANTRY_QUIET(gantry_module_table, "module", get_extension),
};

const Location kFunction[] = {
    GANTRY_QUIET(gantry_function_table, "function", destroy),
    GANTRY_REQUIRED(gantry_function_table, "function", call),
};

const Location kGlobals[] = {
    GANTRY_REQUIRED(gantry_globals, "globals", get_global),
};

const Location kGenerator[] = {
    GANTRY_REQUIRED(gantry_generator, "generator", build),
    GANTRY_QUIET(gantry_generator, "generator", check),
};

const Location kModel[] = {
    GANTRY_REQUIRED(gantry_model, "model", info),
    GANTRY_REQUIRED(gantry_model, "model", signature),
    GANTRY_REQUIRED(gantry_model, "model", executor_new),
};

const Location kExecutor[] = {
    GANTRY_REQUIRED(gantry_executor_table, "executor", destroy),
    GANTRY_REQUIRED(gantry_executor_table, "executor", placements),
    GANTRY_REQUIRED(gantry_executor_table, "executor", run),
};

// A device that creates streams, events or graphs must be able to use and to destroy them, and one
// with streams must have synchronize.
const Location kDevice[] = {
    {offsetof(gantry_device_table, name), "gantry.device/1.name", Rule::text},
    GANTRY_REQUIRED(gantry_device_table, "device", count),
    GANTRY_ABSENT(gantry_device_table, "device", attribute),
    GANTRY_REQUIRED(gantry_device_table, "device", alloc),
    GANTRY_REQUIRED(gantry_device_table, "device", free),
    GANTRY_REQUIRED(gantry_device_table, "device", copy),
    GANTRY_QUIET(gantry_device_table, "device", synchronize,
                 offsetof(gantry_device_table, stream_create)),
    GANTRY_ABSENT(gantry_device_table, "device", stream_create),
    GANTRY_QUIET(gantry_device_table, "device", stream_destroy,
                 offsetof(gantry_device_table, stream_create)),
    GANTRY_ABSENT(gantry_device_table, "device", event_create),
    GANTRY_QUIET(gantry_device_table, "device", event_destroy,
                 offsetof(gantry_device_table, event_create)),
    GANTRY_ABSENT(gantry_device_table, "device", event_record,
                  offsetof(gantry_device_table, event_create)),
    GANTRY_ABSENT(gantry_device_table, "device", event_wait,
                  offsetof(gantry_device_table, event_create)),
    GANTRY_ABSENT(gantry_device_table, "device", event_elapsed),
    GANTRY_ABSENT(gantry_device_table, "device", capture_begin),
    GANTRY_ABSENT(gantry_device_table, "device", capture_end,
                  offsetof(gantry_device_table, capture_begin)),
    GANTRY_ABSENT(gantry_device_table, "device", capture_launch,
                  offsetof(gantry_device_table, capture_begin)),
    GANTRY_QUIET(gantry_device_table, "device", capture_destroy,
                 offsetof(gantry_device_table, capture_begin)),
};

AnyFunction pointer_at(const void* table, std::size_t offset) {
  AnyFunction pointer = nullptr;
  std::memcpy(&pointer, static_cast<const char*>(table) + offset, sizeof pointer);
  return pointer;
}

void set_pointer(void* table, std::size_t offset, const void* pointer) {
  std::memcpy(static_cast<char*>(table) + offset, pointer, sizeof(void*));
}

Failure missing(std::string_view subject, const Location& location, std::string_view why) {
  return malformed(no_offset, subject, ": ", location.name, " is empty", why)
      .with_reason(reason::function_missing.tag);
}

Status fill(void* copy, std::span<const Location> locations, std::string_view subject) {
  for (const Location& location : locations) {
    if (pointer_at(copy, location.offset)) continue;
    switch (location.rule) {
      case Rule::required:
      case Rule::text:
        return missing(subject, location, "");
      case Rule::note: {
        const char* const empty = "";
        set_pointer(copy, location.offset, &empty);
        break;
      }
      case Rule::optional:
        break;
    }
  }
  // Done before any stub is set, because a stub must not count as a function of the plugin.
  for (const Location& location : locations) {
    if (location.required_by == 0 || pointer_at(copy, location.offset) ||
        !pointer_at(copy, location.required_by))
      continue;
    const auto owner = std::find_if(locations.begin(), locations.end(), [&](const Location& other) {
      return other.offset == location.required_by;
    });
    return missing(subject, location, concat(", which is required with ", owner->name));
  }
  for (const Location& location : locations) {
    if (!pointer_at(copy, location.offset)) set_pointer(copy, location.offset, &location.stub);
  }
  return {};
}

// Reads nothing but the size until the size is checked.
template <class Table>
Result<Table> copy_any(const Table* table, std::string_view name,
                       std::span<const Location> locations, std::string_view subject) {
  if (!table)
    return malformed(no_offset, subject, ": ", name, " is empty")
        .with_reason(reason::function_missing.tag);
  if (reinterpret_cast<std::uintptr_t>(table) % alignof(Table) != 0) {
    return malformed(no_offset, subject, ": ", name, " is at ",
                     Hex{reinterpret_cast<std::uintptr_t>(table)}, ", not a multiple of ",
                     alignof(Table))
        .with_reason(reason::struct_size.tag);
  }
  const std::uint32_t size = table->struct_size;
  if (size < kMinTableSize<Table> || size > kMaxTableSize) {
    const bool small = size < kMinTableSize<Table>;
    return malformed(no_offset, subject, ": ", name, " has struct_size ", size, ", ",
                     small ? "minimum" : "maximum", " is ",
                     small ? kMinTableSize<Table> : kMaxTableSize, small ? " (ABI 1.0)" : "")
        .with_reason(reason::struct_size.tag);
  }
  Table copy{};
  std::memcpy(&copy, table, std::min<std::size_t>(size, sizeof copy));
  copy.struct_size = sizeof copy;
  GANTRY_CHECK(fill(&copy, locations, subject));
  return copy;
}

}  // namespace

Result<gantry_plugin_table> copy_table(const gantry_plugin_table* table, std::string_view subject) {
  return copy_any(table, "gantry_plugin_table", kPlugin, subject);
}
Result<gantry_loader_table> copy_table(const gantry_loader_table* table, std::string_view subject) {
  return copy_any(table, "gantry_loader_table", kLoader, subject);
}
Result<gantry_module_table> copy_table(const gantry_module_table* table, std::string_view subject) {
  return copy_any(table, "gantry_module_table", kModule, subject);
}
Result<gantry_function_table> copy_table(const gantry_function_table* table,
                                         std::string_view subject) {
  return copy_any(table, "gantry_function_table", kFunction, subject);
}
Result<gantry_device_table> copy_table(const gantry_device_table* table, std::string_view subject) {
  return copy_any(table, "gantry_device_table", kDevice, subject);
}
Result<gantry_globals> copy_table(const gantry_globals* table, std::string_view subject) {
  return copy_any(table, "gantry_globals", kGlobals, subject);
}
Result<gantry_generator> copy_table(const gantry_generator* table, std::string_view subject) {
  return copy_any(table, "gantry_generator", kGenerator, subject);
}

Result<gantry_model> copy_table(const gantry_model* table, std::string_view subject) {
  return copy_any(table, "gantry_model", kModel, subject);
}
Result<gantry_executor_table> copy_table(const gantry_executor_table* table,
                                         std::string_view subject) {
  return copy_any(table, "gantry_executor_table", kExecutor, subject);
}

namespace {

// Checks that a text or list of a record has an address, unless it is empty.
Status check_address(const void* address, std::uint64_t size, std::string_view member,
                     std::string_view subject) {
  if (address != nullptr || size == 0) return {};
  return malformed(no_offset, subject, ": ", member, " is empty, its size is ", size)
      .with_reason(reason::function_missing.tag);
}

}  // namespace

Result<gantry_function_info> copy_record(const gantry_function_info* info,
                                         std::string_view subject) {
  GANTRY_TRY(const gantry_function_info copy, copy_any(info, "gantry_function_info", {}, subject));
  GANTRY_CHECK(check_address(copy.name.data, copy.name.size, "gantry_function_info.name", subject));
  return copy;
}

Result<gantry_signature> copy_record(const gantry_signature* signature, std::string_view subject) {
  GANTRY_TRY(const gantry_signature copy, copy_any(signature, "gantry_signature", {}, subject));
  GANTRY_CHECK(check_address(copy.inputs, copy.input_count, "gantry_signature.inputs", subject));
  GANTRY_CHECK(check_address(copy.outputs, copy.output_count, "gantry_signature.outputs", subject));
  return copy;
}

Result<gantry_parameter> copy_record(const gantry_parameter* parameter, std::string_view subject) {
  GANTRY_TRY(const gantry_parameter copy, copy_any(parameter, "gantry_parameter", {}, subject));
  const auto rank = static_cast<std::uint64_t>(std::max(copy.ndim, 0));
  GANTRY_CHECK(check_address(copy.name.data, copy.name.size, "gantry_parameter.name", subject));
  GANTRY_CHECK(check_address(copy.type.data, copy.type.size, "gantry_parameter.type", subject));
  GANTRY_CHECK(check_address(copy.shape, rank, "gantry_parameter.shape", subject));
  for (std::uint64_t i = 0; copy.extents != nullptr && i < rank; ++i) {
    GANTRY_CHECK(check_address(copy.extents[i].data, copy.extents[i].size,
                               "an element of gantry_parameter.extents", subject));
  }
  return copy;
}

}  // namespace gantry
