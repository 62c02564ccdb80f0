// SPDX-License-Identifier: Apache-2.0
#include <gantry/handle.hpp>
#include <gantry/launch_tags.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LaunchTags parsed_tags(const std::vector<std::string>& tags) {
  Result<LaunchTags> result = parse_launch_tags(tags, "add");
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

TEST(LaunchTags, NumberEveryAxisInTheOrderOfTheFile) {
  const LaunchTags tags = parsed_tags(
      {"threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockIdx.z",
       "clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z", "preferredClusterCtaIdx.x",
       "preferredClusterCtaIdx.y", "preferredClusterCtaIdx.z"});

  EXPECT_THAT(tags.axes, ElementsAre(3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(tags.argument_count(), 12u);
  EXPECT_TRUE(tags.has_cluster());
  EXPECT_TRUE(tags.has_preferred_cluster());
  EXPECT_FALSE(tags.has_dynamic_shared_memory);
}

TEST(LaunchTags, RecogniseFlagsOfBothPrefixes) {
  for (const std::string prefix : {"tir.", "tirx."}) {
    const LaunchTags tags =
        parsed_tags({"blockIdx.x", prefix + "use_programtic_dependent_launch",
                     prefix + "use_cooperative_launch", prefix + "use_dyn_shared_memory"});

    EXPECT_THAT(tags.axes, ElementsAre(0));
    EXPECT_TRUE(tags.is_programmatic_dependent);
    EXPECT_TRUE(tags.is_cooperative);
    EXPECT_TRUE(tags.has_dynamic_shared_memory);
    EXPECT_EQ(tags.argument_count(), 2u);
  }
}

TEST(LaunchTags, IgnoreTagsThatDoNotAffectTheLaunch) {
  const LaunchTags tags = parsed_tags({"blockIdx.x", "paramWriteAccess:[0,1]"});

  EXPECT_THAT(tags.axes, ElementsAre(0));
  EXPECT_FALSE(tags.is_cooperative);
  EXPECT_FALSE(tags.is_programmatic_dependent);
  EXPECT_THAT(parsed_tags({}).axes, IsEmpty());
}

TEST(LaunchTags, CountTheDimensionsOfGridAndBlock) {
  EXPECT_EQ(parsed_tags({}).work_dimensions(), 1u);
  EXPECT_EQ(parsed_tags({"blockIdx.x", "threadIdx.y"}).work_dimensions(), 2u);
  EXPECT_EQ(parsed_tags({"blockIdx.z", "threadIdx.x"}).work_dimensions(), 3u);
  EXPECT_EQ(parsed_tags({"blockIdx.x", "clusterCtaIdx.z"}).work_dimensions(), 1u);
}

struct BadTags {
  std::string name;
  std::vector<std::string> tags;
  Code code;
  std::string message;
};
void PrintTo(const BadTags& bad, std::ostream* out) { *out << bad.name; }

class LaunchTagsRefuse : public ::testing::TestWithParam<BadTags> {};

TEST_P(LaunchTagsRefuse, NamingTheTag) {
  const BadTags& bad = GetParam();

  const Result<LaunchTags> tags = parse_launch_tags(bad.tags, "add");

  ASSERT_FALSE(tags.ok());
  EXPECT_EQ(tags.error().code, bad.code);
  EXPECT_EQ(tags.error().reason, "LAUNCH_TAG");
  EXPECT_EQ(tags.error().offset, no_offset);
  EXPECT_EQ(tags.error().message, bad.message);
}

INSTANTIATE_TEST_SUITE_P(
    All, LaunchTagsRefuse,
    ::testing::Values(BadTags{"Unknown",
                              {"warpIdx.x"},
                              Code::unsupported,
                              "kernel \"add\": launch tag \"warpIdx.x\" is unknown"},
                      BadTags{"UnknownDimension",
                              {"blockIdx.w"},
                              Code::unsupported,
                              "kernel \"add\": launch tag \"blockIdx.w\" is unknown"},
                      BadTags{"NoDimension",
                              {"blockIdx."},
                              Code::unsupported,
                              "kernel \"add\": launch tag \"blockIdx.\" is unknown"},
                      BadTags{"VirtualThread",
                              {"vthread"},
                              Code::unsupported,
                              "kernel \"add\": launch tag \"vthread\" is unknown"},
                      BadTags{"UnknownFlag",
                              {"tir.use_magic"},
                              Code::unsupported,
                              "kernel \"add\": launch tag \"tir.use_magic\" is unknown"},
                      BadTags{"FlagWithoutPrefix",
                              {"use_dyn_shared_memory"},
                              Code::unsupported,
                              "kernel \"add\": launch tag \"use_dyn_shared_memory\" is unknown"},
                      BadTags{"AxisBehindSharedMemory",
                              {"tir.use_dyn_shared_memory", "blockIdx.x"},
                              Code::malformed,
                              "kernel \"add\": launch tag \"blockIdx.x\" follows the shared-memory "
                              "tag, which is the last"}),
    [](const auto& test) { return test.param.name; });

TEST(LaunchExtents, AreReadFromTheArguments) {
  const LaunchTags tags = parsed_tags({"threadIdx.x", "blockIdx.y", "clusterCtaIdx.x",
                                       "preferredClusterCtaIdx.z", "tirx.use_dyn_shared_memory"});

  const Result<LaunchExtents> extents =
      tags.extents({{int_value(64), int_value(7), int_value(2), int_value(4), int_value(4096)}});

  ASSERT_TRUE(extents.ok()) << extents.error().message;
  EXPECT_THAT(extents->block, ElementsAre(64, 1, 1));
  EXPECT_THAT(extents->grid, ElementsAre(1, 7, 1));
  EXPECT_THAT(extents->cluster, ElementsAre(2, 1, 1));
  EXPECT_THAT(extents->preferred_cluster, ElementsAre(1, 1, 4));
  EXPECT_EQ(extents->dynamic_shared_bytes, 4096u);
}

// Compilers since v0.8 pass 0 for an empty dynamic extent.
TEST(LaunchExtents, AreEmptyIfAnExtentIsZero) {
  for (const char* const tag : {"blockIdx.x", "threadIdx.z"}) {
    const LaunchTags tags = parsed_tags({tag, "blockIdx.y"});

    const auto empty = tags.extents({{int_value(0), int_value(2)}});

    EXPECT_TRUE(empty->is_empty) << tag;
    EXPECT_THAT(empty->grid, ElementsAre(1, 2, 1)) << tag;
    EXPECT_FALSE(tags.extents({{int_value(1), int_value(2)}})->is_empty) << tag;
  }
}

TEST(LaunchExtents, AreNotEmptyWithoutAClusterExtent) {
  EXPECT_FALSE(parsed_tags({"clusterCtaIdx.x"}).extents({{int_value(0)}})->is_empty);
}

// A convolution of v0.12: each stage of the kernel names the axis.
TEST(LaunchExtents, OfARepeatedAxisAreEqual) {
  const LaunchTags tags = parsed_tags({"blockIdx.x", "threadIdx.x", "threadIdx.x", "threadIdx.x"});
  EXPECT_EQ(tags.argument_count(), 4u);

  const auto same = tags.extents({{int_value(3), int_value(8), int_value(8), int_value(8)}});
  const auto other = tags.extents({{int_value(3), int_value(8), int_value(8), int_value(4)}});

  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_THAT(same->block, ElementsAre(8, 1, 1));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::invalid);
  EXPECT_EQ(other.error().reason, "LAUNCH_EXTENT");
  EXPECT_EQ(other.error().message, "extent of threadIdx.x is 8 and 4, expected one");
}

struct BadExtent {
  std::string name;
  std::vector<std::string> tags;
  gantry_value argument;
  std::string reason;
  std::string message;
};
void PrintTo(const BadExtent& bad, std::ostream* out) { *out << bad.name; }

class LaunchExtentsRefuse : public ::testing::TestWithParam<BadExtent> {};

TEST_P(LaunchExtentsRefuse, NamingTheAxis) {
  const BadExtent& bad = GetParam();

  const Result<LaunchExtents> extents = parsed_tags(bad.tags).extents({{bad.argument}});

  ASSERT_FALSE(extents.ok());
  EXPECT_EQ(extents.error().code, Code::invalid);
  EXPECT_EQ(extents.error().reason, bad.reason);
  EXPECT_EQ(extents.error().message, bad.message);
}

INSTANTIATE_TEST_SUITE_P(
    All, LaunchExtentsRefuse,
    ::testing::Values(BadExtent{"NoInteger",
                                {"threadIdx.y"},
                                float_value(1),
                                "ARGUMENT_KIND",
                                "extent of threadIdx.y has kind 3, expected an integer"},
                      BadExtent{"Negative",
                                {"blockIdx.z"},
                                int_value(-1),
                                "LAUNCH_EXTENT",
                                "extent of blockIdx.z is -1, range is 0 to 2147483647"},
                      BadExtent{
                          "PastInt32",
                          {"clusterCtaIdx.x"},
                          int_value(std::int64_t{1} << 31),
                          "LAUNCH_EXTENT",
                          "extent of clusterCtaIdx.x is 2147483648, range is 0 to 2147483647"},
                      BadExtent{"SharedNoInteger",
                                {"tir.use_dyn_shared_memory"},
                                float_value(1),
                                "ARGUMENT_KIND",
                                "dynamic shared memory has kind 3, expected an integer"},
                      BadExtent{"SharedNegative",
                                {"tir.use_dyn_shared_memory"},
                                int_value(-8),
                                "LAUNCH_EXTENT",
                                "dynamic shared memory is -8 bytes, minimum is 0"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
