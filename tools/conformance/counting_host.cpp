// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/counting_host.hpp"

#include <gantry/object.h>
#include <gantry/value.h>

#include <unordered_map>

namespace gantry::kit {
namespace {

struct Creation {
  const char* function;
  void (*deleter)(void* self, std::int32_t flags);
};

struct Counts {
  std::mutex mutex;
  bool is_on = false;
  // by address
  std::unordered_map<void*, Creation> objects;
  std::map<std::string, std::int64_t> alive;
};
Counts& counts() {
  static Counts all;
  return all;
}

void delete_counted(void* self, std::int32_t flags) {
  Counts& all = counts();
  Creation creation{};
  {
    const std::lock_guard lock(all.mutex);
    const auto at = all.objects.find(self);
    creation = at->second;
    if ((flags & GANTRY_DELETE_CONTENT) != 0) --all.alive[creation.function];
    // The address may be used again.
    if ((flags & GANTRY_DELETE_MEMORY) != 0) all.objects.erase(at);
  }
  creation.deleter(self, flags);
}

void count(gantry_object* object, const char* function) {
  Counts& all = counts();
  const std::lock_guard lock(all.mutex);
  // The host may return an object that exists.
  if (!all.is_on || object->deleter == delete_counted) return;
  all.objects[object] = {function, object->deleter};
  ++all.alive[function];
  object->deleter = delete_counted;
}

// The result of a creating function is the last argument but the status.
template <class... A>
gantry_value* result_of(A... args) {
  gantry_value* result = nullptr;
  const auto take = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), gantry_value*>) result = argument;
  };
  (take(args), ...);
  return result;
}

template <auto Member>
struct Counted;
template <class... A, gantry_code (*gantry_host::*Member)(const gantry_host*, A...)>
struct Counted<Member> {
  using Function = gantry_code (*)(const gantry_host*, A...);
  static inline Function real = nullptr;
  static inline const char* name = nullptr;

  static gantry_code call(const gantry_host* host, A... args) {
    const gantry_code code = real(host, args...);
    const gantry_value* const made = result_of(args...);
    if (code == GANTRY_OK && made->kind >= GANTRY_OBJECT) count(made->object, name);
    return code;
  }
  static void install(gantry_host& table, const char* function) {
    if (table.*Member == call) return;
    real = table.*Member;
    name = function;
    table.*Member = call;
  }
};

}  // namespace

CountingHost::CountingHost(gantry_host& table) {
  Counted<&gantry_host::text_new>::install(table, "text_new");
  Counted<&gantry_host::shape_new>::install(table, "shape_new");
  Counted<&gantry_host::items_new>::install(table, "items_new");
  Counted<&gantry_host::error_new>::install(table, "error_new");
  Counted<&gantry_host::object_new>::install(table, "object_new");
  Counted<&gantry_host::tensor_new>::install(table, "tensor_new");
  Counted<&gantry_host::tensor_view>::install(table, "tensor_view");
  Counted<&gantry_host::module_new>::install(table, "module_new");
  Counted<&gantry_host::function_new>::install(table, "function_new");
  counts().is_on = true;
}

CountingHost::~CountingHost() {
  const std::lock_guard lock(counts().mutex);
  counts().is_on = false;
}

std::map<std::string, std::int64_t> CountingHost::alive() const {
  const std::lock_guard lock(counts().mutex);
  return counts().alive;
}

}  // namespace gantry::kit
