// SPDX-License-Identifier: Apache-2.0
#include "tests/support/globals_of.hpp"
#include "tests/unit/cuda/world.hpp"

#include <gmock/gmock.h>

namespace gantry::cuda::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* encode = "runtime.cuTensorMapEncodeTiled";

// Values for a matrix [64, 128] of float16.
class TensorMaps : public WithFakeDriver {
 protected:
  std::vector<gantry_value> arguments() {
    std::vector<gantry_value> args{pointer_value(map), cstring_value("float16"), int_value(2),
                                   pointer_value(data)};
    for (const std::int64_t number : {128, 64, 256, 32, 8, 1, 1, 0, 3, 2, 0})
      args.push_back(int_value(number));
    return args;
  }
  std::string message(const std::vector<gantry_value>& args) {
    const Status encoded = world->call_named(encode, args);
    EXPECT_FALSE(encoded.ok());
    return encoded.ok() ? "" : std::string(encoded.error().message.text());
  }
  std::string with(std::size_t i, gantry_value value) {
    std::vector<gantry_value> args = arguments();
    args[i] = value;
    return message(args);
  }

  alignas(64) char map[128] = {};
  alignas(16) char data[16] = {};
};

TEST_F(TensorMaps, AreEncodedByTheDriver) {
  const Status encoded = world->call_named(encode, arguments());

  ASSERT_TRUE(encoded.ok()) << encoded.error().message;
  EXPECT_THAT(fake.tensor_maps, ElementsAre(ElementsAre(6, 2, reinterpret_cast<std::uint64_t>(data),
                                                        128, 64, 256, 32, 8, 1, 1, 0, 3, 2, 0)));
  EXPECT_THAT(map, Each(0x5a));
}

// Without a device, as the driver's function needs none.
TEST_F(TensorMaps, HaveATypeOfTheirOwnIfItIsStated) {
  std::vector<gantry_value> args = arguments();
  args[1] = dtype_value(dtypes::float32);
  args.push_back(int_value(11));

  ASSERT_TRUE(world->call_named(encode, args).ok());

  EXPECT_EQ(fake.tensor_maps[0][0], 11u) << "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32";
}

TEST_F(TensorMaps, HaveTheTypesOfTensors) {
  struct Row {
    const char* dtype;
    std::uint64_t number;
  };
  for (const Row& row : {Row{"int8", 0},
                         {"uint8", 0},
                         {"bool8", 0},
                         {"float8_e4m3fn", 0},
                         {"float8_e8m0fnu", 0},
                         {"int16", 1},
                         {"uint16", 1},
                         {"uint32", 2},
                         {"int32", 3},
                         {"uint64", 4},
                         {"int64", 5},
                         {"float16", 6},
                         {"float32", 7},
                         {"float64", 8},
                         {"bfloat16", 9},
                         {"float4_e2m1fn", 13},
                         {"float4_e2m1fnx2", 13}}) {
    fake.tensor_maps.clear();
    std::vector<gantry_value> args = arguments();
    args[1] = cstring_value(row.dtype);

    const Status encoded = world->call_named(encode, args);

    ASSERT_TRUE(encoded.ok()) << row.dtype << encoded.error().message;
    EXPECT_EQ(fake.tensor_maps[0][0], row.number) << row.dtype;
  }
}

TEST_F(TensorMaps, HaveOneToFiveDimensions) {
  std::vector<gantry_value> args{pointer_value(map), cstring_value("int8"), int_value(5),
                                 pointer_value(data)};
  for (std::int64_t i = 0; i < 5 + 4 + 5 + 5; ++i) args.push_back(int_value(i + 1));
  for (std::int64_t i = 0; i < 4; ++i) args.push_back(int_value(0));

  ASSERT_TRUE(world->call_named(encode, args).ok());

  EXPECT_EQ(fake.tensor_maps[0].size(), 3u + 5 + 4 + 5 + 5 + 4);
}

TEST_F(TensorMaps, RefuseArgumentsThatDoNotFit) {
  EXPECT_THAT(with(0, pointer_value(map + 1)), HasSubstr("expected a multiple of 64"));
  EXPECT_THAT(with(0, pointer_value(nullptr)), HasSubstr("argument 0 (map) is"));
  EXPECT_THAT(with(1, cstring_value("complex64")),
              HasSubstr("argument 1 (dtype) is complex64, which tensor maps do not have"));
  EXPECT_THAT(with(2, int_value(6)), HasSubstr("argument 2 (rank) is 6, expected 1 to 5"));
  EXPECT_THAT(with(2, int_value(0)), HasSubstr("argument 2 (rank) is 0, expected 1 to 5"));
  EXPECT_THAT(with(2, int_value(3)), HasSubstr("argument count is 15, expected 19 to 20"));
  EXPECT_THAT(with(3, pointer_value(data + 8)), HasSubstr("expected a multiple of 16"));
  EXPECT_THAT(with(3, int_value(16)), HasSubstr("argument 3 (data) is an integer"));
  EXPECT_THAT(with(4, int_value(-1)),
              HasSubstr("argument 4 is -1, expected a number from 0 to 9223372036854775807"));
  EXPECT_THAT(with(7, int_value(std::int64_t{1} << 32)),
              HasSubstr("argument 7 is 4294967296, expected a number from 0 to 4294967295"));
  EXPECT_THAT(fake.tensor_maps, IsEmpty());
}

TEST_F(TensorMaps, AreRefusedByTheDriver) {
  fake.fail_function = "cuTensorMapEncodeTiled";
  fake.fail_result = CUDA_ERROR_INVALID_VALUE;

  EXPECT_THAT(message(arguments()),
              ::testing::StartsWith("cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE (1)"));
}

// `gantry inspect` and `gantry plugins doctor` know from it which functions a host has.
TEST(CudaManifest, ListsTheFunctionsOfThePlugin) {
  std::vector<std::string> functions;
  for (const auto rows : {sort_scan_functions(), tensor_map_functions()}) {
    for (const FunctionRow& row : rows) functions.emplace_back(row.name);
  }

  EXPECT_THAT(gantry::test::globals_of("plugins/cuda/cuda.yaml.in"),
              ::testing::UnorderedElementsAreArray(functions));
}

}  // namespace
}  // namespace gantry::cuda::test
