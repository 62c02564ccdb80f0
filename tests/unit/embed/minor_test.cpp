// SPDX-License-Identifier: Apache-2.0
//
// A plugin of ABI 1.0 that refuses every number which is not one of 1.0: flags, kinds and codes. The
// numbers are literals, because those of the headers grow.
#include "tests/support/artifact.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/embed/embedded.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gantry/embed/runtime.hpp>
#include <gantry/handle.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_ok;
using test::Words;
using ::testing::IsEmpty;

struct Received {
  const gantry_host* host = nullptr;
  // "copy: flags 2"
  std::vector<std::string> above;
  // number of calls by function
  std::map<std::string, int> calls;

  gantry_code refuse(std::string text, gantry_status* status) {
    above.push_back(text);
    return gantry_fail(status, GANTRY_UNSUPPORTED, "FLAGS", text.c_str());
  }
  gantry_code flags(const char* function, std::uint32_t flags, std::uint32_t known,
                    gantry_status* status) {
    ++calls[function];
    if ((flags & ~known) == 0) return GANTRY_OK;
    return refuse(concat(function, ": flags ", flags), status);
  }
  gantry_code number(const char* function, std::int64_t number, std::int64_t max,
                     gantry_status* status) {
    ++calls[function];
    if (number >= 0 && number <= max) return GANTRY_OK;
    return refuse(concat(function, ": ", number), status);
  }
};
Received received;

// ---- the loader, its modules and their function

gantry_code call(void*, const gantry_env* env, const gantry_value* args, std::int32_t count,
                 gantry_value*, gantry_status* status) {
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t kind = args[i].kind;
    const bool is_known = (kind >= 0 && kind <= 12) || (kind >= 64 && kind <= 73);
    if (!is_known) return received.refuse(concat("call: kind ", kind), status);
  }
  ++received.calls["call"];
  if (env->streams != nullptr && env->streams->count > 1)
    return received.refuse("call: streams", status);
  gantry_object* found = nullptr;
  const gantry_host* const host = received.host;
  const gantry_code code =
      host->find(host, nullptr, 4, gantry_text("no such function"), &found, nullptr);
  return code > 0 && code <= 9 ? gantry_code{GANTRY_OK}
                               : received.refuse(concat("find returns ", code), status);
}
constexpr gantry_function_table function_table{sizeof(gantry_function_table), 0, nullptr, call};

const gantry_module_table module_table = [] {
  gantry_module_table table{};
  table.struct_size = sizeof table;
  table.type_name = "test.minor";
  table.destroy = [](void*) {};
  table.get_function = [](void* self, gantry_bytes, gantry_function* out, gantry_status*) {
    *out = {self, &function_table};
    return gantry_code{GANTRY_OK};
  };
  return table;
}();

gantry_code load_binary(void*, const gantry_blob* blob, gantry_object* node, gantry_module* out,
                        std::uint64_t* consumed, gantry_status* status) {
  if (const gantry_code code = received.flags("load_binary", blob->flags, 1, status)) return code;
  if (blob->argument_tags > 2 || blob->numbering > 3)
    return received.refuse("load_binary: facts", status);
  if (node == nullptr) return received.refuse("load_binary: no node", status);
  *out = {&received, &module_table};
  *consumed = 8 + 5;
  return GANTRY_OK;
}
constexpr gantry_loader_table loader{
    sizeof(gantry_loader_table), 0, "test.minor", "minor", load_binary, nullptr};
constexpr const gantry_loader_table* loaders[] = {&loader};

// ---- the device, in memory of the host

gantry_code attribute(void*, std::int32_t, std::int32_t kind, gantry_value*,
                      gantry_status* status) {
  const bool is_known =
      (kind >= 0 && kind <= 16) || (kind >= 1000 && kind <= 1004) || (kind >= 1010 && kind <= 1014);
  ++received.calls["attribute"];
  if (!is_known) return received.refuse(concat("attribute: ", kind), status);
  return gantry_fail(status, GANTRY_NOT_FOUND, "ATTRIBUTE", "none");
}

const gantry_device_table device_table = [] {
  gantry_device_table t{};
  t.struct_size = sizeof t;
  t.flags = 1;
  t.name = "minor";
  t.count = [](void*, std::int32_t* count, gantry_status*) {
    *count = 2;
    return gantry_code{GANTRY_OK};
  };
  t.attribute = attribute;
  t.alloc = [](void*, std::int32_t, const gantry_alloc* what, void** data, gantry_status* status) {
    const gantry_code code = received.flags("alloc", what->flags, 1, status);
    if (code == GANTRY_OK) *data = std::malloc(what->size + 1);
    return code;
  };
  t.free = [](void*, std::int32_t, void* data) { std::free(data); };
  t.copy = [](void*, std::int32_t, const gantry_copy* what, void*, gantry_status* status) {
    const gantry_code code = received.flags("copy", what->flags, 1, status);
    if (code != GANTRY_OK) return code;
    std::memcpy(static_cast<char*>(what->to.data) + what->to.byte_offset,
                static_cast<const char*>(what->from.data) + what->from.byte_offset, what->size);
    return code;
  };
  t.synchronize = [](void*, std::int32_t, void*, gantry_status*) { return gantry_code{GANTRY_OK}; };
  t.stream_create = [](void* self, std::int32_t, std::uint32_t flags, void** stream,
                       gantry_status* status) {
    *stream = self;
    return received.flags("stream_create", flags, 0, status);
  };
  t.stream_destroy = [](void*, std::int32_t, void*) {};
  t.event_create = [](void* self, std::int32_t, std::uint32_t flags, void** event,
                      gantry_status* status) {
    *event = self;
    return received.flags("event_create", flags, 1, status);
  };
  t.event_destroy = [](void*, std::int32_t, void*) {};
  t.event_record = [](void*, std::int32_t, void*, void*, gantry_status*) {
    return gantry_code{GANTRY_OK};
  };
  t.event_wait = t.event_record;
  t.memory_import = [](void*, std::int32_t, const gantry_external* what, void** data,
                       gantry_status* status) {
    *data = what->handle;
    return received.number("memory_import", what->kind, 4, status);
  };
  t.native_get = [](void*, std::int32_t, std::int32_t kind, void* object, void** handle,
                    gantry_status* status) {
    *handle = object;
    return received.number("native_get", kind, 3, status);
  };
  return t;
}();
constexpr const gantry_device_table* devices[] = {&device_table};

const gantry_plugin_table* query(const gantry_host_info*, gantry_status*) {
  static const gantry_plugin_table table = [] {
    gantry_plugin_table t{};
    t.struct_size = sizeof t;
    t.abi = {1, 0, 0, 0};
    t.id = "test.minor";
    t.version = "1.0.0";
    t.loaders = loaders;
    t.loader_count = 1;
    t.devices = devices;
    t.device_count = 1;
    t.create = [](const gantry_host* host, void** self, gantry_status*) {
      received.host = host;
      *self = &received;
      return gantry_code{GANTRY_OK};
    };
    t.destroy = [](void*) {};
    return t;
  }();
  return &table;
}

class FirstMinor : public test::Embedded {
 protected:
  FirstMinor() {
    received = {};
    expect_ok(done(
        [&](gantry_status* status) { return embed().plugin_add(runtime.get(), query, status); }));
  }
  ObjectRef loaded() {
    const Words container = test::layout_one(1, Words().str("test.minor").str("hello"), {0, 0}, {});
    const auto path = directory / "minor.so";
    test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return test::load(runtime, path.string()).value();
  }

  test::TempDir directory;
};

TEST_F(FirstMinor, ReceivesOnlyItsNumbers) {
  const Runtime own(runtime);
  const ObjectRef module = loaded();

  const Tensor first = own.tensor({4}, dtypes::float32, "minor").value();
  const Tensor second = own.tensor({4}, dtypes::float32, "minor:1").value();
  const Tensor here = own.tensor({4}, dtypes::float32).value();
  expect_ok(own.copy(here, first));
  expect_ok(own.copy(first, second));
  expect_ok(own.copy(second, here));
  const Stream stream = own.stream(first.device()).value();
  expect_ok(own.synchronize(first.device(), stream));
  std::atomic<bool> is_notified{false};
  expect_ok(stream.notify([&] { is_notified = true; }));
  while (!is_notified) std::this_thread::yield();
  EXPECT_TRUE(stream.native().ok());
  EXPECT_TRUE(first.native().ok());
  EXPECT_FALSE(own.devices().value().devices.empty());
  const Host table(embed().host(runtime.get()));
  const ObjectRef function =
      table.find(module.get(), GANTRY_FIND_SELF | GANTRY_FIND_IMPORTS, "call").value();
  const Value text = table.text("a text that is long").value();
  const Value brief = table.text("short").value();
  const gantry_value args[] = {int_value(1),
                               bool_value(true),
                               float_value(1),
                               {},
                               text.get(),
                               brief.get(),
                               tensor_ref_value(first.dlpack())};
  expect_ok(done([&](gantry_status* status) {
    gantry_value result{};
    return embed().call(function.get(), nullptr, args, 7, &result, status);
  }));

  EXPECT_THAT(received.above, IsEmpty());
  for (const char* const name : {"load_binary", "call", "attribute", "alloc", "copy",
                                 "stream_create", "event_create", "native_get"})
    EXPECT_GT(received.calls[name], 0) << name;
}

// The check itself: the host passes on what a program invents.
TEST_F(FirstMinor, RefusesNumbersAboveIt) {
  const Runtime own(runtime);
  const Tensor first = own.tensor({4}, dtypes::float32, "minor").value();
  const gantry_device table = own.device_table(first.device()).value();
  void* made = nullptr;
  StatusBuffer status;

  const gantry_code event = table.table->event_create(table.self, 0, 2, &made, status.get());
  const gantry_code stream = table.table->stream_create(table.self, 0, 1, &made, status.get());

  EXPECT_EQ(event, GANTRY_UNSUPPORTED);
  EXPECT_EQ(stream, GANTRY_UNSUPPORTED);
  EXPECT_THAT(received.above,
              ::testing::ElementsAre("event_create: flags 2", "stream_create: flags 1"));
}

}  // namespace
}  // namespace gantry
