// SPDX-License-Identifier: Apache-2.0
//
// A host for testing plugins without the core: counted objects, memory that knows its size, two devices.
//
//     FakeHost host;
//     host.add_function("add", [](...) { ... });                  // what the module's imports have
//     loader.load_binary(plugin_self, &blob, host.node(), ...);
//     ...
//     EXPECT_EQ(host.live_objects(), 0);                          // after everything was released
//
// Device 1 is the CPU. Device 4 hands out handles (OPAQUE_DATA): odd numbers that crash whoever takes them for
// addresses; memory_of() tells a test what lies behind one.
#pragma once

#include <gantry/host.h>
#include <gantry/trace.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::test {

constexpr gantry_device_id cpu{1, 0};
constexpr gantry_device_id handles{4, 0};

class FakeHost {
 public:
  using Body = std::function<gantry_code(const gantry_env*, std::span<const gantry_value>,
                                         gantry_value*, gantry_status*)>;

  FakeHost();
  // every object must be gone
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const gantry_host* table() const { return &lent_.table; }

  // The module under test: find(node, IMPORTS, name) gives the functions added here. Not counted as live.
  gantry_object* node() { return node_; }
  void add_function(std::string name, Body body) { imports_[std::move(name)] = std::move(body); }

  // An object that keeps nothing, as a blob's pin. One reference, the caller's.
  gantry_object* new_pin();
  void release(gantry_object* object);
  int references(const gantry_object* object) const { return static_cast<int>(object->counts); }

  // Objects that somebody holds.
  int live_objects() const { return *live_; }
  // What tensor_new was asked for, bytes each, oldest first.
  std::vector<std::uint64_t> allocations;
  // tensor_new fails as EXHAUSTED once so many were made.
  std::size_t max_allocations = SIZE_MAX;
  // Every tensor_copy: bytes.
  std::vector<std::uint64_t> copies;
  // device_type_in: the artifact's number to ours, where they differ.
  std::map<std::int32_t, std::int32_t> device_numbers;
  // Waits of device 4.
  int synchronizations = 0;
  bool cancelled = false;
  // With it the host offers gantry.trace/1: spans are kept here, as "category:name".
  bool tracing = false;
  std::vector<std::string> spans;
  std::vector<std::string> log;
  // config_get: options that have a value.
  std::map<std::string, std::variant<std::string, std::int64_t, bool>, std::less<>> options;

  // What lies behind an address of device 1 or a handle of device 4.
  std::uint8_t* memory_of(const gantry_tensor& tensor) const;

 private:
  struct Lent {
    gantry_host table;
    FakeHost* owner;
  };
  // the host table's functions, in the .cpp
  struct Entries;
  friend struct Entries;

  Lent lent_{};
  std::shared_ptr<int> live_ = std::make_shared<int>(0);
  gantry_object* node_ = nullptr;
  std::map<std::string, Body, std::less<>> imports_;
  std::map<std::uintptr_t, std::uint8_t*> handles_;
  std::uintptr_t next_handle_ = 0x1001;
};

}  // namespace gantry::test
