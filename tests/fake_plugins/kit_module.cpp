// SPDX-License-Identifier: Apache-2.0
//
// The type key of kit_plugin, its modules and their functions.
#include "kit_plugin.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace kit {
namespace {

constexpr std::size_t kResultBytes = 4096;

bool is_cancelled(const Module& module, const gantry_env* env) {
  const gantry_host* const host = module.plugin->host;
  return host->is_cancelled(host, env) != 0;
}

// Announces that it compiles, once for each module.
void make_ready(Module& module) {
  if (module.is_ready.exchange(true)) return;
  const gantry_host* const host = module.plugin->host;
  const auto* const progress =
      static_cast<const gantry_progress*>(host->get_extension(host, GANTRY_PROGRESS_1));
  if (progress == nullptr) return;
  progress->work_end(host, progress->work_begin(host, gantry_text("compiling size")));
}

gantry_code prepare(void* self, const gantry_env* env, const gantry_prepare*,
                    gantry_status* status) {
  Module& module = *static_cast<Module*>(self);
  if (is_cancelled(module, env)) {
    const gantry_code code = has("wrong_code_of_prepare") ? GANTRY_INVALID : GANTRY_CANCELLED;
    return fail(status, code, "CANCELLED", "kit plugin: the task is cancelled");
  }
  if (has("fails_to_prepare"))
    return fail(status, GANTRY_UNSUPPORTED, "PREPARE", "kit plugin: cannot prepare");
  make_ready(module);
  if (has("prepares_nothing")) module.is_ready = false;
  return GANTRY_OK;
}

// The calling thread's work is that of a queue.
class RecordedWork {
 public:
  explicit RecordedWork(Plugin& plugin)
      : plugin_(plugin),
        trace_(static_cast<const gantry_trace*>(
            plugin.host->get_extension(plugin.host, GANTRY_TRACE_2))),
        begun_(trace_ != nullptr ? trace_->now(plugin.host) : -1) {}
  ~RecordedWork() {
    if (begun_ < 0) return;
    if (has("records_late")) {
      const std::int64_t last = plugin_.late_since.exchange(begun_);
      if (last != 0) record(last, last);
    } else if (has("records_after_synchronize")) {
      pthread_t thread;
      const auto later = [](void* self) -> void* {
        usleep(5000);
        auto* const work = static_cast<RecordedWork*>(self);
        const std::int64_t now = work->trace_->now(work->plugin_.host);
        work->record(now, now);
        work->begun_ = -1;
        delete work;
        return nullptr;
      };
      if (pthread_create(&thread, nullptr, later, new RecordedWork(plugin_)) == 0)
        pthread_detach(thread);
    } else {
      const std::int64_t now = trace_->now(plugin_.host);
      record(begun_, has("records_by_another_clock") ? now + 1'000'000'000 : now);
    }
  }
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;

 private:
  void record(std::int64_t begin, std::int64_t end) const {
    const gantry_host* const host = plugin_.host;
    const std::uint64_t track =
        trace_->track(host, gantry_text("kit_device:0"), gantry_text("queue"));
    trace_->span(host, track, begin, end, gantry_text("size"), gantry_text("kernel"), nullptr, 0);
  }

  Plugin& plugin_;
  const gantry_trace* trace_;
  std::int64_t begun_;
};

// Takes an integer or nothing.
gantry_code size_call(void* self, const gantry_env* env, const gantry_value* args,
                      std::int32_t count, gantry_value* result, gantry_status* status) {
  Module* const module = static_cast<Module*>(self);
  make_ready(*module);
  const RecordedWork recorded(*module->plugin);
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
  if ((count > 1 || (count == 1 && args[0].kind != GANTRY_INT)) && !has("accepts_any_count"))
    return fail(status, GANTRY_INVALID, "ARGUMENT_COUNT", "kit plugin: size takes an integer");
  if (module->size != 0) (void)*static_cast<const volatile std::uint8_t*>(module->bytes);
  static std::atomic<int> inside{0};
  const bool overlaps = inside++ > 0;
  if (has("shares_state")) usleep(200);
  --inside;
  if (has("changes_rounding")) std::fesetround(FE_UPWARD);
  if (has("takes_any_stream") && env->streams != nullptr)
    (void)*static_cast<const volatile char*>(env->streams->items[0].stream);
  result->kind = GANTRY_INT;
  result->i = static_cast<std::int64_t>(module->size) + (has("shares_state") && overlaps ? 1 : 0) +
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
  const bool has_no_tensor = count == 3 && gantry_value_tensor(&args[0]) == nullptr;
  if (has("bug_for_kinds") && has_no_tensor)
    return fail(status, GANTRY_BUG, "KIND", "kit plugin: argument 0 is no tensor");
  if (has("throws_for_kinds") && has_no_tensor) throw std::runtime_error("kit plugin: no tensor");
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

// Adds the elements of an int4 vector, two of which are in a byte.
gantry_code sum4_call(void*, const gantry_env*, const gantry_value* args, std::int32_t count,
                      gantry_value* result, gantry_status* status) {
  if (count != 1)
    return fail(status, GANTRY_INVALID, "ARGUMENT_COUNT", "kit plugin: sum4 takes 1 argument");
  const gantry_tensor* const tensor = gantry_value_tensor(&args[0]);
  const bool right = tensor != nullptr && tensor->dtype.code == 0 && tensor->dtype.bits == 4 &&
                     tensor->dtype.lanes == 1 && tensor->ndim == 1 && tensor->strides == nullptr &&
                     tensor->device.type == 1;
  if (!right)
    return fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                "kit plugin: argument 0 is no int4 vector");
  const auto* const bytes = static_cast<const std::uint8_t*>(tensor->data) + tensor->byte_offset;
  std::int64_t sum = 0;
  // The byte of the last element, if each had one.
  if (has("reads_behind_elements") && tensor->shape[0] > 1)
    (void)*static_cast<const volatile std::uint8_t*>(bytes + tensor->shape[0] - 1);
  for (std::int64_t i = 0; i < tensor->shape[0]; ++i) {
    const int four = has("pads_elements") ? bytes[i] & 15 : bytes[i / 2] >> (i % 2 * 4) & 15;
    sum += four < 8 ? four : four - 16;
  }
  result->kind = GANTRY_INT;
  result->i = sum;
  return GANTRY_OK;
}

gantry_code lose_call(void* self, const gantry_env*, const gantry_value*, std::int32_t count,
                      gantry_value* result, gantry_status* status) {
  if (count != 0)
    return fail(status, GANTRY_INVALID, "ARGUMENT_COUNT", "kit plugin: lose takes no argument");
  static_cast<const Module*>(self)->plugin->is_lost = true;
  *result = gantry_value{};
  return GANTRY_OK;
}

const gantry_function_table size_table = {sizeof size_table, 0, nullptr, size_call};
const gantry_function_table add_table = {sizeof add_table, 0, nullptr, add_call};
const gantry_function_table sum_table = {sizeof sum_table, 0, nullptr, sum_call};
const gantry_function_table sum4_table = {sizeof sum4_table, 0, nullptr, sum4_call};
const gantry_function_table lose_table = {sizeof lose_table, 0, nullptr, lose_call};

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
  if (equals(name, "sum4")) {
    *out = {self, &sum4_table};
    return GANTRY_OK;
  }
  if (equals(name, "lose")) {
    *out = {self, &lose_table};
    return GANTRY_OK;
  }
  (void)status;
  return has("invalid_name") ? fail(status, GANTRY_INVALID, "NAME", "kit plugin: no such function")
                             : GANTRY_NOT_FOUND;
}

gantry_code list_functions(void*, const gantry_visitor* visitor, gantry_status* status) {
  if (has("fails_to_list"))
    return fail(status, GANTRY_UNSUPPORTED, "LIST", "kit plugin: has no list");
  for (const char* name : {"size", "add", "sum", "sum4", "lose", "missing"}) {
    if (std::string_view(name) == "missing" && !has("lists_too_much")) continue;
    if (std::string_view(name) == "sum" && has("lists_too_little")) continue;
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
  const std::uint8_t more = 'o';
  const bool is_aligned = sink->alignment != 0;
  if (is_aligned && has("refuses_an_alignment"))
    return fail(status, GANTRY_INVALID, "ALIGNMENT", "kit plugin: the sink has an alignment");
  if (!is_aligned && has("fails_to_save"))
    return fail(status, GANTRY_UNSUPPORTED, "SAVE", "kit plugin: saves with an alignment only");
  const bool is_longer = is_aligned && has("saves_longer_each_time");
  if (is_longer || (is_aligned && has("saves_wrong_aligned_bytes"))) ++size;
  if (is_aligned && has("aligns_other_results")) size = 4;
  const gantry_code code = sink->write(sink->self, &size, sizeof size, status);
  if (code != GANTRY_OK && has("wrong_code_of_save"))
    return fail(status, GANTRY_UNAVAILABLE, "SINK", "kit plugin: the sink fails");
  if (code != GANTRY_OK && !has("ignores_the_sink")) return code;
  const std::uint64_t kept = std::min(size, module->size);
  gantry_code rest = sink->write(sink->self, module->bytes, kept, status);
  if (rest == GANTRY_OK && is_longer) rest = sink->write(sink->self, &more, 1, status);
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
    sizeof module_table, 0,           "test.kit", destroy_module,  get_function,
    list_functions,      save_binary, prepare,    module_extension};

gantry_code read_size(const gantry_blob* blob, std::uint64_t* size, gantry_status* status) {
  if (has("leaks_on_failure") && blob->size == 13) leak(64 << 10);
  const bool reads_past_the_end = has("reads_past_the_end") && blob->size > 1;
  if (blob->size < 8 && has("wrong_code_of_truncation"))
    return fail(status, GANTRY_INVALID, "BLOB_TRUNCATED", "kit plugin: payload is truncated");
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

gantry_code load_binary(void* self, const gantry_blob* blob, gantry_object* node,
                        gantry_module* out, std::uint64_t* consumed, gantry_status* status) {
  // loader.h: never NULL.
  if (node == nullptr) std::abort();
  std::uint64_t size = 0;
  static std::atomic<int> loads{0}, inside{0};
  if (has("loads_a_few") && ++loads > 10)
    return fail(status, GANTRY_EXHAUSTED, "LOADS", "kit plugin: has loaded 10 modules");
  if (has("loads_one_at_a_time")) {
    const bool overlaps = inside++ > 0;
    usleep(1000);
    --inside;
    if (overlaps) return fail(status, GANTRY_UNAVAILABLE, "BUSY", "kit plugin: is loading");
  }
  const gantry_code code = read_size(blob, &size, status);
  const bool ignored = (has("accepts_truncations") && blob->size > 8 && size > blob->size - 8) ||
                       (has("loads_architectures") && code == GANTRY_UNSUPPORTED);
  if (code != GANTRY_OK && !ignored) return code;
  auto* const module =
      new Module{static_cast<Plugin*>(self), blob->pin,      blob->data + 8, size,
                 blob->origin.data,          pthread_self(), nullptr,        {false}};
  if (has("result_of_module"))
    module->results =
        mmap(nullptr, kResultBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (has("keeps_no_pin")) {
    module->pin = nullptr;
  } else if (blob->pin != nullptr) {
    gantry_retain(blob->pin);
  }
  *out = {module, &module_table};
  *consumed = has("consumes_less") ? blob->size - 1 : blob->size;
  return GANTRY_OK;
}

gantry_code check_binary(void*, const gantry_blob* blob, std::int32_t, std::int32_t* verdict,
                         gantry_status* status) {
  std::uint64_t size = 0;
  if (has("leaks_on_check")) leak(64 << 10);
  const gantry_code code = read_size(blob, &size, status);
  const bool ignored = (has("checks_nothing") && code == GANTRY_MALFORMED) ||
                       (has("checks_no_architecture") && code == GANTRY_UNSUPPORTED);
  if (code != GANTRY_OK && !ignored) return code;
  if (has("checks_too_strictly"))
    return fail(status, GANTRY_UNSUPPORTED, "CHECK", "kit plugin: cannot run this");
  *verdict = has("unknown_verdict") ? GANTRY_VERDICT_OPTIMAL + 4 : GANTRY_VERDICT_OPTIMAL;
  return GANTRY_OK;
}

}  // namespace

const gantry_loader_table loader = {
    sizeof loader, GANTRY_LOADER_PARALLEL, "test.kit", nullptr, load_binary, check_binary};
const gantry_loader_table runs_elsewhere = {
    sizeof loader, GANTRY_LOADER_PARALLEL, "test.kit", "nowhere", load_binary, check_binary};
const gantry_loader_table badly_named = {
    sizeof loader, GANTRY_LOADER_PARALLEL, "test.\xff", nullptr, load_binary, check_binary};

}  // namespace kit
