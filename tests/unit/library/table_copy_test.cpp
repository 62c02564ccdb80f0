// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/table_copy.hpp"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace gantry {
namespace {

gantry_code create(const gantry_host*, void**, gantry_status*) { return GANTRY_OK; }
void destroy(void*) {}
gantry_code get_function(void*, gantry_bytes, gantry_function*, gantry_status*) {
  return GANTRY_NOT_FOUND;
}
gantry_code call(void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                 gantry_status*) {
  return GANTRY_OK;
}
gantry_code load_binary(void*, const gantry_blob*, gantry_object*, gantry_module*, std::uint64_t*,
                        gantry_status*) {
  return GANTRY_OK;
}
gantry_code count(void*, std::int32_t*, gantry_status*) { return GANTRY_OK; }
gantry_code alloc(void*, std::int32_t, const gantry_alloc*, void**, gantry_status*) {
  return GANTRY_OK;
}
void release(void*, std::int32_t, void*) {}
gantry_code copy(void*, std::int32_t, const gantry_copy*, void*, gantry_status*) {
  return GANTRY_OK;
}
gantry_code stream_create(void*, std::int32_t, std::uint32_t, void**, gantry_status*) {
  return GANTRY_OK;
}
gantry_code synchronize(void*, std::int32_t, void*, gantry_status*) { return GANTRY_UNAVAILABLE; }

// The minimum that the ABI requires; other members are zero.
gantry_plugin_table plugin_table() {
  gantry_plugin_table t{};
  t.struct_size = sizeof t;
  t.id = "acme.npu";
  t.version = "1.0.0";
  t.create = create;
  t.destroy = destroy;
  return t;
}
gantry_loader_table loader_table() {
  gantry_loader_table t{};
  t.struct_size = sizeof t;
  t.type_key = "acme";
  t.load_binary = load_binary;
  return t;
}
gantry_module_table module_table() {
  gantry_module_table t{};
  t.struct_size = sizeof t;
  t.type_name = "acme";
  t.destroy = destroy;
  t.get_function = get_function;
  return t;
}
gantry_function_table function_table() {
  gantry_function_table t{};
  t.struct_size = sizeof t;
  t.call = call;
  return t;
}
gantry_device_table device_table() {
  gantry_device_table t{};
  t.struct_size = sizeof t;
  t.name = "acme";
  t.count = count;
  t.alloc = alloc;
  t.free = release;
  t.copy = copy;
  return t;
}

template <class Table>
Error refusal(const Table& table) {
  const Result<Table> copied = copy_table(&table, "plugin acme.npu");
  return copied.ok() ? Error{} : copied.error();
}

struct Report {
  char text[128] = "";
  gantry_status status{sizeof(gantry_status), GANTRY_OK, text, sizeof text, 0, nullptr};
};

TEST(TableCopy, HasTheSizesOfAbiOneZero) {
  EXPECT_EQ(kMinTableSize<gantry_plugin_table>, sizeof(gantry_plugin_table));
  EXPECT_EQ(kMinTableSize<gantry_loader_table>, sizeof(gantry_loader_table));
  EXPECT_EQ(kMinTableSize<gantry_module_table>, sizeof(gantry_module_table));
  EXPECT_EQ(kMinTableSize<gantry_function_table>, sizeof(gantry_function_table));
  EXPECT_EQ(kMinTableSize<gantry_device_table>, sizeof(gantry_device_table));
  EXPECT_EQ(kMinTableSize<gantry_globals>, sizeof(gantry_globals));
  EXPECT_EQ(kMinTableSize<gantry_generator>, offsetof(gantry_generator, check));
  EXPECT_EQ(kMinTableSize<gantry_function_info>, sizeof(gantry_function_info));
}

// A plugin of an SDK in which the table ended before `check`.
TEST(TableCopy, OfAGeneratorWithoutCheckHasOneThatSucceeds) {
  gantry_generator mine{};
  mine.struct_size = offsetof(gantry_generator, check);
  mine.build = [](void*, const gantry_build*, const gantry_sink*, gantry_status*) -> gantry_code {
    return GANTRY_OK;
  };
  mine.check = [](void*, const gantry_build*, gantry_status*) -> gantry_code {
    return GANTRY_UNAVAILABLE;
  };

  const gantry_generator table = copy_table(&mine, "plugin acme.npu").value();

  EXPECT_EQ(table.build, mine.build);
  EXPECT_EQ(table.check(nullptr, nullptr, nullptr), GANTRY_OK);
}

TEST(TableCopy, KeepsWhatThePluginOffers) {
  gantry_device_table mine = device_table();
  mine.synchronize = synchronize;
  mine.type = 4;

  const Result<gantry_device_table> table = copy_table(&mine, "plugin acme.npu");

  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->type, 4);
  EXPECT_EQ(table->copy, copy);
  EXPECT_EQ(table->synchronize, synchronize);
  EXPECT_EQ(table->struct_size, sizeof(gantry_device_table));
}

TEST(TableCopy, StubsOfAbsentFunctionsReturnUnsupportedAndNameThem) {
  const gantry_device_table mine = device_table();
  const gantry_device_table table = copy_table(&mine, "plugin acme.npu").value();
  Report report;
  std::int64_t ns = 7;

  const gantry_code code = table.event_elapsed(nullptr, 0, nullptr, nullptr, &ns, &report.status);

  EXPECT_EQ(code, GANTRY_UNSUPPORTED);
  EXPECT_EQ(report.status.code, GANTRY_UNSUPPORTED);
  EXPECT_STREQ(report.status.reason, "FUNCTION_ABSENT");
  EXPECT_STREQ(report.text, "gantry.device/1.event_elapsed is not offered by this plugin");
  EXPECT_EQ(ns, 7);
  EXPECT_EQ(table.event_elapsed(nullptr, 0, nullptr, nullptr, &ns, nullptr), GANTRY_UNSUPPORTED);
}

TEST(TableCopy, EveryFunctionOfADeviceCanBeCalled) {
  const gantry_device_table mine = device_table();
  const gantry_device_table t = copy_table(&mine, "plugin acme.npu").value();
  void* p = nullptr;
  gantry_value value{};

  EXPECT_EQ(t.attribute(nullptr, 0, 0, &value, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(t.stream_create(nullptr, 0, 0, &p, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(t.event_create(nullptr, 0, 0, &p, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(t.event_record(nullptr, 0, nullptr, nullptr, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(t.event_wait(nullptr, 0, nullptr, nullptr, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(t.capture_begin(nullptr, 0, nullptr, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(t.capture_end(nullptr, 0, nullptr, &p, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(t.capture_launch(nullptr, 0, nullptr, nullptr, nullptr), GANTRY_UNSUPPORTED);
  t.stream_destroy(nullptr, 0, nullptr);
  t.event_destroy(nullptr, 0, nullptr);
  t.capture_destroy(nullptr, 0, nullptr);
}

TEST(TableCopy, ADeviceWithoutStreamsIsAlwaysSynchronous) {
  const gantry_device_table mine = device_table();
  const gantry_device_table table = copy_table(&mine, "plugin acme.npu").value();

  EXPECT_EQ(table.synchronize(nullptr, 0, nullptr, nullptr), GANTRY_OK);
}

TEST(TableCopy, SetsTheOptionalFunctionsOfTheOtherTables) {
  const gantry_plugin_table mine = plugin_table();
  const gantry_loader_table my_loader = loader_table();
  const gantry_module_table my_module = module_table();
  const gantry_function_table my_function = function_table();
  Report report;
  std::int32_t verdict = 0;

  const gantry_plugin_table plugin = copy_table(&mine, "p").value();
  EXPECT_EQ(plugin.get_extension(nullptr, "gantry.codegen/1"), nullptr);
  EXPECT_STREQ(plugin.vendor, "");
  EXPECT_STREQ(plugin.display_name, "");
  EXPECT_STREQ(plugin.license, "");
  const gantry_loader_table loader = copy_table(&my_loader, "p").value();
  EXPECT_EQ(loader.check_binary(nullptr, nullptr, 0, &verdict, &report.status), GANTRY_UNSUPPORTED);
  EXPECT_STREQ(report.text, "gantry.loader/1.check_binary is not offered by this plugin");
  const gantry_module_table module = copy_table(&my_module, "p").value();
  EXPECT_EQ(module.list_functions(nullptr, nullptr, &report.status), GANTRY_UNSUPPORTED);
  EXPECT_STREQ(report.text, "gantry.module/1.list_functions is not offered by this plugin");
  EXPECT_EQ(module.save_binary(nullptr, nullptr, &report.status), GANTRY_UNSUPPORTED);
  EXPECT_STREQ(report.text, "gantry.module/1.save_binary is not offered by this plugin");
  copy_table(&my_function, "p").value().destroy(nullptr);
}

// Members that a newer plugin appends are ignored, and so are bytes beyond its size.
TEST(TableCopy, AcceptsALongerTableAndIgnoresItsTail) {
  struct Longer {
    gantry_function_table table;
    void* later;
  } mine{function_table(), reinterpret_cast<void*>(1)};
  mine.table.struct_size = sizeof mine;

  const Result<gantry_function_table> table = copy_table(&mine.table, "p");

  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->struct_size, sizeof(gantry_function_table));
}

TEST(TableCopy, RefusesASizeUnderAbiOneZeroOrBeyondAnyTable) {
  for (const std::uint32_t size : {std::uint32_t{0}, std::uint32_t{224}, std::uint32_t{231}}) {
    gantry_device_table table = device_table();
    table.struct_size = size;
    const Error error = refusal(table);
    EXPECT_EQ(error.code, Code::malformed);
    EXPECT_EQ(error.reason, "STRUCT_SIZE");
    EXPECT_EQ(error.message, concat("plugin acme.npu: gantry_device_table has struct_size ", size,
                                    ", minimum is 232 (ABI 1.0)"));
  }
  gantry_device_table table = device_table();
  table.struct_size = 0x80000000u;
  EXPECT_EQ(refusal(table).message,
            "plugin acme.npu: gantry_device_table has struct_size 2147483648, maximum is 65536");
  table.struct_size = 65537;
  EXPECT_EQ(refusal(table).reason, "STRUCT_SIZE");
  for (const std::uint32_t size : {232u, 65536u}) {
    table.struct_size = size;
    EXPECT_TRUE(copy_table(&table, "plugin acme.npu").ok()) << size;
  }
}

TEST(TableCopy, RejectsANullTableAndAMisalignedTable) {
  EXPECT_EQ(copy_table(static_cast<const gantry_module_table*>(nullptr), "p").error().message,
            "p: gantry_module_table is empty");
  alignas(8) char bytes[sizeof(gantry_module_table) + 8] = {};
  const auto* odd = reinterpret_cast<const gantry_module_table*>(bytes + 4);
  const Error error = copy_table(odd, "p").error();
  EXPECT_EQ(error.reason, "STRUCT_SIZE");
  EXPECT_THAT(error.message, testing::EndsWith(", not a multiple of 8"));
}

TEST(TableCopy, RejectsEveryRequiredFunctionThatIsAbsent) {
  const auto expect = [](auto table, auto member, std::string_view name) {
    table.*member = nullptr;
    const Error error = refusal(table);
    EXPECT_EQ(error.code, Code::malformed) << name;
    EXPECT_EQ(error.reason, "FUNCTION_MISSING") << name;
    EXPECT_EQ(error.message, concat("plugin acme.npu: ", name, " is empty"));
  };
  expect(plugin_table(), &gantry_plugin_table::id, "gantry.plugin/1.id");
  expect(plugin_table(), &gantry_plugin_table::version, "gantry.plugin/1.version");
  expect(plugin_table(), &gantry_plugin_table::create, "gantry.plugin/1.create");
  expect(plugin_table(), &gantry_plugin_table::destroy, "gantry.plugin/1.destroy");
  expect(loader_table(), &gantry_loader_table::type_key, "gantry.loader/1.type_key");
  expect(loader_table(), &gantry_loader_table::load_binary, "gantry.loader/1.load_binary");
  expect(module_table(), &gantry_module_table::type_name, "gantry.module/1.type_name");
  expect(module_table(), &gantry_module_table::destroy, "gantry.module/1.destroy");
  expect(module_table(), &gantry_module_table::get_function, "gantry.module/1.get_function");
  expect(function_table(), &gantry_function_table::call, "gantry.function/1.call");
  expect(device_table(), &gantry_device_table::name, "gantry.device/1.name");
  expect(device_table(), &gantry_device_table::count, "gantry.device/1.count");
  expect(device_table(), &gantry_device_table::alloc, "gantry.device/1.alloc");
  expect(device_table(), &gantry_device_table::free, "gantry.device/1.free");
  expect(device_table(), &gantry_device_table::copy, "gantry.device/1.copy");
}

TEST(TableCopy, RejectsStreamsWithoutSynchronize) {
  gantry_device_table table = device_table();
  table.stream_create = stream_create;
  table.stream_destroy = release;

  EXPECT_EQ(refusal(table).message,
            "plugin acme.npu: gantry.device/1.synchronize is empty, which is required with "
            "gantry.device/1.stream_create");
  table.synchronize = synchronize;
  table.stream_destroy = nullptr;
  EXPECT_EQ(refusal(table).message,
            "plugin acme.npu: gantry.device/1.stream_destroy is empty, which is required with "
            "gantry.device/1.stream_create");
}

// A device that has one function of a group has those without which it is of no use.
TEST(TableCopy, RejectsEventsAndGraphsWithoutTheirFunctions) {
  const auto rejects = [](gantry_device_table table, std::string_view absent,
                          std::string_view owner) {
    EXPECT_EQ(refusal(table).message,
              concat("plugin acme.npu: gantry.device/1.", absent,
                     " is empty, which is required with gantry.device/1.", owner));
  };
  gantry_device_table table = device_table();
  table.event_create = [](void*, std::int32_t, std::uint32_t, void**, gantry_status*) {
    return gantry_code{GANTRY_OK};
  };
  table.event_destroy = release;
  rejects(table, "event_record", "event_create");
  table.event_record = [](void*, std::int32_t, void*, void*, gantry_status*) {
    return gantry_code{GANTRY_OK};
  };
  rejects(table, "event_wait", "event_create");
  table.event_wait = table.event_record;
  // Without a clock.
  EXPECT_TRUE(copy_table(&table, "p").ok());
  table.capture_begin = [](void*, std::int32_t, void*, gantry_status*) {
    return gantry_code{GANTRY_OK};
  };
  rejects(table, "capture_end", "capture_begin");
}

TEST(TableCopies, ReturnsOneCopyForOneAddress) {
  const gantry_function_table a = function_table(), b = function_table();
  TableCopies<gantry_function_table> copies;

  const gantry_function_table* first = copies.get(&a, "p").value();

  EXPECT_EQ(copies.get(&a, "p").value(), first);
  EXPECT_NE(copies.get(&b, "p").value(), first);
  EXPECT_FALSE(copies.get(nullptr, "p").ok());
}

TEST(TableCopies, ReturnsTheSameCopyToAllThreads) {
  const gantry_function_table mine = function_table();
  TableCopies<gantry_function_table> copies;
  std::vector<const gantry_function_table*> seen(8);
  std::vector<std::thread> threads;

  for (auto& location : seen) {
    threads.emplace_back([&] { location = copies.get(&mine, "p").value(); });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(seen, testing::Each(seen[0]));
}

}  // namespace
}  // namespace gantry
