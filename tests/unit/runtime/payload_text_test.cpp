// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/plugin_in_use.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/payload_text.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/value.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::program_plugin;
using ::testing::HasSubstr;

class TextOfAPayload : public test::PluginInUse {
 protected:
  // The text of module 0, whose function `as_text` returns a value.
  Result<std::string> text(gantry_value value, const char* key = "test.block") {
    const Runtime runtime = with_plugin();
    RuntimeState& state = *state_of(runtime.get());
    program_plugin().call_name = "as_text";
    program_plugin().call = [value](const gantry_env*, const gantry_value*, std::int32_t count,
                                    gantry_value* result, gantry_status*) -> gantry_code {
      EXPECT_EQ(count, 0);
      *result = value;
      return GANTRY_OK;
    };
    return payload_text(state, read_artifact(state, file_of({{key, "x"}})).value(), 0);
  }
};

TEST_F(TextOfAPayload, IsThatOfItsFunction) {
  gantry_value value{};
  ASSERT_EQ(gantry_value_small(GANTRY_SMALL_STRING, {"@f:\n", 4}, &value), 1);

  EXPECT_EQ(text(value).value(), "@f:\n");
  EXPECT_EQ(program_plugin().loads, 1);
  EXPECT_EQ(program_plugin().modules, 0);
}

TEST_F(TextOfAPayload, IsABugIfItIsNoString) {
  const auto number = text(int_value(3));

  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().code, Code::bug);
  EXPECT_THAT(number.error().message, HasSubstr("as_text returns an integer, expected a string"));
}

TEST_F(TextOfAPayload, RequiresTheFunction) {
  const Runtime runtime = with_plugin();
  RuntimeState& state = *state_of(runtime.get());

  const auto none =
      payload_text(state, read_artifact(state, file_of({{"test.block", "x"}})).value(), 0);

  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("as_text"));
  EXPECT_THAT(none.error().message,
              HasSubstr("while reading the code of entry 0 \"test.block\" of file1.so"));
}

TEST_F(TextOfAPayload, RequiresAPlugin) {
  const auto none = text({}, "test.unknown");

  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("test.unknown"));
  EXPECT_EQ(program_plugin().loads, 0);
}

}  // namespace
}  // namespace gantry
