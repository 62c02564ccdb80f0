// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/object.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace gantry {
namespace {

// Every object here is one block of malloc: the cell, and behind it what it points to.
void free_block(void* self, std::int32_t) { std::free(self); }

void free_items(void* self, std::int32_t) {
  auto* object = static_cast<ItemsObject*>(self);
  for (std::uint64_t i = 0; i < object->count; ++i) {
    if (holds_object(object->items[i])) release(object->items[i].object);
  }
  std::free(self);
}

struct PinObject {
  gantry_object header;
  std::shared_ptr<const void> what;
};

void free_pin(void* self, std::int32_t) { delete static_cast<PinObject*>(self); }

// A cell with `extra` bytes behind it, in one block.
//
// T        trivially constructible, its size a multiple of 8
// returns  exhausted naming `what`
template <class T>
Result<T*> new_block(std::uint64_t extra, std::string_view what) {
  static_assert(sizeof(T) % alignof(gantry_value) == 0);
  const std::uint64_t max = PTRDIFF_MAX - sizeof(T);
  void* block = extra <= max ? std::malloc(sizeof(T) + extra) : nullptr;
  if (block == nullptr) return exhausted(what, ": no memory for ", extra, " bytes");
  return new (block) T{};
}

// One item, fit to be kept: with a reference of its own.
Result<OwnedValue> keep_item(const gantry_value& item, std::size_t index) {
  if (item.kind == GANTRY_CSTRING || item.kind == GANTRY_BYTES_REF) {
    if (item.p == nullptr) return invalid("item ", index, " is a text at address 0");
    gantry_bytes text{};
    gantry_value_bytes(&item, &text);
    const std::int32_t kind = item.kind == GANTRY_CSTRING ? GANTRY_STRING : GANTRY_BYTES;
    GANTRY_TRY(auto copy, new_text(kind, std::string_view(text.data, text.size)));
    return OwnedValue(std::move(copy));
  }
  if (item.kind == GANTRY_TENSOR_REF) {
    return invalid("item ", index, " is a borrowed tensor, only tensor objects can be kept");
  }
  if (!is_owned_kind(item.kind)) {
    return invalid("item ", index, " has kind ", item.kind, ", which is no kind of value");
  }
  if (holds_object(item)) {
    if (item.object == nullptr) return invalid("item ", index, " is an object at address 0");
    retain(item.object);
  }
  return OwnedValue::adopt(item);
}

}  // namespace

Result<Ref<TextObject>> new_text(std::int32_t kind, std::string_view text) {
  if (kind != GANTRY_STRING && kind != GANTRY_BYTES) {
    return invalid("a text object of kind ", kind,
                   " is asked for, kinds are 65 (string) and 66 (bytes)");
  }
  GANTRY_TRY(TextObject* const object, new_block<TextObject>(text.size() + 1, "text"));
  char* const copy = reinterpret_cast<char*>(object + 1);
  std::copy(text.begin(), text.end(), copy);
  copy[text.size()] = '\0';
  object->header = fresh_header(kind, free_block);
  object->text = {copy, text.size()};
  return Ref<TextObject>::adopt(object);
}

Result<Ref<ShapeObject>> new_shape(std::span<const std::int64_t> dims) {
  GANTRY_TRY(ShapeObject* const object, new_block<ShapeObject>(dims.size_bytes(), "shape"));
  auto* const copy = reinterpret_cast<std::int64_t*>(object + 1);
  std::copy(dims.begin(), dims.end(), copy);
  object->header = fresh_header(GANTRY_SHAPE, free_block);
  object->dims = copy;
  object->count = dims.size();
  return Ref<ShapeObject>::adopt(object);
}

Result<Ref<ItemsObject>> new_items(std::int32_t kind, std::span<const gantry_value> items) {
  if (kind != GANTRY_ARRAY && kind != GANTRY_MAP) {
    return invalid("a collection of kind ", kind,
                   " is asked for, kinds are 71 (array) and 72 (map)");
  }
  if (kind == GANTRY_MAP && items.size() % 2 != 0) {
    return invalid("map has ", items.size(), " items, keys and values come in pairs");
  }
  GANTRY_TRY(ItemsObject* const object, new_block<ItemsObject>(items.size_bytes(), "collection"));
  object->header = fresh_header(kind, free_items);
  object->items = reinterpret_cast<gantry_value*>(object + 1);
  auto kept = Ref<ItemsObject>::adopt(object);
  for (std::size_t i = 0; i < items.size(); ++i) {
    GANTRY_TRY(OwnedValue item, keep_item(items[i], i));
    object->items[i] = item.take();
    // so that a failure at a later item releases what is kept by now
    object->count = i + 1;
  }
  return kept;
}

Result<ObjectPtr> new_pin(std::shared_ptr<const void> what) {
  auto* const object = new (std::nothrow) PinObject{};
  if (object == nullptr) return exhausted("pin: no memory for ", sizeof(PinObject), " bytes");
  object->header = fresh_header(GANTRY_OBJECT, free_pin);
  object->what = std::move(what);
  return ObjectPtr::adopt(&object->header);
}

}  // namespace gantry
