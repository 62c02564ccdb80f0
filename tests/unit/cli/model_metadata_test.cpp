// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/model_metadata.hpp"

#include "tests/support/small_graph.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <string>

namespace gantry::cli {
namespace {

using test::replaced;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As MLC-LLM writes it, shortened.
const std::string small_metadata =
    R"({"model_type": "llama", "quantization": "q4f16_1", "params": [
  {"name": "embed.weight", "shape": ["vocab_size", 8], "dtype": "uint32", "preprocs": [], "pipeline_stages": [0]},
  {"name": "norm.weight", "shape": [64], "dtype": "float16", "preprocs": [], "pipeline_stages": [0]}],
  "memory_usage": {"prefill": 12}})";

TEST(ModelMetadata, ListsWeightsInTheOrderOfTheTuple) {
  const auto params = parse_model_metadata(small_metadata);

  ASSERT_TRUE(params.ok()) << params.error().message;
  ASSERT_THAT(*params, SizeIs(2));
  EXPECT_EQ((*params)[0].name, "embed.weight");
  EXPECT_EQ(dtype_text((*params)[0].type.dtype), "uint32");
  EXPECT_THAT((*params)[0].type.shape, ElementsAre(-1, 8));
  EXPECT_EQ((*params)[0].type_text, "uint32[vocab_size, 8]");
  EXPECT_EQ((*params)[1].name, "norm.weight");
  EXPECT_EQ((*params)[1].type_text, "float16[64]");
}

struct AcceptedMetadata {
  std::string name, from, to, type;
};
class MetadataVariant : public ::testing::TestWithParam<AcceptedMetadata> {};

TEST_P(MetadataVariant, IsAccepted) {
  const auto params =
      parse_model_metadata(replaced(small_metadata, GetParam().from, GetParam().to));

  ASSERT_TRUE(params.ok()) << params.error().message;
  EXPECT_EQ(params->at(1).type_text, GetParam().type);
}

INSTANTIATE_TEST_SUITE_P(
    Small, MetadataVariant,
    ::testing::Values(
        AcceptedMetadata{"WithAScalar", "[64]", "[]", "float16[]"},
        AcceptedMetadata{"WithAnUnknownExtent", "[64]", "[-1]", "float16[-1]"},
        AcceptedMetadata{"WithTheLargestExtent", "[64]", "[9223372036854775807]",
                         "float16[9223372036854775807]"},
        AcceptedMetadata{"WithABoolean", "float16", "bool", "bool8[64]"},
        AcceptedMetadata{"WithALongExtent", "[64]", "[\"" + std::string(40, 'n') + "\", 2]",
                         "float16[" + std::string(32, 'n') + ", 2]"},
        AcceptedMetadata{"WithoutOtherKeys", R"(, "preprocs": [], "pipeline_stages": [0]}],)",
                         "}],", "float16[64]"},
        AcceptedMetadata{"WithTheSameName", "norm.weight", "embed.weight", "float16[64]"}),
    [](const auto& test) { return test.param.name; });

TEST(ModelMetadata, WithoutAListOfWeightsListNone) {
  for (const char* const text : {"{}", R"({"params": []})", R"({"model_type": "x"})"}) {
    const auto params = parse_model_metadata(text);

    ASSERT_TRUE(params.ok()) << params.error().message;
    EXPECT_THAT(*params, IsEmpty()) << text;
  }
}

struct RefusedMetadata {
  std::string name, from, to, error;
  // what the offset is at
  std::string at;
};
class MetadataRefusal : public ::testing::TestWithParam<RefusedMetadata> {};

TEST_P(MetadataRefusal, NamesTheWeightAndTheKey) {
  const std::string text = replaced(small_metadata, GetParam().from, GetParam().to);

  const auto params = parse_model_metadata(text);

  ASSERT_FALSE(params.ok());
  EXPECT_EQ(params.error().code, Code::malformed);
  EXPECT_EQ(params.error().reason, "MODEL_METADATA");
  EXPECT_EQ(params.error().message, GetParam().error);
  EXPECT_EQ(params.error().offset, text.find(GetParam().at));
}

INSTANTIATE_TEST_SUITE_P(
    Small, MetadataRefusal,
    ::testing::Values(
        RefusedMetadata{"NoObject", small_metadata, "[]",
                        "model metadata: the document is a list, expected an object", "["},
        RefusedMetadata{"NoJson", R"(": "llama")", R"(": llama)",
                        R"(model metadata is not JSON: "l" follows "{\"model_type\": ")", "lama,"},
        RefusedMetadata{"NoList", small_metadata, R"({"params": {"a": 1}})",
                        R"(model metadata: "params" is an object, expected a list)", R"({"a")"},
        RefusedMetadata{"NoItem", small_metadata, R"({"params": ["a"]})",
                        "model metadata: param 0 is a string, expected an object", R"("a")"},
        RefusedMetadata{"NoName", R"("name": "norm.weight")", R"("n": "norm.weight")",
                        R"(model metadata: param 1 has no "name")", R"({"n":)"},
        RefusedMetadata{"NoShape", R"("shape": [64], )", "",
                        R"(model metadata: param 1 has no "shape")", R"({"name": "norm)"},
        RefusedMetadata{"NoDtype", R"("dtype": "float16", )", "",
                        R"(model metadata: param 1 has no "dtype")", R"({"name": "norm)"},
        RefusedMetadata{"NameIsANumber", R"("norm.weight")", "77",
                        R"(model metadata: param 1: "name" is a number, expected a string)", "77"},
        RefusedMetadata{"ShapeIsANumber", "[64]", "64",
                        R"(model metadata: param 1: "shape" is a number, expected a list)", "64,"},
        RefusedMetadata{"DtypeIsNull", R"("float16")", "null",
                        R"(model metadata: param 1: "dtype" is null, expected a string)", "null"},
        RefusedMetadata{
            "UnknownDtype", R"("float16")", R"("half")",
            R"(model metadata: param 1: dtype "half": no such type, known are int, uint, float, )"
            "bfloat, complex, bool, handle and the names of small floats",
            R"("half")"},
        RefusedMetadata{"NegativeExtent", "[64]", "[-2]",
                        R"(model metadata: param 1: an extent of "shape" is -2, expected a name )"
                        "or a number from -1 to 2^63 - 1",
                        "-2"},
        RefusedMetadata{"HugeExtent", "[64]", "[9223372036854775808]",
                        R"(model metadata: param 1: an extent of "shape" is 9223372036854775808, )"
                        "expected a name or a number from -1 to 2^63 - 1",
                        "9223372036854775808"},
        RefusedMetadata{"FractionalExtent", "[64]", "[6.5]",
                        R"(model metadata: param 1: an extent of "shape" is a fraction, expected )"
                        "a name or a number from -1 to 2^63 - 1",
                        "6.5"},
        RefusedMetadata{"TooManyExtents", "[64]",
                        [] {
                          std::string shape = "[64";
                          for (int i = 0; i < 64; ++i) shape += ",1";
                          return shape + "]";
                        }(),
                        R"(model metadata: param 1: "shape" has 65 extents, maximum is 64)",
                        "[64"}),
    [](const auto& test) { return test.param.name; });

TEST(ModelMetadata, AreRefusedAboveTheirLimit) {
  const std::string text = "{}" + std::string(max_model_metadata_bytes - 2, ' ');

  const auto longer = parse_model_metadata(text + " ");

  EXPECT_TRUE(parse_model_metadata(text).ok());
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, Code::malformed);
  EXPECT_EQ(longer.error().message,
            "model metadata: the text has 16777217 bytes, maximum is 16777216");
}

TEST(ModelMetadata, AreRefusedWhereverTheyEnd) {
  for (std::size_t size = 0; size < small_metadata.size(); ++size)
    EXPECT_FALSE(parse_model_metadata(small_metadata.substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace gantry::cli
