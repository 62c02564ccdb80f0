// SPDX-License-Identifier: Apache-2.0
//
// A fake host table with objects on the heap, which counts live objects. Used to test handle.hpp.
#pragma once

#include <gantry/handle.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

class FakeHostTable : public gantry_host {
 public:
  FakeHostTable() : gantry_host{} {
    struct_size = sizeof(gantry_host);
    gantry_host::log = [](const gantry_host* host, std::int32_t level, gantry_bytes text) {
      self(host)->logged.push_back(std::to_string(level) + ":" + std::string(view_of(text)));
    };
    gantry_host::is_cancelled = [](const gantry_host*, const gantry_env* env) -> std::int32_t {
      return env != nullptr;
    };
    gantry_host::text_new = [](const gantry_host* host, std::int32_t kind, gantry_bytes text,
                               gantry_value* out, gantry_status* status) {
      auto* object = self(host)->create(kind, out, status);
      if (!object) return gantry_code{GANTRY_EXHAUSTED};
      object->text = view_of(text);
      object->cell.bytes = bytes_of(object->text);
      return gantry_code{GANTRY_OK};
    };
    gantry_host::shape_new = [](const gantry_host* host, const std::int64_t* dims,
                                std::uint64_t count, gantry_value* out, gantry_status* status) {
      auto* object = self(host)->create(GANTRY_SHAPE, out, status);
      if (!object) return gantry_code{GANTRY_EXHAUSTED};
      object->dims.assign(dims, dims + count);
      object->cell.shape = {object->dims.data(), count};
      return gantry_code{GANTRY_OK};
    };
    gantry_host::items_new = [](const gantry_host* host, std::int32_t kind,
                                const gantry_value* items, std::uint64_t count, gantry_value* out,
                                gantry_status* status) {
      auto* object = self(host)->create(kind, out, status);
      if (!object) return gantry_code{GANTRY_EXHAUSTED};
      object->items.assign(items, items + count);
      for (const gantry_value& item : object->items) {
        if (item.kind >= GANTRY_OBJECT) ++item.object->counts;
      }
      return gantry_code{GANTRY_OK};
    };
    gantry_host::items_get = [](const gantry_host*, gantry_object* object,
                                const gantry_value** items, std::uint64_t* count,
                                gantry_status* status) {
      if (object->kind != GANTRY_ARRAY && object->kind != GANTRY_MAP) {
        return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND", "no array, no map");
      }
      *items = reinterpret_cast<Object*>(object)->items.data();
      *count = reinterpret_cast<Object*>(object)->items.size();
      return gantry_code{GANTRY_OK};
    };
    gantry_host::tensor_new = [](const gantry_host* host, const gantry_tensor* like,
                                 gantry_bytes scope, std::uint32_t, gantry_value* out,
                                 gantry_status* status) {
      auto* object = self(host)->create(GANTRY_TENSOR, out, status);
      if (!object) return gantry_code{GANTRY_EXHAUSTED};
      object->cell.tensor = *like;
      object->text = view_of(scope);
      object->cell.tensor.data = object->text.data();
      return gantry_code{GANTRY_OK};
    };
    gantry_host::tensor_view = [](const gantry_host* host, const gantry_tensor* what,
                                  gantry_object* owner, std::uint32_t, gantry_value* out,
                                  gantry_status* status) {
      auto* object = self(host)->create(GANTRY_TENSOR, out, status);
      if (!object) return gantry_code{GANTRY_EXHAUSTED};
      object->cell.tensor = *what;
      gantry_value item{};
      item.kind = owner->kind;
      item.object = owner;
      ++owner->counts;
      object->items = {item};
      return gantry_code{GANTRY_OK};
    };
    gantry_host::tensor_copy = [](const gantry_host* host, const gantry_tensor* from,
                                  const gantry_tensor* to, const gantry_env*,
                                  gantry_status* status) {
      ++self(host)->copies;
      if (from->ndim != to->ndim)
        return gantry_fail(status, GANTRY_INVALID, "SHAPE", "ndim differs");
      return gantry_code{GANTRY_OK};
    };
    gantry_host::object_new = [](const gantry_host* host, const gantry_object_type* type,
                                 void* opaque, gantry_value* out, gantry_status* status) {
      auto* object = self(host)->create(GANTRY_OBJECT, out, status);
      if (!object) return gantry_code{GANTRY_EXHAUSTED};
      object->cell.opaque = {type, opaque};
      return gantry_code{GANTRY_OK};
    };
    gantry_host::object_get = [](const gantry_host*, gantry_object* object,
                                 const gantry_object_type* type, void** opaque,
                                 gantry_status* status) {
      const auto& cell = reinterpret_cast<Object*>(object)->cell.opaque;
      if (cell.type != type)
        return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND", "another type");
      *opaque = cell.self;
      return gantry_code{GANTRY_OK};
    };
    gantry_host::find = [](const gantry_host* host, gantry_object* module, std::uint32_t where,
                           gantry_bytes name, gantry_object** function, gantry_status* status) {
      if (view_of(name) != "run" || where != GANTRY_FIND_IMPORTS) {
        return gantry_fail(status, GANTRY_NOT_FOUND, "NAME", "no such function, there is \"run\"");
      }
      (void)host;
      ++module->counts;
      *function = module;
      return gantry_code{GANTRY_OK};
    };
    gantry_host::call = [](const gantry_host*, gantry_object* function, const gantry_env*,
                           const gantry_value* args, std::int32_t count, gantry_value* result,
                           gantry_status*) {
      // fails without a text, which is a defect
      if (count == 0) return gantry_code{GANTRY_UNAVAILABLE};
      *result = args[count - 1];
      if (result->kind >= GANTRY_OBJECT) ++result->object->counts;
      (void)function;
      return gantry_code{GANTRY_OK};
    };
  }

  std::int64_t alive = 0;
  // calls of tensor_copy
  std::int64_t copies = 0;
  // number of objects that can still be created
  std::int64_t room = INT64_MAX;
  std::vector<std::string> logged;

 private:
  struct Object {
    gantry_object header;
    union {
      gantry_bytes bytes;
      gantry_shape shape;
      gantry_tensor tensor;
      struct {
        const gantry_object_type* type;
        void* self;
      } opaque;
    } cell;
    FakeHostTable* host;
    std::string text;
    std::vector<std::int64_t> dims;
    std::vector<gantry_value> items;
  };

  static FakeHostTable* self(const gantry_host* host) {
    return const_cast<FakeHostTable*>(static_cast<const FakeHostTable*>(host));
  }
  Object* create(std::int32_t kind, gantry_value* out, gantry_status* status) {
    if (room-- == 0) {
      gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "no room for another object");
      return nullptr;
    }
    auto* object = new Object{};
    object->header = {(std::uint64_t{1} << 32) | 1, kind, 0, [](void* gone, std::int32_t) {
                        auto* dead = static_cast<Object*>(gone);
                        for (const gantry_value& item : dead->items) {
                          if (item.kind >= GANTRY_OBJECT) gantry_release(item.object);
                        }
                        if (dead->header.kind == GANTRY_OBJECT)
                          dead->cell.opaque.type->destroy(dead->cell.opaque.self);
                        --dead->host->alive;
                        delete dead;
                      }};
    object->host = this;
    ++alive;
    out->kind = kind;
    out->object = &object->header;
    return object;
  }
};

}  // namespace gantry::test
