// SPDX-License-Identifier: Apache-2.0
#include <gantry/device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cxx/fake_host_table.hpp"

#include <string>
#include <vector>

namespace gantry {
namespace {

using test::FakeHostTable;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Gadget;

struct GadgetPlugin {
  gantry::Host host;
  std::vector<std::string> calls;
  Status destroyed;
};

// An object for one call, with every function.
struct Gadget {
  static constexpr DeviceIdentity identity{
      .name = "gadget", .type = 12, .flags = GANTRY_DEVICE_OPAQUE_DATA};
  static std::int32_t count(GadgetPlugin&) { return 2; }
  static Result<Gadget> at(GadgetPlugin& plugin, std::int32_t index) {
    if (index < 0 || index > 1) return no_such_device("gadget", index, 2);
    return Gadget{plugin};
  }
  Result<Attribute> attribute(std::int32_t kind) const {
    if (kind == GANTRY_ATTRIBUTE_WARP_SIZE) return Attribute(32u);
    if (kind == GANTRY_ATTRIBUTE_DEVICE_NAME) return Attribute("Gadget One");
    if (kind == GANTRY_ATTRIBUTE_DRIVER_VERSION) return unavailable("no driver");
    return Attribute();
  }

  Result<void*> alloc(const gantry_alloc& what) { return noted("alloc", what.size); }
  void free(void*) { plugin.calls.push_back("free"); }
  Status copy(const gantry_copy&, int* stream) { return used("copy", stream); }
  Status fill(const DeviceFill& what, int*) {
    noted("fill", what.size + what.byte_offset);
    return {};
  }
  Status free_in_stream(void*, int* stream) { return used("free_in_stream", stream); }
  Result<void*> host_address(void* data) { return data; }
  Result<void*> memory_import(const gantry_external& what) { return noted("import", what.size); }
  void trim() { plugin.calls.push_back("trim"); }
  Status synchronize(int* stream) { return used("synchronize", stream); }
  Result<int*> stream_create() { return new int(1); }
  Status stream_destroy(int* stream) {
    delete stream;
    return plugin.destroyed;
  }
  Result<std::unique_ptr<int>> event_create() { return std::make_unique<int>(2); }
  void event_destroy(int* event) { delete event; }
  Status event_record(int* event, int* stream) {
    GANTRY_CHECK(used("event_record", event));
    return used("stream", stream);
  }
  Status event_wait(int* event, int*) { return used("event_wait", event); }
  Result<std::int64_t> event_elapsed(int* start, int* stop) { return *stop - *start; }
  Result<bool> event_reached(int* event, std::int64_t timeout_ns) {
    GANTRY_CHECK(used("event_reached", event));
    return timeout_ns > 0;
  }
  Status stream_notify(int* stream, void (*notify)(void*), void* argument) {
    notify(argument);
    return used("stream_notify", stream);
  }
  Result<int*> stream_import(void* handle) { return static_cast<int*>(handle); }
  Result<void*> native_get(std::int32_t kind, void* object) {
    if (kind != GANTRY_NATIVE_MEMORY) return no_native_handle("gadget", kind);
    return object;
  }
  Status capture_begin(int* stream) { return used("capture_begin", stream); }
  Result<std::unique_ptr<int>> capture_end(int*) { return std::make_unique<int>(3); }
  Status capture_launch(int* graph, int*) { return used("capture_launch", graph); }
  void capture_destroy(int* graph) { delete graph; }

  void* noted(std::string_view function, std::uint64_t number) {
    plugin.calls.push_back(concat(function, ' ', number));
    return &plugin;
  }
  Status used(std::string_view function, const int* handle) {
    noted(function, static_cast<std::uint64_t>(handle != nullptr ? *handle : 0));
    return {};
  }

  GadgetPlugin& plugin;
};

// Only the required functions, and one object for all calls.
struct Plain {
  static constexpr DeviceIdentity identity{.name = "plain"};
  static Result<std::int32_t> count(GadgetPlugin&) { return unavailable("no driver"); }
  static Result<Plain*> at(GadgetPlugin& plugin, std::int32_t index) {
    GANTRY_CHECK(count(plugin));
    return no_such_device("plain", index, 0);
  }
  Result<void*> alloc(const gantry_alloc&) { return nullptr; }
  void free(void*) {}
  Status copy(const gantry_copy&, void*) { return {}; }
};

// Events with flags and without a clock.
struct Clockless : Plain {
  static constexpr DeviceIdentity identity{.name = "clockless"};
  static Result<Clockless> at(GadgetPlugin& plugin, std::int32_t) { return Clockless{{}, plugin}; }
  Result<void*> event_create(std::uint32_t flags) {
    plugin.calls.push_back(concat("event_create ", flags));
    return &plugin;
  }
  void event_destroy(void*) {}
  Status event_record(void*, void*) { return {}; }
  Status event_wait(void*, void*) { return {}; }

  GadgetPlugin& plugin;
};

// Its device stops in a copy.
struct Fragile : Plain {
  static constexpr DeviceIdentity identity{.name = "fragile"};
  static Result<std::int32_t> count(GadgetPlugin&) { return 1; }
  static Result<Fragile*> at(GadgetPlugin& plugin, std::int32_t);
  Result<void*> alloc(const gantry_alloc&) {
    plugin.calls.push_back("alloc");
    return &plugin;
  }
  void free(void*) { plugin.calls.push_back("free"); }
  Status copy(const gantry_copy&, void*) {
    plugin.calls.push_back("copy");
    return lost("the device has stopped");
  }

  GadgetPlugin& plugin;
  DeviceLoss loss;
};
Fragile* fragile = nullptr;
Result<Fragile*> Fragile::at(GadgetPlugin&, std::int32_t) { return fragile; }

class DeviceLayer : public ::testing::Test {
 protected:
  ~DeviceLayer() override { EXPECT_EQ(host_.alive, 0); }
  Error failed(gantry_code code, gantry_code expected) {
    EXPECT_EQ(code, expected);
    return status_.error(code, "test");
  }

  FakeHostTable host_;
  GadgetPlugin plugin_{Host(&host_), {}, {}};
  const gantry_device_table& table_ = device_table<GadgetPlugin, Gadget>;
  const gantry_device_table& plain_ = device_table<GadgetPlugin, Plain>;
  StatusBuffer status_;
};

TEST_F(DeviceLayer, MakesATableOfTheFunctionsThatTheClassHas) {
  EXPECT_EQ(table_.struct_size, sizeof(gantry_device_table));
  EXPECT_STREQ(table_.name, "gadget");
  EXPECT_EQ(table_.type, 12);
  EXPECT_EQ(table_.flags, GANTRY_DEVICE_OPAQUE_DATA);
  EXPECT_NE(table_.attribute, nullptr);
  EXPECT_NE(table_.event_wait, nullptr);
  EXPECT_NE(table_.capture_launch, nullptr);

  EXPECT_NE(plain_.alloc, nullptr);
  EXPECT_EQ(plain_.attribute, nullptr);
  EXPECT_EQ(plain_.synchronize, nullptr);
  EXPECT_EQ(plain_.stream_create, nullptr);
  EXPECT_EQ(plain_.event_create, nullptr);
  EXPECT_EQ(plain_.capture_begin, nullptr);
  EXPECT_EQ(plain_.fill, nullptr);
  EXPECT_EQ(plain_.trim, nullptr);
  EXPECT_EQ(plain_.memory_import, nullptr);
  EXPECT_EQ(plain_.host_address, nullptr);
  EXPECT_EQ(plain_.free_in_stream, nullptr);
  EXPECT_EQ(plain_.event_reached, nullptr);
  EXPECT_EQ(plain_.stream_notify, nullptr);
  EXPECT_EQ(plain_.stream_import, nullptr);
  EXPECT_EQ(plain_.native_get, nullptr);

  const gantry_device_table& clockless = device_table<GadgetPlugin, Clockless>;
  EXPECT_NE(clockless.event_wait, nullptr);
  EXPECT_EQ(clockless.event_elapsed, nullptr);
}

TEST_F(DeviceLayer, PassesTheFlagsOfEvents) {
  const gantry_device_table& clockless = device_table<GadgetPlugin, Clockless>;
  void* event = nullptr;

  EXPECT_EQ(clockless.event_create(&plugin_, 0, GANTRY_EVENT_UNTIMED, &event, nullptr), GANTRY_OK);

  EXPECT_THAT(plugin_.calls, ElementsAre("event_create 1"));
}

TEST_F(DeviceLayer, PassesWhatADeviceHasForItself) {
  int stream = 5, calls = 0;
  std::int32_t reached = 7;
  void *imported = nullptr, *handle = nullptr;

  EXPECT_EQ(table_.event_reached(&plugin_, 0, &stream, 0, &reached, nullptr), GANTRY_OK);
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(table_.event_reached(&plugin_, 0, &stream, 1, &reached, nullptr), GANTRY_OK);
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(
      table_.stream_notify(
          &plugin_, 0, &stream, [](void* self) { ++*static_cast<int*>(self); }, &calls, nullptr),
      GANTRY_OK);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(table_.stream_import(&plugin_, 0, &stream, &imported, nullptr), GANTRY_OK);
  EXPECT_EQ(imported, &stream);
  EXPECT_EQ(table_.native_get(&plugin_, 0, GANTRY_NATIVE_MEMORY, &calls, &handle, nullptr),
            GANTRY_OK);
  EXPECT_EQ(handle, &calls);
  const Error none =
      failed(table_.native_get(&plugin_, 0, GANTRY_NATIVE_CONTEXT, nullptr, &handle, status_.get()),
             GANTRY_UNSUPPORTED);
  EXPECT_EQ(none.reason, "NATIVE_KIND");
  EXPECT_EQ(none.message,
            "native_get of device gadget: kind is 1, which this device does not have");
  EXPECT_THAT(plugin_.calls, ElementsAre("event_reached 5", "event_reached 5", "stream_notify 5"));
}

TEST_F(DeviceLayer, PassesEveryCallToTheDevice) {
  std::int32_t count = 0;
  void *data = nullptr, *stream = nullptr, *event = nullptr, *graph = nullptr;
  std::int64_t ns = 0;
  gantry_alloc what{};
  what.size = 64;
  const gantry_copy blocking{sizeof blocking, GANTRY_COPY_BLOCKING, {}, {}, 0};

  EXPECT_EQ(table_.count(&plugin_, &count, nullptr), GANTRY_OK);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(table_.alloc(&plugin_, 1, &what, &data, nullptr), GANTRY_OK);
  EXPECT_EQ(data, &plugin_);
  EXPECT_EQ(table_.stream_create(&plugin_, 0, 0, &stream, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.event_create(&plugin_, 0, 0, &event, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.copy(&plugin_, 0, &blocking, stream, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.synchronize(&plugin_, 0, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.event_record(&plugin_, 0, event, stream, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.event_wait(&plugin_, 0, event, stream, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.event_elapsed(&plugin_, 0, stream, event, &ns, nullptr), GANTRY_OK);
  EXPECT_EQ(ns, 1);
  EXPECT_EQ(table_.capture_begin(&plugin_, 0, stream, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.capture_end(&plugin_, 0, stream, &graph, nullptr), GANTRY_OK);
  EXPECT_EQ(table_.capture_launch(&plugin_, 0, graph, stream, nullptr), GANTRY_OK);
  void* address = nullptr;
  EXPECT_EQ(table_.host_address(&plugin_, 0, data, &address, nullptr), GANTRY_OK);
  EXPECT_EQ(address, data);
  table_.free_in_stream(&plugin_, 0, data, stream);
  table_.trim(&plugin_, 0);
  table_.capture_destroy(&plugin_, 0, graph);
  table_.event_destroy(&plugin_, 0, event);
  table_.stream_destroy(&plugin_, 0, stream);
  table_.free(&plugin_, 0, data);

  EXPECT_THAT(plugin_.calls, ElementsAre("alloc 64", "copy 1", "synchronize 0", "event_record 2",
                                         "stream 1", "event_wait 2", "capture_begin 1",
                                         "capture_launch 3", "free_in_stream 1", "trim", "free"));
  EXPECT_THAT(host_.logged, IsEmpty());
}

TEST_F(DeviceLayer, RejectsUnknownFlags) {
  void* made = &plugin_;
  const gantry_copy what{sizeof what, GANTRY_COPY_BLOCKING | 0x40u, {}, {}, 0};

  const Error stream =
      failed(table_.stream_create(&plugin_, 0, 1, &made, status_.get()), GANTRY_UNSUPPORTED);
  const Error event =
      failed(table_.event_create(&plugin_, 0, 0x80, &made, status_.get()), GANTRY_UNSUPPORTED);
  const Error copy =
      failed(table_.copy(&plugin_, 0, &what, nullptr, status_.get()), GANTRY_UNSUPPORTED);

  gantry_alloc memory{};
  memory.flags = GANTRY_ALLOC_IN_STREAM | 4;
  const Error alloc =
      failed(table_.alloc(&plugin_, 0, &memory, &made, status_.get()), GANTRY_UNSUPPORTED);

  EXPECT_EQ(alloc.reason, "FLAGS");
  EXPECT_EQ(alloc.message, "alloc of device gadget: flags are 0x5, known are 0x1");
  EXPECT_EQ(stream.reason, "FLAGS");
  EXPECT_EQ(stream.message, "stream_create of device gadget: flags are 0x1, known are 0x0");
  EXPECT_EQ(event.message, "event_create of device gadget: flags are 0x80, known are 0x1");
  EXPECT_EQ(copy.message, "copy of device gadget: flags are 0x41, known are 0x1");
  EXPECT_EQ(made, &plugin_) << "outputs are untouched";
  EXPECT_THAT(plugin_.calls, IsEmpty());
}

TEST_F(DeviceLayer, ChecksPatternsOfFills) {
  const std::uint32_t pattern = 7;
  const auto fill = [&](std::uint64_t offset, std::uint64_t size, std::uint32_t pattern_size) {
    return table_.fill(&plugin_, 0, &plugin_, offset, size, &pattern, pattern_size, nullptr,
                       status_.get());
  };

  EXPECT_EQ(fill(8, 4, 4), GANTRY_OK);
  EXPECT_EQ(fill(1, 3, 1), GANTRY_OK);
  const Error size = failed(fill(0, 3, 3), GANTRY_UNSUPPORTED);
  const Error offset = failed(fill(1, 4, 2), GANTRY_INVALID);

  EXPECT_EQ(size.reason, "PATTERN");
  EXPECT_EQ(size.message, "fill of device gadget: pattern has 3 bytes, expected 1, 2 or 4");
  EXPECT_EQ(offset.reason, "ARGUMENT_RANGE");
  EXPECT_EQ(offset.message,
            "fill of device gadget: 4 bytes from 1 are no multiples of the pattern's 2");
  EXPECT_EQ(failed(fill(0, 3, 2), GANTRY_INVALID).reason, "ARGUMENT_RANGE");
  EXPECT_THAT(plugin_.calls, ElementsAre("fill 12", "fill 4"));
}

TEST_F(DeviceLayer, ImportsMemoryOfKnownKinds) {
  for (const std::int32_t kind : {0, 1, 4, 5}) {
    const gantry_external what{sizeof what, kind, &plugin_, -1, 0, 64};
    void* data = nullptr;
    const gantry_code code = table_.memory_import(&plugin_, 0, &what, &data, status_.get());
    if (kind == 1 || kind == 4) {
      EXPECT_EQ(code, GANTRY_OK);
      EXPECT_EQ(data, &plugin_);
      continue;
    }
    const Error refused = failed(code, GANTRY_UNSUPPORTED);
    EXPECT_EQ(refused.reason, "EXTERNAL_KIND");
    EXPECT_EQ(refused.message,
              concat("device gadget does not import external memory of kind ", kind));
    EXPECT_EQ(data, nullptr);
  }
  EXPECT_THAT(plugin_.calls, ElementsAre("import 64", "import 64"));
}

TEST_F(DeviceLayer, MakesTheLossOfADeviceFinal) {
  const gantry_device_table& table = device_table<GadgetPlugin, Fragile>;
  Fragile device{{}, plugin_, {}};
  fragile = &device;
  const gantry_alloc what{};
  const gantry_copy copied{};
  void* data = nullptr;
  ASSERT_EQ(table.alloc(&plugin_, 0, &what, &data, nullptr), GANTRY_OK);

  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(failed(table.copy(&plugin_, 0, &copied, nullptr, status_.get()), GANTRY_LOST).message,
              "the device has stopped");
    EXPECT_EQ(failed(table.alloc(&plugin_, 0, &what, &data, status_.get()), GANTRY_LOST).message,
              "the device has stopped");
  }
  table.free(&plugin_, 0, data);

  EXPECT_THAT(plugin_.calls, ElementsAre("alloc", "copy", "free"));
}

TEST_F(DeviceLayer, ReturnsAttributesAsValues) {
  gantry_value number{}, text{}, none{};

  EXPECT_EQ(table_.attribute(&plugin_, 0, GANTRY_ATTRIBUTE_WARP_SIZE, &number, nullptr), GANTRY_OK);
  EXPECT_EQ(number.kind, GANTRY_INT);
  EXPECT_EQ(number.i, 32);
  EXPECT_EQ(table_.attribute(&plugin_, 0, GANTRY_ATTRIBUTE_DEVICE_NAME, &text, nullptr), GANTRY_OK);
  EXPECT_EQ(value_text(Value::adopt(text).get()), "Gadget One");
  const Error absent =
      failed(table_.attribute(&plugin_, 1, 999, &none, status_.get()), GANTRY_NOT_FOUND);
  EXPECT_EQ(absent.reason, "ATTRIBUTE");
  EXPECT_EQ(absent.message, "attribute 999 does not apply to device gadget:1");
  EXPECT_EQ(
      failed(table_.attribute(&plugin_, 0, GANTRY_ATTRIBUTE_DRIVER_VERSION, &none, status_.get()),
             GANTRY_UNAVAILABLE)
          .message,
      "no driver");
  EXPECT_EQ(none.kind, GANTRY_NONE);
}

TEST_F(DeviceLayer, ReportsWhetherADeviceExists) {
  const auto exists = [&](std::int32_t index) {
    gantry_value value{};
    EXPECT_EQ(table_.attribute(&plugin_, index, GANTRY_ATTRIBUTE_EXISTS, &value, nullptr),
              GANTRY_OK);
    return value.i;
  };

  EXPECT_EQ(exists(1), 1);
  EXPECT_EQ(exists(2), 0);
  EXPECT_EQ(exists(-1), 0);
}

TEST_F(DeviceLayer, RefusesAnIndexWithoutADevice) {
  void* data = nullptr;
  const gantry_alloc what{};

  const Error error =
      failed(table_.alloc(&plugin_, 2, &what, &data, status_.get()), GANTRY_INVALID);

  EXPECT_EQ(error.reason, "DEVICE_INDEX");
  EXPECT_EQ(error.message, "device gadget:2 not found, device count is 2");
}

TEST_F(DeviceLayer, LogsFailuresOfFunctionsThatReturnNothing) {
  void* stream = nullptr;
  ASSERT_EQ(table_.stream_create(&plugin_, 1, 0, &stream, nullptr), GANTRY_OK);
  plugin_.destroyed = unavailable("the driver is gone");

  table_.stream_destroy(&plugin_, 1, stream);
  plain_.free(&plugin_, 0, nullptr);

  const std::string warning = std::to_string(GANTRY_LOG_WARNING) + ":";
  EXPECT_THAT(host_.logged,
              ElementsAre(warning + "the driver is gone\n  in stream_destroy of device gadget:1",
                          warning + "no driver\n  in free of device plain:0"));
}

}  // namespace
}  // namespace gantry
