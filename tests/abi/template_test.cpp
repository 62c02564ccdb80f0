// SPDX-License-Identifier: Apache-2.0
//
// Tests of a template for vendors, in C or in C++, called through its tables by a small host.
#include <gantry/gantry.h>
#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/payload_blob.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/cxx/fake_host_table.hpp"

namespace gantry {
namespace {

using test::FakeHostTable;
using test::Words;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

class TemplateTest : public ::testing::Test {
 protected:
  TemplateTest() {
    plugin = gantry_plugin_query_v1(&info, status.get());
    EXPECT_NE(plugin, nullptr);
    EXPECT_EQ(plugin->create(&host, &self, nullptr), GANTRY_OK);
    EXPECT_EQ(host.text_new(&host, GANTRY_STRING, {"pin", 3}, &pin, nullptr), GANTRY_OK);
  }
  ~TemplateTest() override {
    if (module.self) module.table->destroy(module.self);
    plugin->destroy(self);
    gantry_release(pin.object);
    EXPECT_EQ(host.alive, 0) << "objects still alive";
  }

  gantry_code load(const Words& payload, std::uint32_t flags = GANTRY_BLOB_EXACT) {
    const gantry_blob blob =
        test::payload_blob(payload.bytes(), 3, (flags & GANTRY_BLOB_EXACT) != 0, pin.object);
    return plugin->loaders[0]->load_binary(self, &blob, nullptr, &module, &consumed, status.get());
  }
  gantry_function function(const char* name) {
    gantry_function found{};
    EXPECT_EQ(module.table->get_function(module.self, gantry_text(name), &found, nullptr),
              GANTRY_OK);
    return found;
  }
  Value call(const char* name, const std::vector<gantry_value>& args) {
    const gantry_function f = function(name);
    const gantry_env env{};
    gantry_value result{};
    const gantry_code code = f.table->call(
        f.self, &env, args.data(), static_cast<std::int32_t>(args.size()), &result, status.get());
    EXPECT_EQ(code, GANTRY_OK);
    return Value::adopt(result);
  }

  FakeHostTable host;
  StatusBuffer status;
  gantry_host_info info = {
      sizeof(gantry_host_info), 0, {GANTRY_ABI_MAJOR, 0, GANTRY_ABI_MINOR, 0}, "1.0.0"};
  const gantry_plugin_table* plugin;
  void* self = nullptr;
  gantry_value pin{};
  gantry_module module{};
  std::uint64_t consumed = 0;
  const Words hello = Words().str("hello");
};

TEST_F(TemplateTest, LoadsAPayloadAndLeavesNoObject) {
  ASSERT_EQ(load(hello), GANTRY_OK);

  EXPECT_EQ(consumed, 13u);
  EXPECT_EQ(pin.object->counts & UINT32_MAX, 2u);
  const Value note = call("note", {});
  EXPECT_EQ(value_text(note.get()), "hello");
}

TEST_F(TemplateTest, ReportsTheEndOfAnInexactPayload) {
  ASSERT_EQ(load(Words(hello).text("the next entry"), 0), GANTRY_OK);
  EXPECT_EQ(consumed, 13u);
}

TEST_F(TemplateTest, EchoesEveryKindOfValue) {
  ASSERT_EQ(load(hello), GANTRY_OK);
  gantry_value cstring{};
  cstring.kind = GANTRY_CSTRING;
  cstring.cstring = "abc";
  const Value object = Value::adopt(call("note", {}).take());

  EXPECT_EQ(call("echo", {int_value(7)}).get().i, 7);
  EXPECT_EQ(call("echo", {object.get()}).object(), object.object());
  const Value copied = call("echo", {cstring});
  EXPECT_EQ(copied.kind(), GANTRY_STRING);
  EXPECT_EQ(value_text(copied.get()), "abc");
}

TEST_F(TemplateTest, ReturnsCanonicalValues) {
  ASSERT_EQ(load(hello), GANTRY_OK);
  gantry_value cstring{};
  cstring.kind = GANTRY_CSTRING;
  cstring.cstring = "abc";

  EXPECT_EQ(gantry_value_is_canonical(&call("note", {}).get()), 1);
  EXPECT_EQ(gantry_value_is_canonical(&call("echo", {int_value(7)}).get()), 1);
  EXPECT_EQ(gantry_value_is_canonical(&call("echo", {cstring}).get()), 1);
}

TEST_F(TemplateTest, RefusesInvalidArguments) {
  ASSERT_EQ(load(hello), GANTRY_OK);
  gantry_tensor tensor{};
  const gantry_value reference = tensor_ref_value(&tensor);
  const gantry_env env{};
  gantry_value result{};
  const gantry_function echo = function("echo");
  const gantry_function note = function("note");

  EXPECT_EQ(echo.table->call(echo.self, &env, nullptr, 0, &result, nullptr), GANTRY_INVALID);
  EXPECT_EQ(echo.table->call(echo.self, &env, &reference, 1, &result, nullptr), GANTRY_INVALID);
  EXPECT_EQ(note.table->call(note.self, &env, &reference, 1, &result, nullptr), GANTRY_INVALID);
  EXPECT_EQ(result.kind, GANTRY_NONE);
}

TEST_F(TemplateTest, ListsItsFunctionsAndFindsNoOther) {
  ASSERT_EQ(load(hello), GANTRY_OK);
  std::vector<std::string> names;
  gantry_visitor visitor{};
  visitor.struct_size = sizeof visitor;
  visitor.self = &names;
  visitor.visit = [](void* all, const gantry_function_info* one, gantry_status*) {
    static_cast<std::vector<std::string>*>(all)->emplace_back(one->name.data, one->name.size);
    return gantry_code{GANTRY_OK};
  };
  gantry_function none{};

  EXPECT_EQ(module.table->list_functions(module.self, &visitor, nullptr), GANTRY_OK);
  EXPECT_THAT(names, ElementsAre("echo", "note"));
  EXPECT_EQ(module.table->get_function(module.self, gantry_text("walk"), &none, nullptr),
            GANTRY_NOT_FOUND);
  EXPECT_EQ(none.table, nullptr);
}

TEST_F(TemplateTest, SavesThePayloadUnchanged) {
  ASSERT_EQ(load(hello), GANTRY_OK);
  std::string saved;
  gantry_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &saved;
  sink.write = [](void* to, const void* data, std::uint64_t size, gantry_status*) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
    return gantry_code{GANTRY_OK};
  };

  EXPECT_EQ(module.table->save_binary(module.self, &sink, nullptr), GANTRY_OK);
  EXPECT_EQ(saved, std::string("\5\0\0\0\0\0\0\0hello", 13));
}

TEST_F(TemplateTest, RefusesIncompletePayloads) {
  for (std::size_t size = 0; size < hello.size(); ++size) {
    EXPECT_EQ(load(Words().bytes(hello.bytes().first(size))), GANTRY_MALFORMED) << size << " bytes";
    EXPECT_EQ(status.error(GANTRY_MALFORMED, "load").reason, "BLOB_TRUNCATED");
    EXPECT_EQ(status.error(GANTRY_MALFORMED, "load").offset, 0u);
  }
  EXPECT_EQ(load(Words().u64(UINT64_MAX).text("hello")), GANTRY_MALFORMED);
  EXPECT_EQ(load(Words(hello).u8(0)), GANTRY_MALFORMED);
  EXPECT_EQ(status.error(GANTRY_MALFORMED, "load").reason, "BLOB_TRAILING");
  EXPECT_EQ(status.error(GANTRY_MALFORMED, "load").offset, 13u);
  EXPECT_EQ(module.self, nullptr);
  EXPECT_EQ(pin.object->counts & UINT32_MAX, 1u);
}

TEST_F(TemplateTest, RejectsACoreOfAnotherMajorVersion) {
  info.abi.major = 2;

  EXPECT_EQ(gantry_plugin_query_v1(&info, status.get()), nullptr);

  const Error error = status.error(GANTRY_UNSUPPORTED, "query");
  EXPECT_EQ(error.reason, "ABI_RANGE");
  EXPECT_THAT(error.message,
              StartsWith("plugin example.null 1.0.0 is built for ABI 1, this core has "));
  EXPECT_THAT(error.message, EndsWith(": install the plugin that was built for this core"));
}

}  // namespace
}  // namespace gantry
