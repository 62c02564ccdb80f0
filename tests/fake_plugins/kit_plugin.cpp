// SPDX-License-Identifier: Apache-2.0
//
// A plugin that passes gantry-conformance, and breaks one rule if a copy of the library has the name
// of a defect (defect.hpp, tests/conformance/kit).
//
//     type key "test.kit"    u64 length, then that many bytes; the highest byte of the length is
//                            the architecture, 0
//     functions              size() -> the length; add(x, y, z): z = x + y, float32 vectors;
//                            sum(x, y) -> x + y, a new tensor; sum4(x) -> the
//                            sum of an int4 vector; lose(): the device is lost
//     model                  sum(x, y) -> z, z = x + y, float32[3]
//     device "kit_device"    memory of the host, with streams; work is complete on return. Its node
//                            is /dev/full, its driver libBrokenLocale.so.1
//     target kind "kit"      a payload of the bytes of a source, in language "kit"; one that begins
//                            with '!' does not compile. Its option "mode" is absent or "plain"
//     option "level"         int 0 to 9
//     option "token"         text, secret
#include "kit_plugin.hpp"

#include <gantry/note.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace kit {
namespace {

// Reads the byte after an object. Where it is mapped, this has no effect.
template <class T>
[[gnu::no_sanitize("address", "undefined"), gnu::noinline]] void read_behind(const T* object) {
  (void)*reinterpret_cast<const volatile char*>(object + 1);
}

pid_t creator = 0;
// value of the option "token", NUL-terminated
char token[64];

}  // namespace

void leak(std::size_t bytes) {
  // volatile: the compiler may not omit an allocation that is used.
  static char* volatile last;
  last = static_cast<char*>(std::malloc(bytes));
  std::memset(last, 1, bytes);
}

bool others_were_open = false;
bool created_without_devices = false;
bool others_are_open() {
  const auto is_other = [](dl_phdr_info* library, std::size_t, void*) -> int {
    return std::strstr(library->dlpi_name, "/libgantry_graph.so") != nullptr;
  };
  return dl_iterate_phdr(is_other, nullptr) != 0;
}

gantry_code fail(gantry_status* status, gantry_code code, const char* reason, const char* text) {
  if (has("silent_failure") && code == GANTRY_MALFORMED) return code;
  if (has("depends_on_status") && status == nullptr) return GANTRY_EXHAUSTED;
  char with_token[256];
  if (has("shows_a_secret") && token[0] != 0) {
    std::snprintf(with_token, sizeof with_token, "%s, token %s", text, token);
    text = with_token;
  }
  if (has("needs_status")) status->code = code;
  gantry_fail(status, code, reason, text);
  const bool has_text = status != nullptr && status->text != nullptr && status->text_capacity != 0;
  if (has("overstates_text") && has_text) status->text_size = status->text_capacity;
  if (has("no_terminator") && has_text) status->text[status->text_size] = 'x';
  if (has("other_code_in_status") && status != nullptr && code == GANTRY_MALFORMED)
    status->code = GANTRY_UNSUPPORTED;
  if (has("fails_as_bug") && code == GANTRY_MALFORMED) return GANTRY_BUG;
  if (has("unknown_code") && code == GANTRY_MALFORMED) return 99;
  if (has("bad_utf8") && status != nullptr && status->text_size > 0) status->text[0] = '\xff';
  if (has("overflows_text") && status != nullptr && status->text != nullptr &&
      status->text_capacity < 32)
    std::strcpy(status->text, "kit plugin: a text that is longer");
  if (has("overflows_status") && status != nullptr) {
    // A poisoned byte of the kit; other callers have something else there.
    auto* const behind = reinterpret_cast<unsigned char*>(status + 1);
    if (*behind == 0xa5) *behind = 0;
  }
  return code;
}

namespace {

void* end_thread(void*) {
  for (;;) pause();
  return nullptr;
}
void handle(int) {}

struct Static {
  ~Static() {
    if (creator != getpid()) return;
    if (has("aborts_at_exit")) std::abort();
    if (has("changes_the_status")) ::_exit(3);
    if (has("prints_at_exit")) std::fputs("kit plugin: goodbye\n", stderr);
  }
};
Static of_the_library;

void in_forked_child() {
  if (has("aborts_in_fork") && creator != 0) std::abort();
  if (has("exits_in_fork") && creator != 0) ::_exit(3);
}

void write_beside_the_library() {
  Dl_info library{};
  if (dladdr(&creator, &library) == 0) return;
  std::string path = library.dli_fname;
  path.replace(path.rfind('/'), std::string::npos, "/cache.bin");
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
}

gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  creator = getpid();
  others_were_open = others_are_open();
  if (has("fails_after_others") && others_were_open) std::abort();
  if (has("hides_devices")) setenv("KIT_PLUGIN_HIDES", "1", 1);
  created_without_devices =
      has("reads_environment_in_create") && getenv("KIT_PLUGIN_HIDES") != nullptr;
  if (has("aborts_in_fork") || has("exits_in_fork")) {
    static bool once = pthread_atfork(nullptr, nullptr, in_forked_child) == 0;
    (void)once;
  }
  if (has("uses_later_members") && host->struct_size > sizeof *host) {
    void (*later)(const gantry_host*) = nullptr;
    std::memcpy(&later, reinterpret_cast<const char*>(host) + sizeof *host, sizeof later);
    later(host);
  }
  if (has("reads_behind_the_host") && host->struct_size == sizeof *host) read_behind(host);
  if (has("requires_an_extension") && host->get_extension(host, GANTRY_THREADS_1) == nullptr)
    return fail(status, GANTRY_BUG, "EXTENSION", "kit plugin: no threads");
  gantry_value level{};
  if (has("undeclared_option"))
    (void)host->config_get(host, gantry_text("secret_knob"), &level, nullptr);
  const gantry_code found = has("has_no_option")
                                ? GANTRY_NOT_FOUND
                                : host->config_get(host, gantry_text("level"), &level, nullptr);
  if (found == GANTRY_OK && has("rejects_a_limit") && level.i == 9) std::abort();
  gantry_value secret{};
  token[0] = 0;
  if (!has("has_no_option") &&
      host->config_get(host, gantry_text("token"), &secret, nullptr) == GANTRY_OK) {
    gantry_bytes text{};
    if (gantry_value_bytes(&secret, &text) != 0 && text.size < sizeof token) {
      std::memcpy(token, text.data, text.size);
      token[text.size] = 0;
    }
  }
  if (has("logs_a_secret") && token[0] != 0) host->log(host, GANTRY_LOG_INFO, gantry_text(token));
  if (has("writes_beside_itself")) write_beside_the_library();
  if (has("reads_environment")) (void)std::getenv("KIT_PLUGIN_SECRET");
  if (has("handles_signals_from_create")) ::signal(SIGTERM, handle);
  if (has("requires_descriptors")) {
    int opened[32];
    for (int& each : opened) {
      each = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (each < 0) std::abort();
    }
    for (const int each : opened) close(each);
  }
  if (has("leaks_a_thread")) {
    pthread_t thread;
    pthread_create(&thread, nullptr, end_thread, nullptr);
  }
  if (has("leaks_descriptor")) (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
  Plugin* const plugin = new (std::nothrow) Plugin{host, {0}, nullptr, {0}};
  if (plugin == nullptr) return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: no memory");
  if (has("leaks_memory")) leak(512);
  *self = plugin;
  return GANTRY_OK;
}
void destroy(void* self) { delete static_cast<Plugin*>(self); }

const gantry_globals other_table = {sizeof other_table, 0, nullptr};
const void* get_extension(void*, const char* id) {
  if (std::strcmp(id, GANTRY_GENERATOR_1) == 0)
    return has("has_no_generator") ? nullptr : &generator;
  if (has("any_extension")) return &other_table;
  if (has("prefix_of_extension") && std::strncmp(id, GANTRY_GLOBALS_1, 10) == 0)
    return &other_table;
  return nullptr;
}

const gantry_loader_table* const loaders[] = {&loader, &badly_named};
const gantry_loader_table* const loaders_elsewhere[] = {&runs_elsewhere};
const gantry_device_table* const devices[] = {&device, &other_device};

gantry_plugin_table make_table() {
  gantry_plugin_table t{};
  t.struct_size = sizeof t;
  t.abi = GANTRY_PLUGIN_ABI;
  t.id = has("wrong_id") ? "test.other" : "test.kit";
  t.version = "1.0.0";
  t.vendor = "Test";
  t.display_name = "kit";
  t.license = "Apache-2.0";
  t.loaders = has("runs_elsewhere") ? loaders_elsewhere : loaders;
  t.devices = devices;
  t.loader_count = has("key_not_in_manifest") ? 2 : 1;
  t.device_count = has("device_not_in_manifest") ? 2 : 1;
  t.create = create;
  t.destroy = destroy;
  t.get_extension = get_extension;
  return t;
}
gantry_plugin_table table = make_table();
GANTRY_NOTE("test.kit", "1.0.0");

[[gnu::constructor]] void start_up() {
  if (has("starts_a_thread")) {
    pthread_t thread;
    pthread_create(&thread, nullptr, end_thread, nullptr);
  }
  if (has("changes_umask")) umask(0111);
  if (has("is_slow")) usleep(300 * 1000);
}

}  // namespace
}  // namespace kit

using kit::has;
using kit::read_behind;
using kit::table;

const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info* host,
                                                  gantry_status* status) {
  static gantry_plugin_table copies[2000];
  static int used = 0;
  if (has("new_table")) return &(copies[used++ % 2000] = table);
  static const pthread_t first = pthread_self();
  if (has("table_of_thread") && pthread_equal(first, pthread_self()) == 0)
    return &(copies[0] = table);
  const bool is_other_major = host->abi.major != GANTRY_ABI_MAJOR;
  const bool is_newer = host->abi.max_minor != GANTRY_ABI_MINOR;
  if ((has("range_of_the_host") && is_other_major) || (has("minor_of_the_host") && is_newer)) {
    copies[0] = table;
    copies[0].abi = host->abi;
    return &copies[0];
  }
  if (has("query_is_slow")) usleep(100 * 1000);
  if (has("query_reads_environment")) (void)std::getenv("KIT_PLUGIN_SECRET");
  if (has("query_leaks")) kit::leak(64);
  if (has("query_calls_the_system")) (void)getppid();
  if (has("compares_minor") && host->abi.max_minor != GANTRY_ABI_MINOR) {
    gantry_fail(status, GANTRY_UNSUPPORTED, "ABI_RANGE", "kit plugin: another minor");
    return nullptr;
  }
  if (has("reads_behind_the_info")) read_behind(host);
  if (has("refuses_without_text") && host->abi.major != GANTRY_ABI_MAJOR) return nullptr;
  Dl_info library{};
  const bool found = dladdr(&table, &library) != 0;
  const bool is_by_descriptor =
      found && std::strstr(library.dli_fname, "/proc/self/fd/") != nullptr;
  // "/proc/self/fd/7", without a file name
  const bool is_in_memory =
      is_by_descriptor && std::strchr(library.dli_fname + sizeof "/proc/self/fd", '/') == nullptr;
  const bool has_its_name = found && std::strstr(library.dli_fname, "/libkit.so") != nullptr;
  if ((has("depends_on_its_name") && !has_its_name && !is_in_memory) ||
      (has("depends_on_its_path") && is_by_descriptor && has_its_name) ||
      (has("depends_on_its_file") && is_in_memory)) {
    gantry_fail(status, GANTRY_UNAVAILABLE, "NAME", "kit plugin: expected libkit.so");
    return nullptr;
  }
  return &table;
}
