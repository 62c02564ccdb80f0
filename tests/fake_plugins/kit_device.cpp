// SPDX-License-Identifier: Apache-2.0
//
// The device of kit_plugin.
#include "kit_plugin.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace kit {
namespace {

constexpr std::size_t kMaxAlloc = std::size_t{1} << 30;
constexpr std::uint32_t kKnownCopyFlags = GANTRY_COPY_BLOCKING;

gantry_code check_index(std::int32_t i, gantry_status* status) {
  if (i == 0 || has("accepts_any_index")) return GANTRY_OK;
  return fail(status, GANTRY_INVALID, "DEVICE_INDEX", "kit plugin: there is one device, 0");
}

// The same for a call that a lost device refuses.
gantry_code check_device(void* self, std::int32_t i, gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK || !static_cast<const Plugin*>(self)->is_lost) return code;
  return fail(status, GANTRY_LOST, "LOST", "kit plugin: the device is lost, also in a new runtime");
}

// Reports why the device cannot be used; NULL: it can. The device node and the driver are files of
// every host.
const char* device_problem() {
  const int node = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (node < 0 && errno == EACCES)
    return has("names_no_node") ? "kit plugin: no permission"
                                : "kit plugin: no permission for /dev/full";
  if (node < 0) return "kit plugin: cannot open /dev/full";
  close(node);
  void* const driver = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return "kit plugin: cannot open libBrokenLocale.so.1";
  void* const function = dlsym(driver, "__ctype_get_mb_cur_max");
  if (has("crashes_without_function")) (void)*static_cast<const volatile char*>(function);
  dlclose(driver);
  if (function != nullptr) return nullptr;
  return has("names_no_driver") ? "kit plugin: the driver is too old"
                                : "kit plugin: libBrokenLocale.so.1 has no __ctype_get_mb_cur_max";
}

gantry_code count(void*, std::int32_t* out, gantry_status* status) {
  static int calls = 0;
  // The core counts while the plugin is created.
  if (has("requires_dev") && access("/dev/fd", F_OK) != 0) std::abort();
  if (has("hangs_in_count")) {
    for (;;) pause();
  }
  if (has("eats_memory")) {
    for (;;) leak(1 << 20);
  }
  if (has("prints_and_aborts")) {
    std::fputs("kit plugin: no linker\n", stderr);
    std::abort();
  }
  if (has("exits_in_count")) std::_Exit(3);
  if (has("handles_signals")) ::signal(SIGTERM, [](int) {});
  if (has("blocks_signals")) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  }
  static const char* const problem = device_problem();
  if (problem != nullptr && !has("hides_problems"))
    return fail(status, GANTRY_UNAVAILABLE, "DRIVER_CALL", problem);
  *out = problem == nullptr ? 1 : 0;
  if (has("count_changes")) *out = ++calls;
  if (has("counts_below_0")) *out = -1;
  if (created_without_devices) *out = 0;
  if (has("reads_environment_in_count") && getenv("KIT_PLUGIN_HIDES") != nullptr) *out = 0;
  return GANTRY_OK;
}

gantry_code attribute(void* self, std::int32_t i, std::int32_t kind, gantry_value* out,
                      gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK) return code;
  const Plugin* const plugin = static_cast<const Plugin*>(self);
  switch (kind) {
    case GANTRY_ATTRIBUTE_EXISTS:
      out->kind = GANTRY_INT;
      out->i = 1;
      return GANTRY_OK;
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return plugin->host->text_new(plugin->host, GANTRY_STRING, gantry_text("kit"), out, status);
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
      out->kind = GANTRY_INT;
      out->i = has("counts_nothing") ? 0 : plugin->allocated.load();
      return GANTRY_OK;
    case GANTRY_ATTRIBUTE_ALIGNMENT: {
      static std::int64_t alignment = 64;
      out->kind = GANTRY_INT;
      out->i = has("demands_no_power_of_two") ? 24 : alignment;
      if (has("demands_change")) alignment = alignment == 64 ? 128 : 64;
      return GANTRY_OK;
    }
    case GANTRY_ATTRIBUTE_MAX_ALLOCATION:
      out->kind = GANTRY_INT;
      out->i = has("allocates_beyond_its_limit") ? kMaxAlloc / 2 : kMaxAlloc;
      return GANTRY_OK;
    case GANTRY_ATTRIBUTE_SHARED_ADDRESSES:
      out->kind = GANTRY_INT;
      out->i = has("shares_in_4_ways") ? 4 : 3;
      return GANTRY_OK;
    case GANTRY_ATTRIBUTE_UUID:
      return plugin->host->text_new(
          plugin->host, GANTRY_STRING,
          gantry_text(has("writes_capitals") ? "4B49540000000000000000000000000F"
                                             : "4b49540000000000000000000000000f"),
          out, status);
    case GANTRY_ATTRIBUTE_PCI_ADDRESS:
      return plugin->host->text_new(plugin->host, GANTRY_STRING,
                                    gantry_text(has("shortens_pci") ? "65:00.0" : "0000:65:00.0"),
                                    out, status);
    case GANTRY_ATTRIBUTE_VENDOR_ID:
      out->kind = GANTRY_INT;
      out->i = 0x4b49;
      return GANTRY_OK;
    case GANTRY_ATTRIBUTE_NUMA_NODE:
      out->kind = GANTRY_INT;
      out->i = has("has_no_node") ? -1 : 0;
      return GANTRY_OK;
    default:
      if (has("throws") && kind >= 60000) throw std::runtime_error("kit plugin: thrown");
      return fail(status, GANTRY_NOT_FOUND, "ATTRIBUTE", "kit plugin: no such attribute");
  }
}

// The size is stored before the memory.
constexpr std::size_t kFront = 4096;

gantry_code alloc(void* self, std::int32_t i, const gantry_alloc* asked, void** data,
                  gantry_status* status) {
  const gantry_code code =
      has("allocates_when_lost") ? check_index(i, status) : check_device(self, i, status);
  if (code != GANTRY_OK && !has("allocates_at_any_index")) return code;
  if (has("has_no_host_address") &&
      gantry_bytes_equal(asked->scope, gantry_text(GANTRY_SCOPE_HOST)) != 0)
    return *data = reinterpret_cast<void*>(0x100), GANTRY_OK;
  if ((asked->flags & ~std::uint32_t{GANTRY_ALLOC_IN_STREAM}) != 0)
    return fail(status, GANTRY_UNSUPPORTED, "FLAGS", "kit plugin: unknown flag");
  gantry_alloc given = *asked;
  if (has("allocates_too_much") && given.size > kMaxAlloc) given.size = 1;
  const gantry_alloc* const what = &given;
  if (what->size > kMaxAlloc && has("wrong_code_of_alloc"))
    return fail(status, GANTRY_UNAVAILABLE, "MEMORY", "kit plugin: out of memory");
  if (what->size > kMaxAlloc)
    return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: out of memory");
  const std::size_t front = what->alignment > kFront ? what->alignment : kFront;
  void* memory = nullptr;
  // Misaligned memory begins four bytes later.
  if (posix_memalign(&memory, front, front + what->size + 8) != 0)
    return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: out of memory");
  char* const at = static_cast<char*>(memory) + front;
  std::memcpy(at - 8, &what->size, 8);
  std::memcpy(at - 16, &memory, 8);
  static_cast<Plugin*>(self)->allocated += static_cast<std::int64_t>(what->size);
  const bool is_host = gantry_bytes_equal(what->scope, gantry_text(GANTRY_SCOPE_HOST)) != 0;
  const bool is_misaligned = (has("misaligned_alloc") && what->alignment > 1024) ||
                             (has("misaligned_host_memory") && is_host);
  *data = is_misaligned ? at + 4 : at;
  return GANTRY_OK;
}

// Memory of others, which release leaves to them.
constexpr std::size_t kMaxImports = 16;
void* imports[kMaxImports];

gantry_code memory_import(void*, std::int32_t i, const gantry_external* what, void** data,
                          gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK) return code;
  if (what->kind != GANTRY_EXTERNAL_HOST && !has("imports_any_kind"))
    return fail(status, GANTRY_UNSUPPORTED, "EXTERNAL_KIND", "kit plugin: memory of another kind");
  char* const first = static_cast<char*>(what->handle);
  *data = has("imports_from_the_begin") ? first : first + what->offset;
  for (void*& each : imports) {
    if (each != nullptr) continue;
    each = *data;
    return GANTRY_OK;
  }
  return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: too many imports");
}

void release(void* self, std::int32_t, void* data) {
  for (void*& each : imports) {
    if (data == nullptr || each != data) continue;
    each = nullptr;
    if (has("frees_imported_memory")) std::memset(data, 0xdd, 16);
    return;
  }
  if (data == nullptr) {
    if (has("rejects_null")) std::abort();
    return;
  }
  if (has("frees_too_early") && static_cast<Plugin*>(self)->pending == data) std::abort();
  char* at = static_cast<char*>(data);
  at -= reinterpret_cast<std::uintptr_t>(at) % 8;
  std::uint64_t size = 0;
  void* memory = nullptr;
  std::memcpy(&size, at - 8, 8);
  std::memcpy(&memory, at - 16, 8);
  if (!has("counts_wrong"))
    static_cast<Plugin*>(self)->allocated -= static_cast<std::int64_t>(size);
  std::free(memory);
}

// Of the defect frees_before_its_work: a copy that the next synchronize does.
struct LateCopy {
  void* to;
  const void* from;
  std::size_t size;
} late{};

void do_late_copy() {
  if (late.size != 0) std::memcpy(late.to, late.from, late.size);
  late = {};
}

void free_in_stream(void* self, std::int32_t i, void* data, void*) {
  // The memory is not released, so that only its content is wrong.
  if (has("frees_before_its_work")) {
    std::memset(data, 0xdd, 16);
    return;
  }
  if (has("frees_in_stream_twice")) release(self, i, data);
  release(self, i, data);
}

gantry_code copy(void* self, std::int32_t i, const gantry_copy* what, void* stream,
                 gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  if ((what->flags & ~kKnownCopyFlags) != 0)
    return fail(status, GANTRY_UNSUPPORTED, "FLAGS", "kit plugin: unknown flag");
  const std::uint64_t offset = has("ignores_offsets") ? 0 : what->from.byte_offset;
  if (has("rejects_empty_copies") && what->size == 0)
    return fail(status, GANTRY_INVALID, "SIZE", "kit plugin: the copy is empty");
  if (has("reorders") && stream != nullptr && what->size == 1024) return GANTRY_OK;
  do_late_copy();
  const bool is_on_device = what->from.device.type != 1 && what->to.device.type != 1;
  // alloc returns multiples of a page; 12'000 bytes are those of case 100.
  const bool is_shared = what->size == 12'000;
  const auto is_host = [](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % kFront != 0;
  };
  if (has("reads_no_host_memory") && is_shared && is_on_device && is_host(what->from.data))
    return GANTRY_OK;
  if (has("writes_no_host_memory") && is_shared && is_on_device && is_host(what->to.data))
    return GANTRY_OK;
  if (has("frees_before_its_work") && is_on_device && (what->flags & GANTRY_COPY_BLOCKING) == 0)
    late = {static_cast<char*>(what->to.data) + what->to.byte_offset,
            static_cast<char*>(what->from.data) + offset, what->size};
  else if (what->size != 0)
    std::memcpy(static_cast<char*>(what->to.data) + what->to.byte_offset,
                static_cast<const char*>(what->from.data) + offset, what->size);
  // The device has a copy of its own of what the host sees.
  if (is_shared && !is_on_device &&
      (has("shares_other_memory") || (has("sees_no_writes") && what->to.device.type == 1)))
    static_cast<char*>(what->to.data)[0] ^= 1;
  if (has("changes_the_last_byte") && what->size == 10'000 && what->to.device.type == 1)
    static_cast<char*>(what->to.data)[what->size - 1] ^= 1;
  if ((what->flags & GANTRY_COPY_BLOCKING) == 0)
    static_cast<Plugin*>(self)->pending = what->to.data;
  return GANTRY_OK;
}

gantry_code synchronize(void* self, std::int32_t i, void*, gantry_status* status) {
  static_cast<Plugin*>(self)->pending = nullptr;
  do_late_copy();
  static std::atomic<bool> was_lost{false};
  if (has("reports_loss_once") && was_lost.exchange(static_cast<const Plugin*>(self)->is_lost))
    return GANTRY_OK;
  return check_device(self, i, status);
}
gantry_code stream_create(void* self, std::int32_t i, std::uint32_t flags, void** stream,
                          gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  if (flags != 0) return fail(status, GANTRY_UNSUPPORTED, "FLAGS", "kit plugin: unknown flag");
  *stream = std::malloc(1);
  return GANTRY_OK;
}
void stream_destroy(void*, std::int32_t, void* stream) {
  if (has("destroys_imported_streams")) {
    static void* last = nullptr;
    if (stream == last) std::abort();
    last = stream;
    return;
  }
  const bool is_imported = (reinterpret_cast<std::uintptr_t>(stream) & 1) != 0;
  if (!is_imported) std::free(stream);
}

// Work is complete when a call returns, so an event needs no state but its flag.
struct Event {
  bool is_timed;
};
gantry_code event_create(void* self, std::int32_t i, std::uint32_t flags, void** event,
                         gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  if ((flags & ~std::uint32_t{GANTRY_EVENT_UNTIMED}) != 0 && !has("ignores_flags_of_events"))
    return fail(status, GANTRY_UNSUPPORTED, "FLAGS", "kit plugin: unknown flag");
  *event = new Event{(flags & GANTRY_EVENT_UNTIMED) == 0};
  return GANTRY_OK;
}
void event_destroy(void*, std::int32_t, void* event) { delete static_cast<Event*>(event); }
gantry_code event_record(void* self, std::int32_t i, void*, void*, gantry_status* status) {
  return check_device(self, i, status);
}
gantry_code event_wait(void* self, std::int32_t i, void*, void*, gantry_status* status) {
  return check_device(self, i, status);
}
gantry_code event_elapsed(void* self, std::int32_t i, void* start, void* stop, std::int64_t* ns,
                          gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  const bool is_timed =
      static_cast<const Event*>(start)->is_timed && static_cast<const Event*>(stop)->is_timed;
  if (!is_timed && !has("times_untimed_events"))
    return fail(status, GANTRY_INVALID, "EVENT", "kit plugin: an event has no time");
  *ns = 0;
  return GANTRY_OK;
}
gantry_code event_reached(void* self, std::int32_t i, void*, std::int64_t, std::int32_t* reached,
                          gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  *reached = has("reaches_no_event") ? 0 : 1;
  return GANTRY_OK;
}
gantry_code stream_notify(void* self, std::int32_t i, void*, void (*notify)(void*), void* argument,
                          gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  notify(argument);
  if (has("notifies_twice")) notify(argument);
  return GANTRY_OK;
}

// The handle of a stream is the stream, and of memory its address. One that is imported has the low
// bit set.
gantry_code stream_import(void* self, std::int32_t i, void* handle, void** stream,
                          gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  const std::uintptr_t mark = has("destroys_imported_streams") ? 0 : 1;
  *stream = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(handle) | mark);
  return GANTRY_OK;
}
gantry_code native_get(void* self, std::int32_t i, std::int32_t kind, void* object, void** handle,
                       gantry_status* status) {
  const gantry_code code = check_device(self, i, status);
  if (code != GANTRY_OK) return code;
  if (kind < GANTRY_NATIVE_CONTEXT || kind > GANTRY_NATIVE_MEMORY)
    return fail(status, GANTRY_UNSUPPORTED, "NATIVE_KIND", "kit plugin: unknown kind of handle");
  static int calls = 0;
  *handle = kind == GANTRY_NATIVE_CONTEXT ? self : object;
  if (has("changes_handles")) *handle = static_cast<char*>(*handle) + ++calls;
  return GANTRY_OK;
}

gantry_code fill(void*, std::int32_t i, void* data, std::uint64_t byte_offset, std::uint64_t size,
                 const void* pattern, std::uint32_t pattern_size, void*, gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK) return code;
  if (has("supports_no_pattern") || pattern_size == 2)
    return fail(status, GANTRY_UNSUPPORTED, "PATTERN", "kit plugin: pattern of another size");
  char* const first = static_cast<char*>(data) + (has("fills_from_the_begin") ? 0 : byte_offset);
  if (has("fills_a_pattern_more")) size += pattern_size;
  for (std::uint64_t done = 0; done < size; done += pattern_size)
    std::memcpy(first + done, pattern, pattern_size);
  return GANTRY_OK;
}

// The plugin keeps no memory; its defects are those of one that does.
void trim(void* self, std::int32_t) {
  if (has("trims_memory_in_use")) {
    void* const used = static_cast<Plugin*>(self)->pending;
    if (used != nullptr) std::memset(used, 0xdd, 16);
  }
  if (has("trims_with_an_abort")) std::abort();
}

gantry_code host_address(void*, std::int32_t i, void* data, void** address, gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK) return code;
  *address = has("maps_beside_its_memory") ? static_cast<char*>(data) - 1 : data;
  if (has("maps_a_copy")) {
    static char other[1 << 20];
    std::memcpy(other, data, 16);
    *address = other;
  }
  return GANTRY_OK;
}

gantry_device_table make_device(const char* name) {
  gantry_device_table t{};
  t.struct_size = sizeof t;
  t.name = name;
  t.count = count;
  t.attribute = attribute;
  t.alloc = alloc;
  t.free = release;
  t.copy = copy;
  t.synchronize = synchronize;
  t.stream_create = stream_create;
  t.stream_destroy = stream_destroy;
  t.fill = fill;
  t.free_in_stream = free_in_stream;
  t.trim = trim;
  t.memory_import = memory_import;
  t.host_address = host_address;
  t.event_create = event_create;
  t.event_destroy = event_destroy;
  t.event_record = event_record;
  t.event_wait = event_wait;
  t.event_elapsed = event_elapsed;
  t.event_reached = event_reached;
  t.stream_notify = stream_notify;
  t.stream_import = stream_import;
  t.native_get = native_get;
  return t;
}

}  // namespace

const gantry_device_table device = make_device("kit_device");
const gantry_device_table other_device = make_device("other_device");

}  // namespace kit
