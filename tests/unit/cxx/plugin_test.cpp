// SPDX-License-Identifier: Apache-2.0
// As gantry_add_plugin() defines them.
#define GANTRY_PLUGIN_ID "test.built"
#define GANTRY_PLUGIN_VERSION "4.0.2"
#include <gantry/plugin.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/payload_blob.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/cxx/fake_host_table.hpp"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gantry {
namespace {

using test::FakeHostTable;
using test::Words;
using ::testing::ElementsAre;

struct Toy;

struct Kernel {
  Status call(const Call& call) { return call.count_is(1); }
};

// A module with both kinds of functions; its payload is one text.
class ToyModule {
 public:
  static constexpr LoaderIdentity identity{.type_key = "toy", .device = "gadget"};
  static constexpr bool is_serial = true;

  static Result<std::unique_ptr<ToyModule>> load(Toy&, Blob& blob) {
    auto module = std::make_unique<ToyModule>();
    GANTRY_TRY(module->note_, blob.reader().read_string("note"));
    module->kept_ = blob.keep();
    return module;
  }
  static Result<std::int32_t> check(Toy&, Blob& blob, std::int32_t device_index) {
    GANTRY_CHECK(blob.reader().read_string("note"));
    return device_index == 0 ? GANTRY_VERDICT_OPTIMAL : GANTRY_VERDICT_NO;
  }

  static auto functions() {
    return std::array{method<&ToyModule::size, "size()">, method<&ToyModule::none, "none(x)">,
                      method<&ToyModule::raw, "raw()">, method<&same, "same(x)">};
  }
  Result<Kernel*> find(std::string_view name) {
    if (name == "broken") return unsupported("kernel broken is not supported");
    return name == "kernel" ? &kernel_ : nullptr;
  }
  static std::vector<std::string_view> names() { return {"kernel", "broken"}; }
  Status save(const Sink& sink) const { return sink.write(kept_.bytes); }

 private:
  static Result<Value> same(ToyModule&, const Call& call) { return Value::adopt(call.args[0]); }
  Result<Value> size(const Call& call) const {
    GANTRY_CHECK(call.count_is(0));
    return Value::adopt(int_value(static_cast<std::int64_t>(note_.size())));
  }
  Status none(const Call& call) { return call.count_is(1); }
  gantry_code raw(const Call&, gantry_status* status) {
    return gantry_fail(status, GANTRY_EXHAUSTED, "RAW", "raw fails");
  }

  std::string_view note_;
  PayloadBytes kept_;
  Kernel kernel_;
};

struct Toy {
  static constexpr PluginIdentity identity{.id = "test.toy", .version = "3.2.1"};
  using Loaders = Types<ToyModule>;

  explicit Toy(Host given) : host(given) {}
  Result<Value> answer(const Call&) { return Value::adopt(int_value(42)); }
  static auto functions() { return std::array{method<&Toy::answer, "toy.answer()">}; }

  Host host;
};

// Without an identity of its own: all of its functions are in maps, of objects and of pointers.
struct Built {
  explicit Built(Host) {}
  std::map<std::string, Kernel, std::less<>>& named_functions() { return kernels_; }

 private:
  std::map<std::string, Kernel, std::less<>> kernels_{{"built.kernel", {}}};
};
class MapModule {
 public:
  static constexpr const char* type_name = "map";

  std::map<std::string_view, Kernel*>& named_functions() { return kernels_; }

 private:
  Kernel kernel_;
  std::map<std::string_view, Kernel*> kernels_{{"second", &kernel_}, {"first", &kernel_}};
};

// Created by create(), without optional members.
struct Picky {
  static constexpr PluginIdentity identity{.id = "test.picky", .version = "1.0.0"};
  static Result<std::unique_ptr<Picky>> create(Host) { return unavailable("no driver"); }
};

class PluginLayer : public ::testing::Test {
 protected:
  PluginLayer() { EXPECT_EQ(plugin_table<Toy>.create(&host_, &self_, nullptr), GANTRY_OK); }
  ~PluginLayer() override {
    if (module_.self != nullptr) module_.table->destroy(module_.self);
    plugin_table<Toy>.destroy(self_);
    EXPECT_EQ(host_.alive, 0);
  }
  gantry_code load(const Words& words, bool is_exact = true) {
    const gantry_blob blob = test::payload_blob(words.bytes(), 3, is_exact);
    return loader_.load_binary(self_, &blob, nullptr, &module_, &consumed_, status_.get());
  }
  gantry_code call(std::string_view name, const std::vector<gantry_value>& args,
                   gantry_value* result) {
    gantry_function found{};
    const gantry_code code =
        module_.table->get_function(module_.self, bytes_of(name), &found, status_.get());
    if (code != GANTRY_OK) return code;
    const gantry_env env{};
    return found.table->call(found.self, &env, args.data(), static_cast<std::int32_t>(args.size()),
                             result, status_.get());
  }
  static std::vector<std::string> listed(auto&& list) {
    std::vector<std::string> names;
    const gantry_visitor visitor{
        sizeof visitor, 0, &names,
        [](void* self, const gantry_function_info* info, gantry_status*) -> gantry_code {
          static_cast<std::vector<std::string>*>(self)->push_back(
              concat(view_of(info->name), "|", view_of(info->doc)));
          return GANTRY_OK;
        }};
    EXPECT_EQ(list(&visitor), GANTRY_OK);
    return names;
  }

  FakeHostTable host_;
  void* self_ = nullptr;
  const gantry_loader_table& loader_ = *plugin_table<Toy>.loaders[0];
  gantry_module module_{};
  std::uint64_t consumed_ = 0;
  StatusBuffer status_;
  const Words note_ = Words().str("hello");
};

TEST_F(PluginLayer, CreatesATableOfTheMembersOfTheClass) {
  const gantry_plugin_table& toy = plugin_table<Toy>;
  EXPECT_EQ(toy.struct_size, sizeof toy);
  EXPECT_STREQ(toy.id, "test.toy");
  EXPECT_STREQ(toy.version, "3.2.1");
  EXPECT_EQ(toy.vendor, nullptr);
  EXPECT_EQ(toy.loader_count, 1u);
  EXPECT_EQ(toy.devices, nullptr);
  EXPECT_EQ(toy.device_count, 0u);
  EXPECT_EQ(loader_.flags, 0u);
  EXPECT_STREQ(loader_.type_key, "toy");
  EXPECT_STREQ(loader_.device, "gadget");

  EXPECT_EQ(plugin_table<Picky>.loader_count, 0u);
  EXPECT_EQ(plugin_table<Picky>.get_extension, nullptr);
}

TEST(PluginIdentity, IsTheManifestsUnlessTheClassStatesOne) {
  const gantry_plugin_table& built = plugin_table<Built>;
  constexpr gantry_elf_note note = detail::make_note<Built>();

  EXPECT_STREQ(built.id, "test.built");
  EXPECT_STREQ(built.version, "4.0.2");
  EXPECT_EQ(built.vendor, nullptr);
  EXPECT_STREQ(note.content.id, "test.built");
  EXPECT_STREQ(note.content.version, "4.0.2");
  EXPECT_STREQ(detail::make_note<Toy>().content.id, "test.toy");
}

TEST_F(PluginLayer, IsRefusedByACoreOfAnotherMajor) {
  gantry_host_info core{};
  core.abi.major = GANTRY_ABI_MAJOR;
  EXPECT_EQ(query<Toy>(&core, status_.get()), &plugin_table<Toy>);
  core.abi.major = 7;

  EXPECT_EQ(query<Toy>(&core, status_.get()), nullptr);

  const Error error = status_.error(GANTRY_UNSUPPORTED, "query");
  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "ABI_RANGE");
  EXPECT_EQ(error.message,
            "plugin test.toy 3.2.1 is built for ABI 1, this core has ABI 7: install the plugin "
            "that was built for this core");
}

TEST_F(PluginLayer, ReturnsTheErrorOfCreate) {
  void* self = nullptr;

  const gantry_code code = plugin_table<Picky>.create(&host_, &self, status_.get());

  EXPECT_EQ(code, GANTRY_UNAVAILABLE);
  EXPECT_EQ(status_.error(code, "create").message, "no driver");
  EXPECT_EQ(self, nullptr);
}

TEST_F(PluginLayer, OffersItsFunctionsAsGlobals) {
  const gantry_plugin_table& toy = plugin_table<Toy>;
  const auto* const globals =
      static_cast<const gantry_globals*>(toy.get_extension(self_, GANTRY_GLOBALS_1));
  ASSERT_NE(globals, nullptr);
  gantry_function found{};
  gantry_value result{};

  EXPECT_EQ(globals->get_global(self_, gantry_text("toy.answer"), &found, nullptr), GANTRY_OK);
  EXPECT_EQ(found.table->call(found.self, nullptr, nullptr, 0, &result, nullptr), GANTRY_OK);
  EXPECT_EQ(result.i, 42);
  EXPECT_EQ(globals->get_global(self_, gantry_text("toy.other"), &found, nullptr),
            GANTRY_NOT_FOUND);
  EXPECT_EQ(toy.get_extension(self_, "gantry.other/1"), nullptr);
}

TEST_F(PluginLayer, LoadsAPayloadUpToTheReadersPosition) {
  ASSERT_EQ(load(Words(note_).text("the next entry"), false), GANTRY_OK);

  EXPECT_EQ(consumed_, 13u);
}

TEST_F(PluginLayer, RejectsBytesAfterAPayloadOfKnownLength) {
  const gantry_code code = load(Words(note_).u8(0));

  EXPECT_EQ(code, GANTRY_MALFORMED);
  const Error error = status_.error(code, "load");
  EXPECT_EQ(error.reason, "BLOB_TRAILING");
  EXPECT_EQ(error.offset, 13u);
  EXPECT_EQ(error.message, "payload has 1 bytes after its last field, expected none");
  EXPECT_EQ(module_.self, nullptr);
  EXPECT_EQ(consumed_, 0u);
}

TEST_F(PluginLayer, ChecksAPayload) {
  const gantry_blob blob = test::payload_blob(note_.bytes());
  const Words longer = Words(note_).u8(0);
  const gantry_blob wrong = test::payload_blob(longer.bytes());
  std::int32_t verdict = -1;

  EXPECT_EQ(loader_.check_binary(self_, &blob, 0, &verdict, nullptr), GANTRY_OK);
  EXPECT_EQ(verdict, GANTRY_VERDICT_OPTIMAL);
  EXPECT_EQ(loader_.check_binary(self_, &wrong, 1, &verdict, nullptr), GANTRY_MALFORMED);
  EXPECT_EQ(verdict, GANTRY_VERDICT_OPTIMAL) << "untouched";
}

TEST_F(PluginLayer, CallsFunctionsOfEveryForm) {
  ASSERT_EQ(load(note_), GANTRY_OK);
  gantry_value result{};

  EXPECT_EQ(call("size", {}, &result), GANTRY_OK);
  EXPECT_EQ(result.i, 5);
  EXPECT_EQ(call("same", {int_value(9)}, &result), GANTRY_OK);
  EXPECT_EQ(result.i, 9);
  result = {};
  EXPECT_EQ(call("none", {int_value(9)}, &result), GANTRY_OK);
  EXPECT_EQ(result.kind, GANTRY_NONE);
  EXPECT_EQ(call("kernel", {int_value(9)}, &result), GANTRY_OK);
}

TEST_F(PluginLayer, ReturnsErrorsOfFunctionsOfEveryForm) {
  ASSERT_EQ(load(note_), GANTRY_OK);
  gantry_value result{};
  const auto message = [&](std::string_view name, gantry_code expected) {
    const gantry_code code = call(name, {}, &result);
    EXPECT_EQ(code, expected) << name;
    return status_.error(code, "call").message;
  };

  EXPECT_EQ(message("none", GANTRY_INVALID), "none(x): argument count is 0, expected 1");
  EXPECT_EQ(message("raw", GANTRY_EXHAUSTED), "raw fails");
  EXPECT_EQ(message("kernel", GANTRY_INVALID), "argument count is 0, expected 1");
  EXPECT_EQ(message("broken", GANTRY_UNSUPPORTED), "kernel broken is not supported");
  EXPECT_EQ(call("walk", {}, &result), GANTRY_NOT_FOUND);
  EXPECT_EQ(result.kind, GANTRY_NONE);
}

TEST_F(PluginLayer, ListsItsFunctionsThenThoseOfThePayload) {
  ASSERT_EQ(load(note_), GANTRY_OK);

  EXPECT_THAT(listed([&](const gantry_visitor* to) {
                return module_.table->list_functions(module_.self, to, nullptr);
              }),
              ElementsAre("size|size()", "none|none(x)", "raw|raw()", "same|same(x)", "kernel|",
                          "broken|"));
}

TEST_F(PluginLayer, FindsAndListsTheFunctionsOfAMap) {
  MapModule module;
  const gantry_module_table& table = module_table<MapModule>;
  const gantry_value argument = int_value(9);
  gantry_function found{};
  gantry_value result{};

  EXPECT_EQ(table.get_function(&module, gantry_text("first"), &found, nullptr), GANTRY_OK);
  EXPECT_EQ(found.table->call(found.self, nullptr, &argument, 1, &result, nullptr), GANTRY_OK);
  EXPECT_EQ(table.get_function(&module, gantry_text("third"), &found, nullptr), GANTRY_NOT_FOUND);
  EXPECT_THAT(
      listed([&](const gantry_visitor* to) { return table.list_functions(&module, to, nullptr); }),
      ElementsAre("first|", "second|"));
}

TEST_F(PluginLayer, OffersTheFunctionsOfAMapAsGlobals) {
  Built built{Host(&host_)};
  const auto* const globals = static_cast<const gantry_globals*>(
      plugin_table<Built>.get_extension(&built, GANTRY_GLOBALS_1));
  gantry_function found{};
  ASSERT_NE(globals, nullptr);

  EXPECT_EQ(globals->get_global(&built, gantry_text("built.kernel"), &found, nullptr), GANTRY_OK);
  EXPECT_EQ(found.table->call(found.self, nullptr, nullptr, 0, nullptr, nullptr), GANTRY_INVALID);
}

TEST_F(PluginLayer, MakesATableOfTheModule) {
  const gantry_module_table& table = module_table<ToyModule>;

  EXPECT_EQ(table.flags, GANTRY_MODULE_SERIAL);
  EXPECT_STREQ(table.type_name, "toy");
  EXPECT_NE(table.save_binary, nullptr);
}

}  // namespace
}  // namespace gantry
