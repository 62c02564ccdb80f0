// SPDX-License-Identifier: Apache-2.0
//
// A device that records every call. Its memory is host memory behind opaque handles: the data
// pointer of a tensor points to a Block and not to bytes.
#pragma once

#include "core/engine/tensor/device_set.hpp"

#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace gantry::test {

class FakeDevice {
 public:
  explicit FakeDevice(std::string name) : name_(std::move(name)) {
    table_.struct_size = sizeof table_;
    table_.flags = GANTRY_DEVICE_OPAQUE_DATA;
    table_.attribute = attribute;
    table_.alloc = alloc;
    table_.free = free;
    table_.copy = copy;
    table_.synchronize = synchronize;
    table_.event_create = event_create;
    table_.event_destroy = [](void* self, std::int32_t, void*) {
      --static_cast<FakeDevice*>(self)->events;
    };
    table_.event_record = event_record;
    table_.event_wait = event_wait;
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  // The host addresses the memory of the device.
  void has_host_address() {
    table_.host_address = [](void* self, std::int32_t i, void* data, void** found,
                             gantry_status* status) -> gantry_code {
      auto* const fake = static_cast<FakeDevice*>(self);
      fake->calls.push_back(concat("host_address on ", i));
      if (fake->host_address_fails_with != GANTRY_OK)
        return gantry_fail(status, fake->host_address_fails_with, "FAKE", "the fake device fails");
      *found = static_cast<Block*>(data)->bytes.data();
      return GANTRY_OK;
    };
  }
  gantry_code host_address_fails_with = GANTRY_OK;

  // The device keeps memory, which trim returns.
  void has_trim() {
    table_.trim = [](void* self, std::int32_t i) {
      auto* const fake = static_cast<FakeDevice*>(self);
      fake->calls.push_back(concat("trim on ", i));
      if (fake->exhausted_before_trim > 0) --fake->exhausted_before_trim;
    };
  }

  // Registers the device and returns its type.
  std::int32_t add_to(DeviceSet& devices) {
    type_ = devices.add(name_, this, &table_).value();
    return type_;
  }

  // "alloc 16 bytes at 256, rank 1, scope , on 0", "free on 0", "copy 16 bytes host+0 -> npu+0 on
  // 0", "record on 0", "wait on 1", "synchronize on 0"
  std::vector<std::string> calls;
  // code of every alloc and copy, and of the call on an event that fails
  gantry_code fails_with = GANTRY_OK;
  // "record" or "wait": the call on an event that fails with that code
  std::string event_call_fails;
  // number of times that alloc fails with EXHAUSTED, until trim is called
  int exhausted_before_trim = 0;
  // alloc succeeds but returns NULL
  bool gives_null = false;
  bool has_events = true;
  bool has_host_scope = false;
  // of that scope, not freed
  std::vector<void*> host_memory;
  // false: copy between two indices of this type is unsupported
  bool copies_between = true;
  gantry_alloc last_alloc{};
  void* last_stream = nullptr;
  std::uint32_t last_flags = 0, last_copy_size = 0, last_event_flags = 0;
  // numbers that it returns as attributes, and how often it was asked for one
  std::map<std::int32_t, std::int64_t> attributes;
  int attribute_reads = 0;
  // number of blocks and events that currently exist
  int blocks = 0, events = 0;

 private:
  struct Block {
    std::vector<std::uint8_t> bytes;
  };

  static gantry_code attribute(void* self, std::int32_t, std::int32_t kind, gantry_value* out,
                               gantry_status* status) {
    auto* const fake = static_cast<FakeDevice*>(self);
    ++fake->attribute_reads;
    const auto found = fake->attributes.find(kind);
    if (found == fake->attributes.end())
      return gantry_fail(status, GANTRY_NOT_FOUND, "FAKE", "the fake device has no such attribute");
    *out = int_value(found->second);
    return GANTRY_OK;
  }

  static gantry_code alloc(void* self, std::int32_t i, const gantry_alloc* what, void** data,
                           gantry_status* status) {
    auto* const fake = static_cast<FakeDevice*>(self);
    const std::string_view scope(what->scope.data, what->scope.size);
    fake->calls.push_back(concat("alloc ", what->size, " bytes at ", what->alignment, ", rank ",
                                 what->ndim, ", scope ", scope, ", on ", i));
    fake->last_alloc = *what;
    if (fake->fails_with != GANTRY_OK) return fake->fail(status);
    if (scope == GANTRY_SCOPE_HOST) {
      if (!fake->has_host_scope)
        return gantry_fail(status, GANTRY_UNSUPPORTED, "FAKE", "the fake device has no such scope");
      *data = std::aligned_alloc(256, (what->size + 255) / 256 * 256);
      fake->host_memory.push_back(*data);
      return GANTRY_OK;
    }
    if (fake->exhausted_before_trim > 0) {
      return gantry_fail(status, GANTRY_EXHAUSTED, "FAKE", "the fake device has no memory left");
    }
    if (fake->gives_null) return GANTRY_OK;
    *data = new Block{std::vector<std::uint8_t>(what->size)};
    ++fake->blocks;
    return GANTRY_OK;
  }

  static void free(void* self, std::int32_t i, void* data) {
    auto* const fake = static_cast<FakeDevice*>(self);
    fake->calls.push_back(concat("free on ", i));
    if (std::erase(fake->host_memory, data) != 0) return std::free(data);
    delete static_cast<Block*>(data);
    --fake->blocks;
  }

  static gantry_code copy(void* self, std::int32_t i, const gantry_copy* what, void* stream,
                          gantry_status* status) {
    auto* const fake = static_cast<FakeDevice*>(self);
    fake->calls.push_back(concat("copy ", what->size, " bytes ", fake->text(what->from), " -> ",
                                 fake->text(what->to), " on ", i));
    fake->last_stream = stream;
    fake->last_flags = what->flags;
    fake->last_copy_size = what->struct_size;
    if (!fake->copies_between && what->from.device.type == what->to.device.type &&
        what->from.device.index != what->to.device.index) {
      return gantry_fail(status, GANTRY_UNSUPPORTED, "FAKE",
                         "the fake device does not copy between its devices");
    }
    if (fake->fails_with != GANTRY_OK) return fake->fail(status);
    std::memmove(address(what->to), address(what->from), what->size);
    return GANTRY_OK;
  }

  static gantry_code synchronize(void* self, std::int32_t i, void*, gantry_status*) {
    static_cast<FakeDevice*>(self)->calls.push_back(concat("synchronize on ", i));
    return GANTRY_OK;
  }
  static gantry_code event_create(void* self, std::int32_t, std::uint32_t flags, void** event,
                                  gantry_status* status) {
    if (!static_cast<FakeDevice*>(self)->has_events)
      return gantry_fail(status, GANTRY_UNSUPPORTED, "FAKE", "the fake device has no events");
    *event = self;
    static_cast<FakeDevice*>(self)->last_event_flags = flags;
    ++static_cast<FakeDevice*>(self)->events;
    return GANTRY_OK;
  }
  static gantry_code event_record(void* self, std::int32_t i, void*, void*, gantry_status* status) {
    return static_cast<FakeDevice*>(self)->event_call("record", i, status);
  }
  static gantry_code event_wait(void* self, std::int32_t i, void*, void*, gantry_status* status) {
    return static_cast<FakeDevice*>(self)->event_call("wait", i, status);
  }

  gantry_code event_call(std::string_view name, std::int32_t i, gantry_status* status) {
    calls.push_back(concat(name, " on ", i));
    return event_call_fails == name ? fail(status) : gantry_code{GANTRY_OK};
  }

  gantry_code fail(gantry_status* status) const {
    return gantry_fail(status, fails_with, "FAKE", "the fake device fails");
  }
  std::string text(const gantry_location& location) const {
    const std::string side = location.device.type == kCpu ? "host" : name_;
    return concat(side, "+", location.byte_offset);
  }
  static std::uint8_t* address(const gantry_location& location) {
    auto* const base = location.device.type == kCpu
                           ? static_cast<std::uint8_t*>(location.data)
                           : static_cast<Block*>(location.data)->bytes.data();
    return base + location.byte_offset;
  }

  std::string name_;
  std::int32_t type_ = 0;
  gantry_device_table table_{};
};

}  // namespace gantry::test
