// SPDX-License-Identifier: Apache-2.0
//
// A plugin that passes gantry-conformance, and breaks one rule if a test writes the name of a
// defect over the marker in a copy of the library (tests/conformance/kit). One library with all
// defects costs less than one for each.
//
//     type key "test.kit"    u64 length, then that many bytes; the highest byte of the length is
//                            the architecture, 0
//     functions              size() -> the length; add(x, y, z): z = x + y, float32 vectors;
//                            sum(x, y) -> x + y, a new tensor
//     device "kit_device"    memory of the host, with streams; work is complete on return. Its node
//                            is /dev/full, its driver libBrokenLocale.so.1
//     option "level"         int 0 to 9
//     option "token"         text, secret
#include <gantry/gantry.h>
#include <gantry/note.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

// "GANTRY_KIT_DEFECT=" and a name, padded with NUL.
extern "C" const volatile char kit_defect[64];
const volatile char kit_defect[64] = "GANTRY_KIT_DEFECT=none";

bool has(std::string_view defect) {
  const volatile char* at = kit_defect + sizeof "GANTRY_KIT_DEFECT=" - 1;
  for (const char c : defect) {
    if (*at++ != c) return false;
  }
  return *at == 0;
}

// Reads the byte after an object. Where it is mapped, this has no effect.
template <class T>
[[gnu::no_sanitize("address", "undefined"), gnu::noinline]] void read_behind(const T* object) {
  (void)*reinterpret_cast<const volatile char*>(object + 1);
}

constexpr std::size_t kMaxAlloc = std::size_t{1} << 30;
constexpr std::uint32_t kKnownCopyFlags = GANTRY_COPY_BLOCKING;

struct Plugin {
  const gantry_host* host;
  std::atomic<std::int64_t> allocated;
  // target of a copy since which there was no synchronize
  void* pending;
};

struct Module {
  Plugin* plugin;
  gantry_object* pin;
  const std::uint8_t* bytes;
  std::uint64_t size;
  // of the blob
  const char* origin;
  // of load_binary
  pthread_t thread;
  // results of the defect result_of_module
  void* results;
};

constexpr std::size_t kResultBytes = 4096;

pid_t creator = 0;
// when the plugin was created
bool others_were_open = false;
// value of the option "token", NUL-terminated
char token[64];

// Is the plugin gantry.graph open in this process?
bool others_are_open() {
  const auto is_other = [](dl_phdr_info* library, std::size_t, void*) -> int {
    return std::strstr(library->dlpi_name, "/libgantry_graph.so") != nullptr;
  };
  return dl_iterate_phdr(is_other, nullptr) != 0;
}

gantry_code fail(gantry_status* status, gantry_code code, const char* reason, const char* text) {
  if (has("silent_failure") && code == GANTRY_MALFORMED) return code;
  char with_token[256];
  if (has("shows_a_secret") && token[0] != 0) {
    std::snprintf(with_token, sizeof with_token, "%s, token %s", text, token);
    text = with_token;
  }
  if (has("needs_status")) status->code = code;
  gantry_fail(status, code, reason, text);
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

// ---- functions ----------------------------------------------------------------------------------

bool is_cancelled(const Module& module, const gantry_env* env) {
  const gantry_host* const host = module.plugin->host;
  return host->is_cancelled(host, env) != 0;
}

gantry_code size_call(void* self, const gantry_env* env, const gantry_value*, std::int32_t count,
                      gantry_value* result, gantry_status* status) {
  const Module* const module = static_cast<const Module*>(self);
  static std::atomic<bool> was_cancelled{false};
  if (has("keeps_the_origin")) (void)*static_cast<const volatile char*>(module->origin);
  if (has("checks_cancellation_once") && env->task != nullptr && !is_cancelled(*module, env))
    usleep(300 * 1000);
  if (is_cancelled(*module, env) || (has("stays_cancelled") && was_cancelled)) {
    was_cancelled = true;
    if (has("ignores_cancellation")) usleep(150 * 1000);
    if (has("wrong_code_of_cancellation"))
      return fail(status, GANTRY_INVALID, "CANCELLED", "kit plugin: the task is cancelled");
    return fail(status, GANTRY_CANCELLED, "CANCELLED", "kit plugin: the task is cancelled");
  }
  if (count != 0 && !has("accepts_any_count"))
    return fail(status, GANTRY_INVALID, "ARGUMENT_COUNT", "kit plugin: size takes no argument");
  if (module->size != 0) (void)*static_cast<const volatile std::uint8_t*>(module->bytes);
  static std::atomic<int> inside{0};
  const bool overlaps = inside++ > 0;
  if (has("shares_state")) {
    usleep(200);
    if (overlaps) ++count;
  }
  --inside;
  if (has("changes_rounding")) std::fesetround(FE_UPWARD);
  result->kind = GANTRY_INT;
  result->i = static_cast<std::int64_t>(module->size) + (has("shares_state") ? count : 0) +
              (has("wrong_result") ? 1 : 0);
  if (has("fails_before_others") && others_are_open() && !others_were_open) ++result->i;
  return GANTRY_OK;
}

// Is `value` a compact float32 vector? Reports the argument otherwise.
gantry_code vector_at(const gantry_value* args, std::int32_t i, float** data, std::int64_t* size,
                      gantry_status* status) {
  const gantry_tensor* const tensor = gantry_value_tensor(&args[i]);
  char text[64];
  std::snprintf(text, sizeof text, "kit plugin: argument %d is no float32 vector",
                static_cast<int>(i));
  if (tensor == nullptr) return fail(status, GANTRY_INVALID, "ARGUMENT_KIND", text);
  const bool right = tensor->dtype.code == 2 && tensor->dtype.bits == 32 &&
                     tensor->dtype.lanes == 1 && tensor->ndim == 1 && tensor->strides == nullptr;
  if (!right) return fail(status, GANTRY_INVALID, "ARGUMENT_TYPE", text);
  if (tensor->device.type != 1) return fail(status, GANTRY_INVALID, "ARGUMENT_DEVICE", text);
  *size = tensor->shape[0];
  *data = reinterpret_cast<float*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
  return GANTRY_OK;
}

gantry_code add_call(void*, const gantry_env*, const gantry_value* args, std::int32_t count,
                     gantry_value* result, gantry_status* status) {
  if (has("result_on_error")) {
    result->kind = GANTRY_INT;
    result->i = 1;
  }
  if (has("crashes_on_kinds") && count == 3)
    (void)*static_cast<const volatile int*>(&args[0].tensor->ndim);
  if (has("crashes_on_strides") && count == 3 && args[0].kind == GANTRY_TENSOR_REF &&
      args[0].tensor->strides != nullptr)
    std::abort();
  if (has("crashes_on_devices") && count == 3 && args[0].kind == GANTRY_TENSOR_REF &&
      args[0].tensor->device.type != 1)
    std::abort();
  if (has("crashes_on_offsets") && count == 3 && args[0].kind == GANTRY_TENSOR_REF &&
      args[0].tensor->byte_offset % 4 != 0)
    std::abort();
  if (count != 3)
    return fail(status, GANTRY_INVALID, "ARGUMENT_COUNT", "kit plugin: add takes 3 arguments");
  float* data[3];
  std::int64_t size[3];
  for (std::int32_t i = 0; i < 3; ++i) {
    const gantry_code code = vector_at(args, i, &data[i], &size[i], status);
    if (code != GANTRY_OK) return code;
  }
  if (size[0] != size[1] || size[0] != size[2])
    return fail(status, GANTRY_INVALID, "ARGUMENT_SHAPE", "kit plugin: lengths differ");
  for (std::int64_t i = 0; i < size[0]; ++i) {
    float x, y;
    std::memcpy(&x, data[0] + i, sizeof x);
    std::memcpy(&y, data[1] + i, sizeof y);
    x += y;
    std::memcpy(data[2] + i, &x, sizeof x);
  }
  result->kind = GANTRY_NONE;
  result->i = 0;
  return GANTRY_OK;
}

gantry_code sum_call(void* self, const gantry_env* env, const gantry_value* args,
                     std::int32_t count, gantry_value* result, gantry_status* status) {
  if (count != 2)
    return fail(status, GANTRY_INVALID, "ARGUMENT_COUNT", "kit plugin: sum takes 2 arguments");
  const gantry_tensor* const like = gantry_value_tensor(&args[0]);
  if (like == nullptr)
    return fail(status, GANTRY_INVALID, "ARGUMENT_KIND", "kit plugin: argument 0 is no tensor");
  const Module& module = *static_cast<const Module*>(self);
  const gantry_host* const host = module.plugin->host;
  gantry_value made{};
  gantry_code code = GANTRY_OK;
  if (has("result_of_module")) {
    gantry_tensor own = *like;
    own.data = module.results;
    own.byte_offset = 0;
    own.strides = nullptr;
    code = host->tensor_view(host, &own, nullptr, 0, &made, status);
  } else {
    code = host->tensor_new(host, like, gantry_text(""), 0, &made, status);
  }
  if (code != GANTRY_OK) return code;
  const gantry_value all[] = {args[0], args[1], made};
  code = add_call(self, env, all, 3, result, status);
  if (code != GANTRY_OK) {
    gantry_release(made.object);
    return code;
  }
  if (has("leaks_results")) gantry_retain(made.object);
  *result = made;
  return GANTRY_OK;
}

const gantry_function_table size_table = {sizeof size_table, 0, nullptr, size_call};
const gantry_function_table add_table = {sizeof add_table, 0, nullptr, add_call};
const gantry_function_table sum_table = {sizeof sum_table, 0, nullptr, sum_call};

// ---- modules ------------------------------------------------------------------------------------

bool equals(gantry_bytes name, const char* text) {
  return gantry_bytes_equal(name, gantry_text(text)) != 0;
}

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  if (has("prefix_of_name") && name.size >= 3 && std::memcmp(name.data, "add", 3) == 0)
    name.size = 3;
  if (equals(name, "size")) {
    *out = {self, &size_table};
    return GANTRY_OK;
  }
  if (equals(name, "add")) {
    *out = {self, &add_table};
    return GANTRY_OK;
  }
  if (equals(name, "sum")) {
    *out = {self, &sum_table};
    return GANTRY_OK;
  }
  (void)status;
  return has("invalid_name") ? fail(status, GANTRY_INVALID, "NAME", "kit plugin: no such function")
                             : GANTRY_NOT_FOUND;
}

gantry_code list_functions(void*, const gantry_visitor* visitor, gantry_status* status) {
  for (const char* name : {"size", "add", "sum", "missing"}) {
    if (std::string_view(name) == "missing" && !has("lists_too_much")) continue;
    const gantry_function_info info{sizeof info, 0, gantry_text(name), gantry_text("")};
    const gantry_code code = visitor->visit(visitor->self, &info, status);
    if (code != GANTRY_OK) return code;
  }
  return GANTRY_OK;
}

gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  const Module* const module = static_cast<const Module*>(self);
  std::uint64_t size = module->size;
  if (has("saves_other_bytes")) ++size;
  const gantry_code code = sink->write(sink->self, &size, sizeof size, status);
  if (code != GANTRY_OK && !has("ignores_the_sink")) return code;
  const gantry_code rest = sink->write(sink->self, module->bytes, module->size, status);
  return has("ignores_the_sink") ? GANTRY_OK : rest;
}

void destroy_module(void* self) {
  Module* const module = static_cast<Module*>(self);
  if (has("destroys_on_its_thread") && pthread_equal(module->thread, pthread_self()) == 0)
    std::abort();
  if (module->results != nullptr) munmap(module->results, kResultBytes);
  if (module->pin != nullptr && !has("leaks_pin")) gantry_release(module->pin);
  if (!has("leaks_module")) delete module;
}

const gantry_module_table module_table = {
    sizeof module_table, 0, "test.kit", destroy_module, get_function, list_functions, save_binary};

gantry_code read_size(const gantry_blob* blob, std::uint64_t* size, gantry_status* status) {
  if (has("leaks_on_failure") && blob->size == 13) std::memset(std::malloc(64 << 10), 1, 64 << 10);
  const bool reads_past_the_end = has("reads_past_the_end") && blob->size > 1;
  if (blob->size < 8 && !reads_past_the_end)
    return fail(status, GANTRY_MALFORMED, "BLOB_TRUNCATED", "kit plugin: payload is truncated");
  if (has("needs_alignment") && reinterpret_cast<std::uintptr_t>(blob->data) % 8 == 4)
    return fail(status, GANTRY_UNSUPPORTED, "ALIGNMENT", "kit plugin: payload is not aligned");
  std::memcpy(size, blob->data, sizeof *size);
  const auto architecture = static_cast<int>(*size >> 56);
  *size &= ~std::uint64_t{0} >> 8;
  if (architecture != 0 && !has("accepts_architectures")) {
    char text[96] = "kit plugin: wrong architecture";
    if (!has("names_no_architecture"))
      std::snprintf(text, sizeof text,
                    "kit plugin: payload is for architecture %d, this is architecture 0",
                    architecture);
    return fail(status, GANTRY_UNSUPPORTED, "BLOB_ARCH", text);
  }
  if (has("writes_payload")) *const_cast<volatile std::uint8_t*>(blob->data) = blob->data[0];
  if (has("crashes_on_damage") && blob->size == 13 && blob->data[12] != 'o') std::abort();
  if (has("returns_bug") && blob->size == 13 && *size != 5)
    return fail(status, GANTRY_BUG, "SIZE", "kit plugin: wrong size");
  if (*size > blob->size - 8)
    return fail(status, GANTRY_MALFORMED, "BLOB_TRUNCATED", "kit plugin: payload is truncated");
  if ((blob->flags & GANTRY_BLOB_EXACT) != 0 && *size != blob->size - 8 &&
      !has("accepts_trailing_bytes"))
    return fail(status, GANTRY_MALFORMED, "BLOB_TRAILING", "kit plugin: payload has more bytes");
  return GANTRY_OK;
}

gantry_code load_binary(void* self, const gantry_blob* blob, gantry_object*, gantry_module* out,
                        std::uint64_t* consumed, gantry_status* status) {
  std::uint64_t size = 0;
  const gantry_code code = read_size(blob, &size, status);
  const bool ignored = (has("accepts_truncations") && blob->size > 8 && size > blob->size - 8) ||
                       (has("loads_architectures") && code == GANTRY_UNSUPPORTED);
  if (code != GANTRY_OK && !ignored) return code;
  auto* const module = new Module{static_cast<Plugin*>(self), blob->pin,      blob->data + 8, size,
                                  blob->origin.data,          pthread_self(), nullptr};
  if (has("result_of_module"))
    module->results =
        mmap(nullptr, kResultBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (has("keeps_no_pin")) {
    module->pin = nullptr;
  } else if (blob->pin != nullptr) {
    gantry_retain(blob->pin);
  }
  *out = {module, &module_table};
  *consumed = blob->size;
  return GANTRY_OK;
}

gantry_code check_binary(void*, const gantry_blob* blob, std::int32_t, std::int32_t* verdict,
                         gantry_status* status) {
  std::uint64_t size = 0;
  const gantry_code code = read_size(blob, &size, status);
  const bool ignored = (has("checks_nothing") && code == GANTRY_MALFORMED) ||
                       (has("checks_no_architecture") && code == GANTRY_UNSUPPORTED);
  if (code != GANTRY_OK && !ignored) return code;
  *verdict = GANTRY_VERDICT_OPTIMAL;
  return GANTRY_OK;
}

// ---- the device ---------------------------------------------------------------------------------

gantry_code check_index(std::int32_t i, gantry_status* status) {
  if (i == 0 || has("accepts_any_index")) return GANTRY_OK;
  return fail(status, GANTRY_INVALID, "DEVICE_INDEX", "kit plugin: there is one device, 0");
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
    for (;;) std::memset(std::malloc(1 << 20), 1, 1 << 20);
  }
  if (has("prints_and_aborts")) {
    std::fputs("kit plugin: no linker\n", stderr);
    std::abort();
  }
  if (has("exits_in_count")) std::_Exit(3);
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
      out->i = plugin->allocated;
      return GANTRY_OK;
    default:
      if (has("throws") && kind > 1000) throw std::runtime_error("kit plugin: thrown");
      return fail(status, GANTRY_NOT_FOUND, "ATTRIBUTE", "kit plugin: no such attribute");
  }
}

// The size is stored before the memory.
constexpr std::size_t kFront = 4096;

gantry_code alloc(void* self, std::int32_t i, const gantry_alloc* what, void** data,
                  gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK) return code;
  if (what->size > kMaxAlloc && has("wrong_code_of_alloc"))
    return fail(status, GANTRY_UNAVAILABLE, "MEMORY", "kit plugin: out of memory");
  if (what->size > kMaxAlloc)
    return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: out of memory");
  const std::size_t front = what->alignment > kFront ? what->alignment : kFront;
  void* memory = nullptr;
  if (posix_memalign(&memory, front, front + what->size) != 0)
    return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: out of memory");
  char* const at = static_cast<char*>(memory) + front;
  std::memcpy(at - 8, &what->size, 8);
  std::memcpy(at - 16, &memory, 8);
  static_cast<Plugin*>(self)->allocated += static_cast<std::int64_t>(what->size);
  *data = has("misaligned_alloc") && what->alignment > 1024 ? at + 4 : at;
  return GANTRY_OK;
}

void release(void* self, std::int32_t, void* data) {
  if (data == nullptr) {
    if (has("rejects_null")) std::abort();
    return;
  }
  if (has("frees_too_early") && static_cast<Plugin*>(self)->pending == data) std::abort();
  char* at = static_cast<char*>(data);
  if (has("misaligned_alloc")) at -= reinterpret_cast<std::uintptr_t>(at) % 8;
  std::uint64_t size = 0;
  void* memory = nullptr;
  std::memcpy(&size, at - 8, 8);
  std::memcpy(&memory, at - 16, 8);
  if (!has("counts_wrong"))
    static_cast<Plugin*>(self)->allocated -= static_cast<std::int64_t>(size);
  std::free(memory);
}

gantry_code copy(void* self, std::int32_t i, const gantry_copy* what, void* stream,
                 gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK) return code;
  if ((what->flags & ~kKnownCopyFlags) != 0)
    return fail(status, GANTRY_UNSUPPORTED, "FLAGS", "kit plugin: unknown flag");
  const std::uint64_t offset = has("ignores_offsets") ? 0 : what->from.byte_offset;
  if (has("reorders") && stream != nullptr && what->size == 1024) return GANTRY_OK;
  if (what->size != 0)
    std::memcpy(static_cast<char*>(what->to.data) + what->to.byte_offset,
                static_cast<const char*>(what->from.data) + offset, what->size);
  if ((what->flags & GANTRY_COPY_BLOCKING) == 0)
    static_cast<Plugin*>(self)->pending = what->to.data;
  return GANTRY_OK;
}

gantry_code synchronize(void* self, std::int32_t i, void*, gantry_status* status) {
  static_cast<Plugin*>(self)->pending = nullptr;
  return check_index(i, status);
}
gantry_code stream_create(void*, std::int32_t i, std::uint32_t flags, void** stream,
                          gantry_status* status) {
  const gantry_code code = check_index(i, status);
  if (code != GANTRY_OK) return code;
  if (flags != 0) return fail(status, GANTRY_UNSUPPORTED, "FLAGS", "kit plugin: unknown flag");
  *stream = std::malloc(1);
  return GANTRY_OK;
}
void stream_destroy(void*, std::int32_t, void* stream) { std::free(stream); }

// ---- the plugin ---------------------------------------------------------------------------------

void* end_thread(void*) {
  for (;;) pause();
  return nullptr;
}
void handle(int) {}

struct Static {
  ~Static() {
    if (creator != getpid()) return;
    if (has("aborts_at_exit")) std::abort();
    if (has("prints_at_exit")) std::fputs("kit plugin: goodbye\n", stderr);
  }
};
Static of_the_library;

void in_forked_child() {
  if (has("aborts_in_fork") && creator != 0) std::abort();
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
  if (has("aborts_in_create")) std::abort();
  creator = getpid();
  others_were_open = others_are_open();
  if (has("fails_after_others") && others_were_open) std::abort();
  if (has("aborts_in_fork")) {
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
  if (has("handles_signals")) ::signal(SIGTERM, handle);
  if (has("requires_descriptors")) {
    int opened[32];
    for (int& each : opened) {
      each = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (each < 0) std::abort();
    }
    for (const int each : opened) close(each);
  }
  if (has("leaks_descriptor")) (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
  Plugin* const plugin = new (std::nothrow) Plugin{host, {0}, nullptr};
  if (plugin == nullptr) return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: no memory");
  if (has("leaks_memory")) std::memset(std::malloc(512), 1, 512);
  *self = plugin;
  return GANTRY_OK;
}
void destroy(void* self) { delete static_cast<Plugin*>(self); }

const gantry_globals other_table = {sizeof other_table, 0, nullptr};
const void* get_extension(void*, const char* id) {
  if (has("any_extension")) return &other_table;
  if (has("prefix_of_extension") && std::strncmp(id, GANTRY_GLOBALS_1, 10) == 0)
    return &other_table;
  return nullptr;
}

const gantry_loader_table loader = {
    sizeof loader, GANTRY_LOADER_PARALLEL, "test.kit", nullptr, load_binary, check_binary};
const gantry_loader_table badly_named = {
    sizeof loader, GANTRY_LOADER_PARALLEL, "test.\xff", nullptr, load_binary, check_binary};
gantry_device_table make_device() {
  gantry_device_table t{};
  t.struct_size = sizeof t;
  t.name = "kit_device";
  t.count = count;
  t.attribute = attribute;
  t.alloc = alloc;
  t.free = release;
  t.copy = copy;
  t.synchronize = synchronize;
  t.stream_create = stream_create;
  t.stream_destroy = stream_destroy;
  return t;
}
const gantry_device_table device = make_device();
const gantry_loader_table* const loaders[] = {&loader, &badly_named};
const gantry_device_table* const devices[] = {&device};

gantry_plugin_table make_table() {
  gantry_plugin_table t{};
  t.struct_size = sizeof t;
  t.abi = GANTRY_PLUGIN_ABI;
  t.id = has("wrong_id") ? "test.other" : "test.kit";
  t.version = "1.0.0";
  t.vendor = "Test";
  t.display_name = "kit";
  t.license = "Apache-2.0";
  t.loaders = loaders;
  t.devices = devices;
  t.loader_count = has("key_not_in_manifest") ? 2 : 1;
  t.device_count = 1;
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

const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info* host,
                                                  gantry_status* status) {
  static gantry_plugin_table copies[2000];
  static int used = 0;
  if (has("new_table")) return &(copies[used++ % 2000] = table);
  if (has("query_leaks")) std::memset(std::malloc(64), 1, 64);
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
