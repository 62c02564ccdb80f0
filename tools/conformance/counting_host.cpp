// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/counting_host.hpp"

#include <gantry/object.h>
#include <gantry/value.h>

#include <mutex>
#include <type_traits>
#include <vector>

namespace gantry::kit {
namespace {

constexpr std::uint64_t one_weak = std::uint64_t{1} << 32;

struct Creation {
  // a weak reference
  gantry_object* object;
  const char* function;
};

struct Counts {
  std::mutex mutex;
  bool is_on = false;
  std::vector<Creation> created;
};
Counts& counts() {
  static Counts all;
  return all;
}

void count(gantry_object* object, const char* function) {
  Counts& all = counts();
  const std::lock_guard lock(all.mutex);
  if (!all.is_on) return;
  __atomic_fetch_add(&object->counts, one_weak, __ATOMIC_RELAXED);
  all.created.push_back({object, function});
}

bool is_alive(const gantry_object* object) {
  return (__atomic_load_n(&object->counts, __ATOMIC_ACQUIRE) & UINT32_MAX) != 0;
}

void release_weak(gantry_object* object) {
  if (__atomic_fetch_sub(&object->counts, one_weak, __ATOMIC_ACQ_REL) >> 32 == 1)
    object->deleter(object, GANTRY_DELETE_MEMORY);
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
  static inline gantry_code (*real)(const gantry_host*, A...) = nullptr;
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
    // Threads of the plugin may read it.
    __atomic_store_n(&(table.*Member), &call, __ATOMIC_RELEASE);
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
  const std::lock_guard lock(counts().mutex);
  counts().is_on = true;
}

CountingHost::~CountingHost() {
  std::vector<Creation> created;
  {
    const std::lock_guard lock(counts().mutex);
    counts().is_on = false;
    created.swap(counts().created);
  }
  for (const Creation& each : created) release_weak(each.object);
}

std::map<std::string, std::int64_t> CountingHost::alive() const {
  const std::lock_guard lock(counts().mutex);
  std::map<std::string, std::int64_t> found;
  for (const Creation& each : counts().created)
    found[each.function] += is_alive(each.object) ? 1 : 0;
  return found;
}

}  // namespace gantry::kit
