// SPDX-License-Identifier: Apache-2.0
#include "tests/support/placed_bytes.hpp"
#include "tests/unit/const_loader/constants.hpp"

#include <gmock/gmock.h>

#include <map>

namespace gantry::const_loader::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ConstantModule : public ConstantModules {
 protected:
  Value module = load(small_payload(), 1).value();
};

TEST_F(ConstantModule, PassesConstantsInTheOrderOfTheSymbol) {
  const Result<Value> result = call(module, "main_0");

  EXPECT_THAT(initialized, ElementsAre(ElementsAre(ElementsAre(3), ElementsAre(1, 2))));
  EXPECT_EQ(value_int(result->get()), 7) << "the import's function";
}

TEST_F(ConstantModule, InitializesASymbolAtItsFirstLookUpOnly) {
  EXPECT_THAT(initialized, IsEmpty());

  for (int i = 0; i < 3; ++i) EXPECT_TRUE(find(module, "main_1").ok());

  EXPECT_THAT(initialized, ElementsAre(ElementsAre(ElementsAre(1, 2))));
}

TEST_F(ConstantModule, FindsASymbolWhoseImportNeedsNoConstants) {
  EXPECT_TRUE(find(module, "main_2").ok());

  EXPECT_THAT(initialized, IsEmpty());
}

TEST_F(ConstantModule, LeavesOtherNamesToItsImports) {
  EXPECT_EQ(find(module, "other").error().code, Code::not_found);
  EXPECT_EQ(find(module, "main_").error().code, Code::not_found);
}

TEST_F(ConstantModule, InitializesAgainAfterAFailure) {
  results.push_back(Value::adopt(int_value(-1)));

  const Result<ObjectRef> first = find(module, "main_0");

  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().code, Code::bug);
  EXPECT_EQ(first.error().reason, "RESULT_KIND");
  EXPECT_EQ(first.error().message,
            "\"__init_main_0\" returns -1, expected 0\n"
            "  while passing its constants to \"main_0\"");
  EXPECT_TRUE(find(module, "main_0").ok());
  EXPECT_THAT(initialized, SizeIs(2));
}

TEST_F(ConstantModule, RefusesAnInitializationWithoutAResult) {
  results.emplace_back();

  EXPECT_EQ(find(module, "main_0").error().message,
            "\"__init_main_0\" returns none, expected 0\n"
            "  while passing its constants to \"main_0\"");
}

TEST_F(ConstantModule, ReportsTheErrorOfAnInitialization) {
  fake.add_function("__init_main_1", [](const gantry_env*, std::span<const gantry_value>,
                                        gantry_value*, gantry_status* status) {
    return gantry_fail(status, GANTRY_UNSUPPORTED, "OPERATOR", "operator is nn.magic");
  });

  const Result<ObjectRef> found = find(module, "main_1");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::unsupported);
  EXPECT_EQ(found.error().message,
            "operator is nn.magic\n  while passing its constants to \"main_1\"");
}

TEST_F(ConstantModule, RefusesAnInitializationThatLooksItsSymbolUp) {
  Result<ObjectRef> inner = ObjectRef();
  fake.add_function("__init_main_1", [&](const gantry_env*, std::span<const gantry_value>,
                                         gantry_value* result, gantry_status*) {
    inner = find(module, "main_1");
    *result = int_value(0);
    return gantry_code{GANTRY_OK};
  });

  EXPECT_TRUE(find(module, "main_1").ok());

  ASSERT_FALSE(inner.ok());
  EXPECT_EQ(inner.error().code, Code::invalid);
  EXPECT_EQ(inner.error().message,
            "its initialization looks the symbol up itself, which would wait for ever\n"
            "  while passing its constants to \"main_1\"");
}

TEST_F(ConstantModule, CopiesAConstantOnceIfItIsNotAligned) {
  EXPECT_TRUE(find(module, "main_0").ok());
  const void* const a = addresses.at(1);
  EXPECT_TRUE(find(module, "main_1").ok());

  EXPECT_THAT(fake.copies, ElementsAre(4, 8));
  EXPECT_EQ(addresses.at(0), a) << "symbols share a constant";
}

TEST_F(ConstantModule, UsesAlignedConstantsInPlace) {
  const Value aligned = load(saved(module, 128)).value();

  EXPECT_TRUE(find(aligned, "main_0").ok());

  EXPECT_THAT(initialized, ElementsAre(ElementsAre(ElementsAre(3), ElementsAre(1, 2))));
  EXPECT_THAT(fake.allocations, IsEmpty());
  for (const void* const address : addresses) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 128, 0u);
  }
}

// Code of v0.7 to v0.9 loads 128 bytes at once.
TEST_F(ConstantModule, UsesConstantsInPlaceAtMultiplesOf128BytesOnly) {
  const std::vector<std::uint8_t> bytes = small_payload();
  const std::uint64_t data_at = gantry::test::offset_of(bytes, {1, 2});

  for (const std::size_t past : {0, 1, 4, 16, 32, 64, 96, 128}) {
    const Value placed = load(bytes, (past + 256 - data_at) % 128).value();
    fake.copies.clear();
    initialized.clear();

    // Constant "a" only.
    EXPECT_TRUE(find(placed, "main_1").ok());

    EXPECT_EQ(fake.copies.size(), past % 128 == 0 ? 0u : 1u) << past;
    EXPECT_THAT(initialized, ElementsAre(ElementsAre(ElementsAre(1, 2))));
  }
}

TEST_F(ConstantModule, ReportsThatMemoryForAConstantIsExhausted) {
  fake.max_allocations = 1;

  const Result<ObjectRef> found = find(module, "main_0");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::exhausted);
  EXPECT_THAT(found.error().message.text(),
              ::testing::EndsWith("\n  while preparing constant \"a\"\n"
                                  "  while passing its constants to \"main_0\""));
}

TEST_F(ConstantModule, ReturnsCopiesOfItsConstantsWithoutFillers) {
  const Value aligned = load(saved(module, 128)).value();
  for (const char* const function : {"get_const_var_tensor", "get_const_var_ndarray"}) {
    const Value map = call(aligned, function).value();

    std::map<std::string, float> first;
    const auto items = host.items(map.object()).value();
    for (std::size_t i = 0; i < items.size(); i += 2) {
      auto* const data = static_cast<float*>(gantry_value_tensor(&items[i + 1])->data);
      first.emplace(*value_text(items[i]), *data);
      *data = 99;
    }
    EXPECT_THAT(first, ElementsAre(::testing::Pair("a", 1), ::testing::Pair("b", 3)));
  }
  EXPECT_TRUE(find(aligned, "main_1").ok());
  EXPECT_THAT(initialized, ElementsAre(ElementsAre(ElementsAre(1, 2))));
}

TEST_F(ConstantModule, RefusesArgumentsForItsConstants) {
  EXPECT_EQ(call(module, "get_const_var_tensor", {int_value(1)}).error().message,
            "get_const_var_tensor(): argument count is 1, expected 0");
}

TEST_F(ConstantModule, ListsItsFunctions) {
  const auto& pair = *reinterpret_cast<const gantry_module*>(module.object() + 1);
  std::vector<std::string> names;
  const gantry_visitor visitor{
      sizeof visitor, 0, &names,
      [](void* self, const gantry_function_info* info, gantry_status*) -> gantry_code {
        static_cast<std::vector<std::string>*>(self)->emplace_back(view_of(info->name));
        return GANTRY_OK;
      }};

  EXPECT_EQ(pair.table->list_functions(pair.self, &visitor, nullptr), GANTRY_OK);

  EXPECT_THAT(names, ElementsAre("get_const_var_tensor", "get_const_var_ndarray", "main_0",
                                 "main_1", "main_2"));
  EXPECT_THAT(initialized, IsEmpty());
}

TEST_F(ConstantModule, IsSavedByteForByteWithoutAnAlignment) {
  const std::vector<std::uint8_t> aligned = saved(module, 128);

  EXPECT_EQ(saved(module), small_payload());
  EXPECT_EQ(saved(load(aligned).value()), aligned);
  EXPECT_EQ(saved(load(aligned).value(), 128), aligned);
}

}  // namespace
}  // namespace gantry::const_loader::test
