// SPDX-License-Identifier: Apache-2.0
//
// A host for tests of plugins without the core. It counts objects and has two devices. Threads may use
// its table at the same time while no other member is changed or read.
//
//     FakeHost host;
//     host.add_function("add", [](...) { ... });   // a function of the module's imports
//     loader.load_binary(plugin_self, &blob, host.node(), ...);
//     ...
//     EXPECT_EQ(host.live_objects(), 0);           // after all objects are released
//
// Device 1 is the CPU. Device 4 allocates opaque handles (OPAQUE_DATA): odd numbers, so that their
// use as addresses crashes. memory_of() returns the memory of a handle.
#pragma once

#include <gantry/batch.h>
#include <gantry/device.h>
#include <gantry/host.h>
#include <gantry/output.h>
#include <gantry/progress.h>
#include <gantry/trace.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
  // Aborts if there are live objects.
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const gantry_host* table() const { return &lent_.table; }

  // The node of the module under test: find(node, IMPORTS, name) returns the functions that
  // add_function() adds. Not counted as live.
  gantry_object* node() { return node_; }
  void add_function(std::string name, Body body) { imports_[std::move(name)] = std::move(body); }
  // The same for functions that belong to no module, which find(node, GLOBALS, name) returns.
  void add_global(std::string name, Body body) { globals_[std::move(name)] = std::move(body); }

  // Creates an object that keeps nothing alive, for the pin of a blob. The caller owns the one
  // reference.
  gantry_object* new_pin();
  void release(gantry_object* object);
  int references(const gantry_object* object) const { return static_cast<int>(object->counts); }

  // Number of objects that are not released.
  int live_objects() const { return *live_; }
  // size of each tensor_new in bytes, oldest first
  std::vector<std::uint64_t> allocations;
  // after this number of allocations, tensor_new fails with EXHAUSTED
  std::size_t max_allocations = SIZE_MAX;
  // of tensor_new; a larger one fails with EXHAUSTED
  std::uint64_t max_tensor_bytes = std::uint64_t{1} << 30;
  // number of the next tensor_new calls that fail with EXHAUSTED
  int failing_allocations = 0;
  // size of each tensor_copy in bytes
  std::vector<std::uint64_t> copies;
  // result of device_type_in by the artifact's number; other numbers are returned unchanged
  std::map<std::int32_t, std::int32_t> device_numbers;
  // number of synchronize calls of both devices
  int synchronizations = 0;
  // calls of the handles device, which has streams and captures: "synchronize own",
  // "capture_launch caller's"; `own` is a stream that it has created
  std::vector<std::string> device_calls;
  // numbers that the handles device returns as attributes, and how often it was asked for one
  std::map<std::int32_t, std::int64_t> attributes;
  int attribute_reads = 0;
  // further devices by their type, those of another plugin
  std::map<std::int32_t, gantry_device> devices;
  bool cancelled = false;
  // cancelled as soon as so many spans are recorded
  std::size_t cancelled_after_spans = SIZE_MAX;
  // cancelled after so many calls of is_cancelled, which `polls` counts
  std::size_t cancelled_after_polls = SIZE_MAX;
  std::atomic<std::size_t> polls = 0;
  // true: the host has the extension gantry.trace/2, which adds "category:name" of a thread's span
  // to `spans`
  bool tracing = false;
  // false: it records nothing now
  std::atomic<bool> recording = true;
  std::vector<std::string> spans;
  // "group/name" of each call of track
  std::vector<std::string> tracks;
  // spans on these tracks; times of the steady clock
  struct TrackSpan {
    std::string track, name, category;
    std::int64_t begin, end;
  };
  std::vector<TrackSpan> track_spans;
  // texts of the works that were announced with the extension gantry.progress/1, and the number of
  // those that have not ended
  std::vector<std::string> works;
  int running_works = 0;
  // true: the host has the extension gantry.batch/1, which counts its runs in `batch_runs`
  bool has_batches = false;
  int batch_runs = 0;
  // text with which prepare fails; NULL: it succeeds
  const char* batch_refusal = nullptr;
  std::vector<std::string> log;
  // texts that were written with the extension gantry.output/1
  std::vector<std::string> output;
  // kinds of the error objects that were created, which have no content
  std::vector<std::string> error_kinds;
  // values for config_get
  std::map<std::string, std::variant<std::string, std::int64_t, bool>, std::less<>> options;

  // The memory of an address of device 1 or a handle of device 4.
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
  // of the members that calls of the table change
  mutable std::mutex mutex_;
  std::shared_ptr<std::atomic<int>> live_ = std::make_shared<std::atomic<int>>(0);
  gantry_object* node_ = nullptr;
  std::map<std::string, Body, std::less<>> imports_, globals_;
  std::map<std::uintptr_t, std::uint8_t*> handles_;
  std::uintptr_t next_handle_ = 0x1001;
};

}  // namespace gantry::test
