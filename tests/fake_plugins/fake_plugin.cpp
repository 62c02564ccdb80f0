// SPDX-License-Identifier: Apache-2.0
//
// One source for many plugins: a valid one, and one for each error. CMakeLists.txt lists them and
// defines FAKE_<WAY>; FAKE_ID, FAKE_VERSION, FAKE_ABI and FAKE_KEY set the values in the tables,
// FAKE_NOTE_ID, FAKE_NOTE_VERSION and FAKE_NOTE_ABI those in the note, FAKE_CREATE_REASON the reason
// of a create that fails. FAKE_IN_CONSTRUCTOR, FAKE_IN_QUERY and FAKE_IN_CREATE are functions of
// harm.hpp. The modules of FAKE_HARMFUL_FUNCTIONS have functions that do harm; others have none.
#include <gantry/gantry.h>

#include "tests/fake_plugins/harm.hpp"

#ifdef FAKE_CHANGES_STATE
#include <locale>
#include "tests/support/state_change.h"
#endif

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#ifndef FAKE_ID
#define FAKE_ID "test.fake"
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION "1.0.0"
#endif
#ifndef FAKE_ABI
#define FAKE_ABI \
  { GANTRY_ABI_MAJOR, 0, GANTRY_ABI_MINOR, 0 }
#endif
// The note's values are those of the tables.
#ifndef FAKE_NOTE_ID
#define FAKE_NOTE_ID FAKE_ID
#endif
#ifndef FAKE_NOTE_VERSION
#define FAKE_NOTE_VERSION FAKE_VERSION
#endif
#ifndef FAKE_NOTE_ABI
#define FAKE_NOTE_ABI FAKE_ABI
#endif
#ifndef FAKE_KEY
#define FAKE_KEY "fake"
#endif

#ifndef FAKE_DEVICE
#define FAKE_DEVICE "fake_device"
#endif
#ifndef FAKE_CREATE_REASON
#define FAKE_CREATE_REASON "NO_DEVICE"
#endif
#ifndef FAKE_ANSWER
#define FAKE_ANSWER 42
#endif

#ifdef FAKE_IMPORTS_CORE
extern "C" int gantry_core_secret(void);
#endif
#ifdef FAKE_IMPORTS_NOBODY
namespace sibling {
int removed_by_an_upgrade(int);
}
#endif
#ifdef FAKE_NEEDS_DEPENDENCY
extern "C" int fake_dependency(void);
#endif
#ifdef FAKE_STATIC_TLS
__attribute__((tls_model("initial-exec"))) thread_local char fake_big[1 << 20] = {1};
#endif

namespace {

// of the newest instance
[[maybe_unused]] const gantry_host* fake_host = nullptr;

void destroy_module(void*) {}
#ifdef FAKE_HARMFUL_FUNCTIONS
struct HarmfulFunction {
  std::string_view name;
  void (*harm)();
};
const HarmfulFunction harmful_functions[] = {{"crash", harm::crash},
                                             {"overflow", harm::overflow_stack},
                                             {"unknown", harm::run_unknown_instruction},
                                             {"divide", harm::divide_by_zero},
                                             {"lost_page", harm::read_lost_page},
#if defined(__x86_64__)
                                             {"beyond", harm::read_beyond_addresses},
#endif
                                             {"nothing", harm::call_nothing},
                                             {"spoil", harm::spoil_stack},
                                             {"raise", [] { raise(SIGSEGV); }},
                                             {"hang", harm::hang},
                                             {"wait", nullptr}};
const gantry_function_table harmful_table = [] {
  gantry_function_table t{};
  t.struct_size = sizeof t;
  t.call = [](void* self, const gantry_env* env, const gantry_value*, int32_t, gantry_value*,
              gantry_status* status) -> gantry_code {
    if (const auto harm = static_cast<const HarmfulFunction*>(self)->harm; harm != nullptr) {
      harm();
      return GANTRY_OK;
    }
    while (fake_host->is_cancelled(fake_host, env) == 0) usleep(1000);
    return gantry_fail(status, GANTRY_CANCELLED, "CANCELLED", "fake: cancelled");
  };
  return t;
}();
gantry_code get_function(void*, gantry_bytes name, gantry_function* out, gantry_status*) {
  for (const HarmfulFunction& each : harmful_functions) {
    if (each.name != std::string_view(name.data, name.size)) continue;
    *out = {const_cast<HarmfulFunction*>(&each), &harmful_table};
    return GANTRY_OK;
  }
  return GANTRY_NOT_FOUND;
}
#else
gantry_code get_function(void*, gantry_bytes, gantry_function*, gantry_status*) {
  return GANTRY_NOT_FOUND;
}
#endif
[[maybe_unused]] const gantry_module_table module_table = [] {
  gantry_module_table t{};
  t.struct_size = sizeof t;
  t.type_name = FAKE_KEY;
  t.destroy = destroy_module;
  t.get_function = get_function;
  return t;
}();

[[maybe_unused]] gantry_code load_binary(void*, const gantry_blob* blob, gantry_object*,
                                         gantry_module* module, uint64_t* consumed,
                                         gantry_status*) {
  *module = {nullptr, &module_table};
  *consumed = blob->size;
  return GANTRY_OK;
}

#ifdef FAKE_VERDICT
gantry_code check_binary(void*, const gantry_blob* blob, int32_t, int32_t* verdict,
                         gantry_status* status) {
#ifdef FAKE_CHECK_ABORTS
  std::abort();
#endif
  if (blob->size == 0) return gantry_fail(status, GANTRY_MALFORMED, "EMPTY", "fake: no payload");
  *verdict = FAKE_VERDICT;
  return GANTRY_OK;
}
#endif

[[maybe_unused]] gantry_code count(void*, int32_t* out, gantry_status*) {
#ifdef FAKE_COUNT_ABORTS
  std::fputs("fake: looking for a device\nfake: no linker\n", stderr);
  std::abort();
#endif
#ifdef FAKE_COUNT_HANGS
  for (;;) pause();
#endif
  *out = 1;
  return GANTRY_OK;
}
gantry_code alloc(void*, int32_t, const gantry_alloc* what, void** data, gantry_status* status) {
  *data = std::malloc(what->size + 1);
  return *data ? GANTRY_OK : gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "fake: out of memory");
}
void release(void*, int32_t, void* data) { std::free(data); }
gantry_code copy(void*, int32_t, const gantry_copy*, void*, gantry_status* status) {
  return gantry_fail(status, GANTRY_UNSUPPORTED, "FUNCTION_ABSENT", "fake: nothing to copy");
}

[[maybe_unused]] gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  fake_host = host;
#ifdef FAKE_IN_CREATE
  FAKE_IN_CREATE();
#endif
#ifdef FAKE_CRASHES_BY_LEVEL
  gantry_value level{};
  if (host->config_get(host, gantry_text("level"), &level, status) == GANTRY_OK && level.i == 9)
    harm::crash();
#endif
#if defined(FAKE_CREATE_EXHAUSTED)
  (void)self;
  return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "fake: out of memory");
#elif defined(FAKE_CREATE_FAILS)
  (void)self;
  return gantry_fail(status, GANTRY_UNAVAILABLE, FAKE_CREATE_REASON,
                     "fake: no device on this machine");
#elif defined(FAKE_CREATE_THROWS)
  (void)self, (void)status;
  throw std::runtime_error("fake: create throws");
#else
  (void)status;
#ifdef FAKE_IMPORTS_CORE
  *self = reinterpret_cast<void*>(static_cast<intptr_t>(gantry_core_secret()));
#elif defined(FAKE_IMPORTS_NOBODY)
  *self = reinterpret_cast<void*>(static_cast<intptr_t>(sibling::removed_by_an_upgrade(1)));
#elif defined(FAKE_NEEDS_DEPENDENCY)
  *self = reinterpret_cast<void*>(static_cast<intptr_t>(fake_dependency()));
#elif defined(FAKE_STATIC_TLS)
  *self = &fake_big;
#else
  *self = nullptr;
#endif
  return GANTRY_OK;
#endif
}
void destroy(void*) {}

#ifdef FAKE_GLOBALS
// "test.answer" returns FAKE_ANSWER, "test.option" returns the number that is the option "level", the
// lookup of "test.fails" fails, other names do not exist.
const gantry_function_table answer_table = [] {
  gantry_function_table t{};
  t.struct_size = sizeof t;
  t.call = [](void*, const gantry_env*, const gantry_value*, int32_t, gantry_value* result,
              gantry_status*) -> gantry_code {
    result->kind = GANTRY_INT;
    result->i = FAKE_ANSWER;
    return GANTRY_OK;
  };
  return t;
}();
const gantry_function_table option_table = [] {
  gantry_function_table t{};
  t.struct_size = sizeof t;
  t.call = [](void*, const gantry_env*, const gantry_value*, int32_t, gantry_value* result,
              gantry_status* status) -> gantry_code {
    gantry_value level{};
    const gantry_code code = fake_host->config_get(fake_host, gantry_text("level"), &level, status);
    if (code == GANTRY_OK) *result = level;
    return code;
  };
  return t;
}();
gantry_code get_global(void*, gantry_bytes name, gantry_function* out, gantry_status* status) {
  const std::string_view wanted(name.data, name.size);
  if (wanted == "test.fails")
    return gantry_fail(status, GANTRY_UNAVAILABLE, "NO_DRIVER", "fake: no driver");
  if (wanted != "test.answer" && wanted != "test.option") return GANTRY_NOT_FOUND;
  *out = {nullptr, wanted == "test.answer" ? &answer_table : &option_table};
  return GANTRY_OK;
}
const gantry_globals globals{sizeof globals, 0, get_global};
const void* get_extension(void*, const char* id) {
  return std::string_view(id) == GANTRY_GLOBALS_1 ? &globals : nullptr;
}
#endif

#ifdef FAKE_GENERATOR_HANGS
gantry_code build(void*, const gantry_build*, const gantry_sink*, gantry_status*) {
  return GANTRY_OK;
}
gantry_code check(void*, const gantry_build*, gantry_status*) {
  harm::hang();
  return GANTRY_OK;
}
const gantry_generator generator{sizeof generator, 0, build, check};
const void* get_extension(void*, const char* id) {
  return std::string_view(id) == GANTRY_GENERATOR_1 ? &generator : nullptr;
}
#endif

const gantry_loader_table loader = [] {
  gantry_loader_table t{};
  t.struct_size = sizeof t;
  t.type_key = FAKE_KEY;
#ifndef FAKE_NULL_LOAD_BINARY
  t.load_binary = load_binary;
#endif
#ifdef FAKE_VERDICT
  t.check_binary = check_binary;
  t.device = FAKE_DEVICE;
#endif
  return t;
}();
const gantry_device_table device = [] {
  gantry_device_table t{};
  t.struct_size = sizeof t;
#ifdef FAKE_BAD_DEVICE_NAME
  t.name = "Fake Device";
#else
  t.name = FAKE_DEVICE;
#endif
#ifdef FAKE_DEVICE_TYPE
  t.type = FAKE_DEVICE_TYPE;
#endif
#ifndef FAKE_NULL_COUNT
  t.count = count;
#endif
  t.alloc = alloc;
  t.free = release;
  t.copy = copy;
  return t;
}();

[[maybe_unused]] const gantry_loader_table* const loaders[] = {
#ifdef FAKE_NULL_LOADER
    nullptr,
#else
    &loader,
#endif
#ifdef FAKE_TWICE_THE_SAME_KEY
    &loader,
#endif
};
const gantry_device_table* const devices[] = {&device};

// A later minor version appends members; an older core ignores them.
struct Table {
  gantry_plugin_table table;
  void* later;
};
const Table all = [] {
  Table t{};
  t.table.struct_size = sizeof t.table;
#ifdef FAKE_SHORT_TABLE
  t.table.struct_size = sizeof t.table - 8;
#endif
#ifdef FAKE_LONG_TABLE
  t.table.struct_size = sizeof t;
  t.later = &t;
#endif
  t.table.abi = FAKE_ABI;
  t.table.id = FAKE_ID;
  t.table.version = FAKE_VERSION;
#ifdef FAKE_NULL_VERSION
  t.table.version = nullptr;
#endif
  t.table.vendor = "Test";
  t.table.display_name = "Fake";
  t.table.license = "Apache-2.0";
#ifndef FAKE_NULL_LOADERS
  t.table.loaders = loaders;
#endif
  t.table.loader_count = sizeof loaders / sizeof loaders[0];
#ifdef FAKE_HUGE_LOADER_COUNT
  t.table.loader_count = 1000000;
#endif
  t.table.devices = devices;
  t.table.device_count = 1;
#ifdef FAKE_NEGATIVE_DEVICE_COUNT
  t.table.device_count = static_cast<uint32_t>(-1);
#endif
#ifndef FAKE_NULL_CREATE
  t.table.create = create;
#endif
  t.table.destroy = destroy;
#if defined(FAKE_GLOBALS) || defined(FAKE_GENERATOR_HANGS)
  t.table.get_extension = get_extension;
#endif
  return t;
}();

#ifdef FAKE_ABORTS_AT_START
[[gnu::constructor]] void abort_at_start() { std::abort(); }
#endif

#ifdef FAKE_CHANGES_STATE
[[gnu::constructor]] void start_up() { change_state(std::getenv("GANTRY_TEST_CHANGE")); }

void change_state_in_query() {
  const char* const what = std::getenv("GANTRY_TEST_CHANGE_IN_QUERY");
  change_state(what);
  // The locale of C++ without that of C, because it has no name.
  if (what != nullptr && std::string_view(what) == "cxx_locale") {
    std::locale::global(std::locale(std::locale(), new std::numpunct<char>));
  }
}
#endif

#ifdef FAKE_IN_CONSTRUCTOR
[[gnu::constructor]] void construct() { FAKE_IN_CONSTRUCTOR(); }
#endif

}  // namespace

#ifndef FAKE_NO_NOTE
#undef GANTRY_PLUGIN_ABI
#define GANTRY_PLUGIN_ABI FAKE_NOTE_ABI
GANTRY_NOTE(FAKE_NOTE_ID, FAKE_NOTE_VERSION);
#endif

#ifdef FAKE_NO_QUERY
extern "C" GANTRY_EXPORT int fake_entry(void) { return all.table.struct_size != 0; }
#else
const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info* host,
                                                  gantry_status* status) {
  (void)host, (void)status;
#ifdef FAKE_CHANGES_STATE
  change_state_in_query();
#endif
#ifdef FAKE_IN_QUERY
  FAKE_IN_QUERY();
#endif
#ifdef FAKE_QUERY_COMPARES_SIZES
  if (host->struct_size != sizeof(gantry_host_info)) {
    gantry_fail(status, GANTRY_UNSUPPORTED, "STRUCT_SIZE",
                "fake: another size of gantry_host_info");
    return nullptr;
  }
#endif
#if defined(FAKE_QUERY_THROWS)
  throw std::runtime_error("fake: query throws");
#elif defined(FAKE_QUERY_FAILS)
  gantry_fail(status, GANTRY_UNSUPPORTED, "ABI_RANGE", "fake: this core is too old");
  return nullptr;
#elif defined(FAKE_QUERY_RETURNS_JUNK)
  return reinterpret_cast<const gantry_plugin_table*>(uintptr_t{0x40});
#elif defined(FAKE_QUERY_SAYS_NOTHING)
  return nullptr;
#else
  return &all.table;
#endif
}
#endif
