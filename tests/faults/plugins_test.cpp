// SPDX-License-Identifier: Apache-2.0
//
// A plugin that breaks an ABI rule in a call is named in the error, and the process continues.
// Errors in a plugin's file or tables: tests/unit/choice.
#include "tests/faults/plugin_at_work.hpp"

#include <gantry/threads.h>

#include <gmock/gmock.h>

#include <csignal>
#include <map>
#include <optional>

namespace gantry {
namespace {

using test::breaker;
using Plugin = test::PluginAtWork;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Plugin, ThatKeepsTheRulesWorks) {
  const Status done = work();
  EXPECT_TRUE(done.ok()) << done.error().message;
}

class PluginThatThrows : public Plugin, public testing::WithParamInterface<const char*> {};

TEST_P(PluginThatThrows, IsNamedAndTheProcessContinues) {
  breaker().throws_in = GetParam();

  const Status done = work();

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::bug);
  EXPECT_EQ(done.error().reason,
            GetParam() == std::string_view("create") ? "CREATE_FAILED" : "EXCEPTION");
  EXPECT_THAT(done.error().message,
              AllOf(HasSubstr("test.breaker"), HasSubstr(" throws: breaker: thrown in "),
                    HasSubstr(GetParam())));
  breaker() = {};
  EXPECT_TRUE(work().ok()) << "the next runtime works";
}

INSTANTIATE_TEST_SUITE_P(In, PluginThatThrows,
                         testing::Values("create", "load_binary", "get_function", "call",
                                         "list_functions", "device.count", "device.alloc",
                                         "device.copy"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '.' || c == '_' ? 'X' : c;
                           return name;
                         });

TEST_F(Plugin, ThatThrowsInDestroyIsLoggedAndTheProcessContinues) {
  breaker().throws_in = "destroy";

  const Status done = work();

  EXPECT_TRUE(done.ok()) << done.error().message;
  const std::string line =
      "GANTRY-D602 DESTROY_FAILED: destroy of plugin test.breaker throws: breaker: thrown in "
      "destroy\n";
  EXPECT_THAT(log_, HasSubstr(line));
  EXPECT_EQ(log_.find(line), log_.rfind(line)) << "logged more than once";
  breaker() = {};
  EXPECT_TRUE(work().ok()) << "the next runtime works";
}

TEST_F(Plugin, ThatThrowsInQueryIsRefused) {
  breaker().throws_in = "query";
  auto made = Runtime::create({.only_these_plugins = true});

  const Status added = made->add_plugin(test::query_breaker);

  ASSERT_FALSE(added.ok());
  EXPECT_THAT(
      added.error().message,
      HasSubstr("the program's plugin: gantry_plugin_query_v1 throws: breaker: thrown in query"));
}

// An exception on a thread of the pool has no caller to catch it.
TEST_F(Plugin, ThatThrowsInAPieceOfParallelWorkIsReported) {
  gantry_code returned = GANTRY_OK;
  std::string text(200, '\0');
  breaker().inside = [&](const char* where) {
    if (where != std::string_view("call")) return;
    const gantry_host* host = breaker().host;
    const auto* threads =
        static_cast<const gantry_threads*>(host->get_extension(host, GANTRY_THREADS_1));
    gantry_status status{};
    status.struct_size = sizeof status;
    status.text = text.data();
    status.text_capacity = static_cast<std::uint32_t>(text.size());
    returned = threads->parallel_for(
        host, 8, [](void*, std::int64_t, gantry_status*) -> gantry_code { throw 7; }, nullptr,
        &status);
    text.resize(status.text_size);
  };

  EXPECT_TRUE(work().ok());

  EXPECT_EQ(returned, GANTRY_BUG);
  EXPECT_EQ(text, "piece 0 of 8 throws: exception that is not a std::exception");
}

TEST_F(Plugin, ThatLogsTextThatIsNotUtf8IsLoggedWithEscapes) {
  breaker().inside = [](const char* where) {
    const gantry_host* host = breaker().host;
    if (where == std::string_view("call"))
      host->log(host, GANTRY_LOG_WARNING, gantry_text("caf\xe9"));
  };

  EXPECT_TRUE(work().ok());

  EXPECT_THAT(log_, HasSubstr("test.breaker: caf\\xe9"));
}

TEST_F(Plugin, ThatLogsSeveralLinesAndControlCharactersIsLoggedWithEscapes) {
  breaker().inside = [](const char* where) {
    const gantry_host* host = breaker().host;
    if (where == std::string_view("call"))
      host->log(host, GANTRY_LOG_WARNING, gantry_text("a\ngantry: b\x1b[2J"));
  };

  EXPECT_TRUE(work().ok());

  EXPECT_THAT(log_, HasSubstr("test.breaker: a\n  gantry: b\\x1b[2J"));
}

gantry_code no_function(void*, gantry_bytes, gantry_function*, gantry_status*) {
  return GANTRY_NOT_FOUND;
}
void nothing(void*) {}

// Calls every function of the host's table. Invalid calls return an error and none blocks forever.
void call_the_host(const char* where) {
  const gantry_host* host = breaker().host;
  if (host == nullptr) return;
  gantry_value value{};
  const auto drop = [&](gantry_code code) {
    if (code == GANTRY_OK && value.kind >= GANTRY_OBJECT) gantry_release(value.object);
    value = {};
  };
  host->log(host, GANTRY_LOG_INFO, gantry_text(where));
  host->config_get(host, gantry_text("threads"), &value, nullptr);
  value = {};
  drop(host->text_new(host, GANTRY_STRING, gantry_text("a text that is longer than eight bytes"),
                      &value, nullptr));
  std::int64_t four = 4;
  drop(host->shape_new(host, &four, 1, &value, nullptr));
  drop(host->items_new(host, GANTRY_ARRAY, nullptr, 0, &value, nullptr));
  gantry_tensor like{};
  like.device = {1, 0};
  like.ndim = 1;
  like.dtype = {0, 32, 1};
  like.shape = &four;
  drop(host->tensor_new(host, &like, {}, 0, &value, nullptr));
  // Devices that exist, are being created, and do not exist; the last makes the core search for a
  // plugin.
  gantry_device device{};
  std::int32_t own = 0;
  host->device_type(host, gantry_text("breaker"), &own, nullptr);
  for (const std::int32_t type : {1, own, 2, 99, -1})
    host->device_get(host, {type, 0}, &device, nullptr);
  gantry_object* found = nullptr;
  if (breaker().self_module != nullptr) {
    const std::uint32_t everywhere = GANTRY_FIND_SELF | GANTRY_FIND_IMPORTS | GANTRY_FIND_GLOBALS;
    EXPECT_EQ(
        host->find(host, breaker().self_module, everywhere, gantry_text("absent"), &found, nullptr),
        GANTRY_NOT_FOUND);
  }
  static constexpr gantry_module_table table = {.struct_size = sizeof(gantry_module_table),
                                                .type_name = "made",
                                                .destroy = nothing,
                                                .get_function = no_function};
  drop(host->module_new(host, nullptr, {nullptr, &table}, 0, &value, nullptr));
  const auto* threads =
      static_cast<const gantry_threads*>(host->get_extension(host, GANTRY_THREADS_1));
  threads->parallel_for(
      host, 4, [](void*, std::int64_t, gantry_status*) -> gantry_code { return GANTRY_OK; },
      nullptr, nullptr);
}

TEST_F(Plugin, MayCallTheHostFromEverywhere) {
  std::map<std::string, int> seen;
  bool within = false;
  breaker().inside = [&](const char* where) {
    ++seen[where];
    // The host may call the plugin again.
    if (within) return;
    within = true;
    call_the_host(where);
    within = false;
  };
  // A deadlock ends the test.
  alarm(60);

  const Status done = work();

  alarm(0);
  EXPECT_TRUE(done.ok()) << done.error().message;
  for (const char* where : {"query", "create", "load_binary", "list_functions", "get_function",
                            "call", "device.count", "device.attribute", "device.alloc",
                            "device.copy", "device.free", "module.destroy", "destroy"}) {
    EXPECT_GE(seen[where], 1) << where;
  }
}

// A payload is valid during load_binary; a pin extends its lifetime. The core cannot detect a read
// of a mapping that is gone. Without a pin the core therefore unmaps the payload at once: a plugin
// that omits the pin crashes in its own tests.
class PluginThatKeepsThePayload : public Plugin {
 protected:
  // Loads and releases one file, then reads its payload through the module of another file.
  void read_what_was_kept() {
    Runtime made = runtime();
    std::optional<Module> first = made.load(file()).value();
    const std::uint8_t* kept = breaker().kept;
    // Loaded before the first is released, so that it does not reuse the address.
    const Module other = made.load(file()).value();
    first.reset();
    breaker().kept = kept;
    breaker().reads_kept = true;
    const std::int64_t byte = other.function("call").value()()->integer().value();
    // the low byte of the payload's length
    std::exit(byte == 7 ? 0 : 1);
  }
};
using PluginThatKeepsThePayloadDeathTest = PluginThatKeepsThePayload;

TEST_F(PluginThatKeepsThePayloadDeathTest, WithItsPinReadsItLater) {
  breaker().keeps_pin = true;
  EXPECT_EXIT(read_what_was_kept(), testing::ExitedWithCode(0), "");
}

// AddressSanitizer handles SIGSEGV itself.
#if !defined(__SANITIZE_ADDRESS__)
TEST_F(PluginThatKeepsThePayloadDeathTest, WithoutItsPinEndsItsOwnProcess) {
  EXPECT_EXIT(read_what_was_kept(), testing::KilledBySignal(SIGSEGV), "");
}
#endif

TEST_F(Plugin, ConsumesNothingOfAnEmptyPayload) {
  Runtime made = runtime();
  breaker().consumed = 0;

  const auto module = made.load(file_with_an_empty_payload());

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_TRUE(module->function("call").ok());
}

TEST_F(Plugin, ThatConsumesMoreThanAnEmptyPayloadIsNamed) {
  Runtime made = runtime();
  breaker().consumed = 8;

  const auto module = made.load(file_with_an_empty_payload());

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "BLOB_CONSUMED");
  EXPECT_THAT(module.error().message, HasSubstr("test.breaker"));
}

// Models a plugin that runs a module's initializer once, where it calls functions of the module's
// imports.
TEST_F(Plugin, MayHoldAGuardOfItsModuleWhileItLooksUp) {
  Runtime made = runtime();
  const Module module = made.load(file()).value();
  std::mutex guard;
  gantry_code looked_up = GANTRY_OK;
  breaker().inside = [&](const char* where) {
    if (where != std::string_view("get_function") || !guard.try_lock()) return;
    gantry_object* found = nullptr;
    const gantry_host* host = breaker().host;
    looked_up = host->find(host, module.get(), GANTRY_FIND_IMPORTS | GANTRY_FIND_GLOBALS,
                           gantry_text("init"), &found, nullptr);
    guard.unlock();
  };

  const auto function = module.function("call");

  breaker().inside = {};
  ASSERT_TRUE(function.ok()) << function.error().message;
  EXPECT_EQ(looked_up, GANTRY_NOT_FOUND);
}

}  // namespace
}  // namespace gantry
