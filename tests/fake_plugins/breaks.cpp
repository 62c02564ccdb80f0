// SPDX-License-Identifier: Apache-2.0
//
// Ways to break a plugin that conforms: sdk/example behind other tables, whose functions do one wrong
// thing if a copy of the library has its name (defect.hpp, tests/conformance/kit/breaks_test.cpp).
//
//     gantry_plugin_query_v1 ──▶ plugin ──▶ loader ──▶ module_of() ──▶ function_of()
//                                   └─────▶ device
//                     each a copy of the example's table with replaced members
#include "defect.hpp"

#include <gantry/plugin.hpp>

#undef GANTRY_PLUGIN
#define GANTRY_PLUGIN(...) static_assert(true)
#include "plugin.cpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <clocale>
#include <csignal>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

namespace {

using fake::has;

const gantry_plugin_table& original = gantry::plugin_table<abacus::Plugin>;
const gantry_loader_table& original_loader = *original.loaders[0];
const gantry_device_table& original_device = *original.devices[0];
const gantry_host* host = nullptr;
std::atomic<int> calls{0};

[[noreturn]] void hang() {
  for (;;) usleep(1000);
}
void crash() {
  static volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}
// volatile: the compiler may not omit an allocation that is used.
void leak(std::size_t bytes) {
  static char* volatile last;
  last = static_cast<char*>(std::malloc(bytes));
  std::memset(last, 1, bytes);
}
void start_thread() {
  std::thread([] {
    for (;;) usleep(100'000);
  }).detach();
}

struct AtLoad {
  AtLoad() {
    if (has("throws_at_load")) throw std::runtime_error("breaks: no firmware");
    if (has("exits_at_load")) std::exit(3);
    if (has("changes_state_at_load")) {
      std::setlocale(LC_ALL, "C.UTF-8");
      umask(077);
      std::signal(SIGINT, SIG_IGN);
    }
  }
} at_load;

// ---- functions ----------------------------------------------------------------------------------

// A function of the example behind one of this file.
struct Function {
  gantry_function real;
};

gantry_code call(void* self, const gantry_env* env, const gantry_value* args, std::int32_t count,
                 gantry_value* result, gantry_status* status) {
  const gantry_function& real = static_cast<Function*>(self)->real;
  const int k = ++calls;
  const auto make = [&] { return real.table->call(real.self, env, args, count, result, status); };
  if (has("throws_in_a_call")) throw std::runtime_error("breaks: driver error 209");
  if (has("leaks_memory_in_calls")) leak(4096);
  if (has("does_nothing")) return GANTRY_OK;
  if (has("counts_calls")) {
    const gantry_code code = make();
    result->kind = GANTRY_INT;
    result->i = k;
    return code;
  }
  if (has("exits_in_a_call")) std::exit(7);
  if (has("leaks_threads_in_calls")) start_thread();
  if (has("prints_in_calls")) std::printf("breaks: launching kernel %d\n", k);
  if (has("overflows_the_heap")) {
    char* volatile block = static_cast<char*>(std::malloc(24));
    for (int i = 0; i < 64; ++i) static_cast<volatile char*>(block)[i] = 1;
    std::free(block);
  }
  if (has("crashes_in_a_call")) crash();
  if (has("aborts_in_a_call")) std::abort();
  if (has("fails_without_utf8"))
    return gantry_fail(status, GANTRY_INVALID, "BAD", "kernel \xff\xfe failed");
  if (has("fails_without_a_text")) return GANTRY_INVALID;
  if (has("fails_with_42")) return 42;
  if (has("hangs_in_a_call")) hang();
  if (has("returns_a_borrowed_text")) {
    result->kind = GANTRY_CSTRING;
    result->cstring = "borrowed";
    return GANTRY_OK;
  }
  if (has("leaks_host_objects")) {
    gantry_value text{};
    host->text_new(host, GANTRY_STRING, gantry_text("a text longer than seven"), &text, status);
  }
  if (has("returns_a_large_int")) {
    const gantry_code code = make();
    result->kind = GANTRY_INT;
    result->small_size = 77;
    result->i = 1;
    return code;
  }
  return make();
}

extern gantry_function_table function_table;

void destroy_function(void* self) {
  const gantry_function& real = static_cast<Function*>(self)->real;
  if (real.table->destroy != nullptr) real.table->destroy(real.self);
  if (has("frees_the_table_of_functions")) {
    // The library owns it.
    static void* volatile table = &function_table;
    return std::free(table);
  }
  delete static_cast<Function*>(self);
}

gantry_function_table function_table{sizeof function_table, 0, destroy_function, call};

// ---- modules ------------------------------------------------------------------------------------

struct Module {
  gantry_module real;
};
Module& module_of(void* self) { return *static_cast<Module*>(self); }

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  if (has("finds_no_table")) {
    out->self = self;
    out->table = nullptr;
    return GANTRY_OK;
  }
  if (has("finds_nothing")) return GANTRY_OK;
  const gantry_module& real = module_of(self).real;
  gantry_function found{};
  const gantry_code code = real.table->get_function(real.self, name, &found, status);
  if (code != GANTRY_OK) return code;
  *out = {new Function{found}, &function_table};
  return GANTRY_OK;
}

gantry_code list_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  const gantry_module& real = module_of(self).real;
  if (has("lists_a_ghost")) {
    const gantry_function_info ghost{sizeof ghost, 0, gantry_text("ghost"), gantry_text("")};
    return visitor->visit(visitor->self, &ghost, status);
  }
  return real.table->list_functions(real.self, visitor, status);
}

gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  const gantry_module& real = module_of(self).real;
  if (has("saves_two_characters")) return sink->write(sink->self, "??", 2, status);
  return real.table->save_binary(real.self, sink, status);
}

gantry_code prepare(void* self, const gantry_env* env, const gantry_prepare* what,
                    gantry_status* status) {
  const gantry_module& real = module_of(self).real;
  return real.table->prepare(real.self, env, what, status);
}

void destroy_module(void* self) {
  if (has("destroys_no_module")) return;
  const Module& module = module_of(self);
  module.real.table->destroy(module.real.self);
  delete &module;
  if (has("throws_in_destroy_of_a_module")) throw std::runtime_error("breaks: in use");
}

gantry_module_table module_table{};

// table    [in]   of each module of the example
void break_modules(const gantry_module_table& table) {
  module_table = table;
  module_table.destroy = destroy_module;
  module_table.get_function = get_function;
  if (module_table.list_functions != nullptr) module_table.list_functions = list_functions;
  if (module_table.save_binary != nullptr) module_table.save_binary = save_binary;
  if (module_table.prepare != nullptr) module_table.prepare = prepare;
  module_table.get_extension = nullptr;
  if (has("has_short_modules")) module_table.struct_size = 8;
  if (has("has_no_get_function")) module_table.get_function = nullptr;
  if (has("has_short_functions")) function_table.struct_size = 4;
  if (has("has_no_call")) function_table.call = nullptr;
}

// ---- the loader ---------------------------------------------------------------------------------

gantry_code load_binary(void* plugin, const gantry_blob* blob, gantry_object* node,
                        gantry_module* out, std::uint64_t* consumed, gantry_status* status) {
  if (has("hangs_in_load")) hang();
  if (has("writes_to_the_payload") && blob->size > 0) {
    volatile std::uint8_t* const bytes = const_cast<std::uint8_t*>(blob->data);
    bytes[0] = bytes[0];
  }
  if (has("reads_behind_the_payload") && blob->size > 1) {
    volatile std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < blob->size + 64; ++i) sum = sum + blob->data[i];
  }
  if (has("throws_in_load")) throw std::bad_alloc();
  if (has("loads_nothing")) return GANTRY_OK;
  if (has("leaks_memory_in_load")) leak(100'000);
  if (has("retains_its_node") && node != nullptr) gantry_retain(node);
  if (has("retains_its_pin") && blob->pin != nullptr) gantry_retain(blob->pin);
  if (has("requires_aligned_payloads") && reinterpret_cast<std::uintptr_t>(blob->data) % 16 != 0)
    return gantry_fail(status, GANTRY_INVALID, "ALIGN", "the payload is not aligned to 16");
  gantry_blob given = *blob;
  if (has("keeps_no_payload")) {
    void* const memory =
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    given.data = static_cast<std::uint8_t*>(std::memcpy(memory, blob->data, blob->size));
  }
  gantry_module real{};
  const gantry_code code =
      original_loader.load_binary(plugin, &given, node, &real, consumed, status);
  if (has("keeps_no_payload")) munmap(const_cast<std::uint8_t*>(given.data), 1 << 20);
  if (has("consumes_too_much")) *consumed += 1;
  if (code != GANTRY_OK) return code;
  static std::once_flag once;
  std::call_once(once, [&] { break_modules(*real.table); });
  *out = {new Module{real}, &module_table};
  return GANTRY_OK;
}

// ---- the plugin ---------------------------------------------------------------------------------

gantry_code create(const gantry_host* given, void** self, gantry_status* status) {
  host = given;
  if (has("throws_in_create")) throw std::runtime_error("breaks: no licence file");
  if (has("crashes_in_create")) crash();
  if (has("hangs_in_create")) hang();
  if (has("has_no_driver"))
    return gantry_fail(status, GANTRY_UNAVAILABLE, "DRIVER_MISSING",
                       "driver 3.2 or newer is required, install acme-driver");
  if (has("exits_in_create")) std::exit(5);
  if (has("ends_in_create")) _exit(0);
  if (has("changes_state_in_create")) {
    std::setlocale(LC_ALL, "C.UTF-8");
    (void)!chdir("/");
    std::signal(SIGINT, SIG_IGN);
    umask(0);
  }
  gantry_value value{};
  if (has("requests_an_option"))
    (void)given->config_get(given, gantry_text("not_declared"), &value, nullptr);
  if (has("leaks_a_thread_in_create")) start_thread();
  if (has("leaks_a_descriptor_in_create")) (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
  return original.create(given, self, status);
}

gantry_loader_table loader = original_loader;
gantry_device_table device = original_device;
gantry_plugin_table plugin = original;
const gantry_loader_table* const loaders[] = {&loader};
const gantry_device_table* const devices[] = {&device};

void break_device() {
  gantry_device_table& d = device;
  if (has("has_a_short_device")) d.struct_size = 64;
  if (has("has_no_synchronize")) d.synchronize = nullptr;
  if (has("has_no_event_wait")) d.event_wait = nullptr;
  if (has("has_no_alloc")) d.alloc = nullptr;
  if (has("names_another_device")) d.name = "other";
  if (has("claims_the_number_of_cuda")) d.type = 2;
  if (has("hangs_in_synchronize"))
    d.synchronize = [](void*, std::int32_t, void*, gantry_status*) -> gantry_code { hang(); };
  if (has("misaligns_memory")) {
    d.alloc = [](void* p, std::int32_t i, const gantry_alloc* what, void** data,
                 gantry_status* status) {
      gantry_alloc larger = *what;
      larger.size += 8;
      const gantry_code code = original_device.alloc(p, i, &larger, data, status);
      if (code == GANTRY_OK) *data = static_cast<char*>(*data) + 8;
      return code;
    };
    d.free = [](void* p, std::int32_t i, void* data) {
      original_device.free(p, i, data != nullptr ? static_cast<char*>(data) - 8 : data);
    };
  }
  if (has("waits_for_no_event"))
    d.event_wait = [](void*, std::int32_t, void*, void*, gantry_status*) -> gantry_code {
      return GANTRY_OK;
    };
  if (has("blocks_never"))
    d.copy = [](void* p, std::int32_t i, const gantry_copy* what, void* stream,
                gantry_status* status) {
      gantry_copy other = *what;
      other.flags = 0;
      return original_device.copy(p, i, &other, stream, status);
    };
  if (has("copies_from_the_begin"))
    d.copy = [](void* p, std::int32_t i, const gantry_copy* what, void* stream,
                gantry_status* status) {
      gantry_copy other = *what;
      other.from.byte_offset = other.to.byte_offset = 0;
      return original_device.copy(p, i, &other, stream, status);
    };
  if (has("frees_nothing")) d.free = [](void*, std::int32_t, void*) {};
  if (has("counts_minus_one"))
    d.count = [](void*, std::int32_t* count, gantry_status*) -> gantry_code {
      *count = -1;
      return GANTRY_OK;
    };
  if (has("counts_one_more"))
    d.count = [](void*, std::int32_t* count, gantry_status*) -> gantry_code {
      static std::atomic<int> k{1};
      *count = k++;
      return GANTRY_OK;
    };
  if (has("allocates_null"))
    d.alloc = [](void*, std::int32_t, const gantry_alloc*, void** data,
                 gantry_status*) -> gantry_code {
      *data = nullptr;
      return GANTRY_OK;
    };
  if (has("writes_no_address"))
    d.alloc = [](void*, std::int32_t, const gantry_alloc*, void**, gantry_status*) -> gantry_code {
      return GANTRY_OK;
    };
  if (has("has_borrowed_attributes"))
    d.attribute = [](void*, std::int32_t, std::int32_t kind, gantry_value* out,
                     gantry_status*) -> gantry_code {
      if (kind != GANTRY_ATTRIBUTE_DEVICE_NAME) return GANTRY_NOT_FOUND;
      out->kind = GANTRY_CSTRING;
      out->cstring = "borrowed";
      return GANTRY_OK;
    };
  if (has("copies_whole_lines"))
    d.copy = [](void* p, std::int32_t i, const gantry_copy* what, void* stream,
                gantry_status* status) {
      if ((what->to.byte_offset | what->from.byte_offset | what->size) % 64 != 0)
        return gantry_fail(status, GANTRY_INVALID, "ALIGN", "DMA requires 64-byte alignment");
      return original_device.copy(p, i, what, stream, status);
    };
  if (has("exits_in_stream_destroy"))
    d.stream_destroy = [](void*, std::int32_t, void*) { std::exit(9); };
  if (has("destroys_no_stream")) d.stream_destroy = [](void*, std::int32_t, void*) {};
  if (has("goes_back_in_time"))
    d.event_elapsed = [](void*, std::int32_t, void*, void*, std::int64_t* ns,
                         gantry_status*) -> gantry_code {
      *ns = -5;
      return GANTRY_OK;
    };
  if (has("copies_nothing_on_the_device"))
    d.copy = [](void* p, std::int32_t i, const gantry_copy* what, void* stream,
                gantry_status* status) {
      const bool is_within = what->from.device.type != 1 && what->to.device.type != 1;
      return is_within ? gantry_code{GANTRY_OK} : original_device.copy(p, i, what, stream, status);
    };
  if (has("waits_for_nothing"))
    d.synchronize = [](void*, std::int32_t, void*, gantry_status*) -> gantry_code {
      return GANTRY_OK;
    };
  if (has("throws_in_free"))
    d.free = [](void* p, std::int32_t i, void* data) {
      original_device.free(p, i, data);
      throw std::runtime_error("breaks: in use");
    };
}

void break_tables() {
  loader.load_binary = load_binary;
  plugin.create = create;
  plugin.loaders = loaders;
  plugin.devices = devices;
  break_device();
  if (has("has_a_short_loader")) loader.struct_size = 8;
  if (has("has_a_huge_loader")) loader.struct_size = 4'000'000'000u;
  if (has("has_no_load_binary")) loader.load_binary = nullptr;
  if (has("loads_another_key")) loader.type_key = "acme_other";
  if (has("has_a_short_plugin")) plugin.struct_size = 16;
  if (has("has_no_create")) plugin.create = nullptr;
  if (has("has_another_id")) plugin.id = "acme.someoneelse";
  if (has("has_another_version")) plugin.version = "9.9.9";
  if (has("requires_a_newer_minor")) plugin.abi.min_minor = 3, plugin.abi.max_minor = 4;
  if (has("requires_another_major")) plugin.abi.major = 2;
  if (has("throws_in_destroy"))
    plugin.destroy = [](void* self) {
      original.destroy(self);
      throw std::runtime_error("breaks: in use");
    };
  if (has("has_every_extension"))
    plugin.get_extension = [](void*, const char*) -> const void* { return &plugin; };
}

}  // namespace

const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info*, gantry_status*) {
  if (has("throws_in_the_query")) throw std::runtime_error("breaks: query");
  if (has("returns_no_table")) return nullptr;
  if (has("reads_the_environment_in_the_query") && std::getenv("ACME_LICENSE") == nullptr)
    std::fputs("breaks: no licence\n", stderr);
  static const bool once = (break_tables(), true);
  (void)once;
  return &plugin;
}

static constexpr gantry_elf_note gantry_note_of_plugin GANTRY_NOTE_ATTRIBUTES =
    ::gantry::detail::make_note<abacus::Plugin>();
