// SPDX-License-Identifier: Apache-2.0
#include "plugins/graph/payload.hpp"

#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

#include <random>

namespace gantry::graph::test {
namespace {

using ::testing::ElementsAre;

class Payloads : public Model {
 protected:
  Result<std::shared_ptr<const Payload>> read(const std::vector<std::uint8_t>& bytes,
                                              std::uint32_t flags) {
    const gantry_blob blob =
        gantry::test::payload_blob(bytes, -1, (flags & GANTRY_BLOB_EXACT) != 0);
    GANTRY_TRY(auto payload, gantry::test::read_whole(blob, read_payload, &consumed));
    GANTRY_CHECK(payload->parse_graph());
    return payload;
  }
  std::uint64_t consumed = 0;
  const std::vector<std::uint8_t> good =
      payload_bytes(small_graph, {small_p0, {"spare", {1}, {1}}}, "resnet");
};

TEST_F(Payloads, AreReadAsViews) {
  const auto payload = read(good, GANTRY_BLOB_EXACT);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  EXPECT_EQ((*payload)->list.module_name, "resnet");
  EXPECT_EQ((*payload)->list.graph_json, small_graph);
  ASSERT_EQ((*payload)->parameters.size(), 2u);
  EXPECT_EQ((*payload)->parameters[1]->name, "spare");
  EXPECT_GE((*payload)->parameters[0]->array.data.data(), good.data());
  EXPECT_EQ(consumed, good.size());
}

TEST_F(Payloads, ReportTheirSize) {
  std::vector<std::uint8_t> longer = good;
  longer.insert(longer.end(), 100, 0xff);

  EXPECT_TRUE(read(longer, 0).ok());
  EXPECT_EQ(consumed, good.size());

  const auto exact = read(longer, GANTRY_BLOB_EXACT);
  ASSERT_FALSE(exact.ok());
  EXPECT_EQ(exact.error().offset, good.size());
  EXPECT_EQ(exact.error().reason, "BLOB_TRAILING");
  EXPECT_EQ(exact.error().message, "payload has 100 bytes after its last field, expected none");
}

TEST_F(Payloads, AreRejectedAtEveryTruncation) {
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::uint8_t> cut(good.begin(),
                                        good.begin() + static_cast<std::ptrdiff_t>(size));
    const auto payload = read(cut, 0);
    ASSERT_FALSE(payload.ok()) << size;
    EXPECT_EQ(payload.error().code, Code::malformed) << size;
  }
}

TEST_F(Payloads, WithDifferentCountsAreRejected) {
  std::vector<std::uint8_t> bytes = good;
  const std::size_t count_at = 8 + small_graph.size();
  bytes[count_at] = 3;

  const auto payload = read(bytes, 0);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().offset, count_at + 8);
  EXPECT_EQ(payload.error().message,
            concat("names are 2, the array count at ", Hex{count_at}, " is 3"));
}

TEST_F(Payloads, WithADuplicateNameAreRejected) {
  const FloatParameter other{"other", {1}, {1}};
  const std::vector<FloatParameter> beside{small_p0, small_p0};
  const std::vector<FloatParameter> apart{small_p0, other, small_p0};
  for (const std::vector<FloatParameter>& parameters : {beside, apart}) {
    const auto payload = read(payload_bytes(small_graph, parameters), 0);

    ASSERT_FALSE(payload.ok());
    EXPECT_EQ(payload.error().message, "parameter \"p0\" is given twice");
  }
}

TEST_F(Payloads, RejectAParameterThatDiffersFromItsInput) {
  const std::vector<std::uint8_t> bytes = payload_bytes(small_graph, {{"p0", {3}, {1, 2, 3}}});
  const auto payload = read(bytes, 0);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::malformed);
  EXPECT_EQ(payload.error().offset, bytes.size() - 8 - 7 - 12);
  EXPECT_EQ(payload.error().message,
            "parameter \"p0\" is float32[3] in 12 bytes, its input is float32[2, 2] in 16");
}

TEST_F(Payloads, RejectAParameterOfAnotherTypeAndTheSameSize) {
  const std::string graph =
      replaced(small_graph, R"(["float32","float32")", R"(["float32","int32")");
  const auto payload = read(payload_bytes(graph, {small_p0}), 0);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().message,
            "parameter \"p0\" is float32[2, 2] in 16 bytes, its input is int32[2, 2] in 16");
}

TEST_F(Payloads, ReportTheOffsetOfAGraphError) {
  const std::string graph = replaced(small_graph, "[[3,0,0]]", "[[9,0,0]]");
  const auto payload = read(payload_bytes(graph, {}), 0);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().offset, 8 + graph.find("[[9"));
}

TEST_F(Payloads, SurviveAnyChangedByte) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::uint8_t> bytes = good;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    Result<Value> factory = load(bytes);
    if (!factory.ok()) continue;
    const Result<Value> made = call(*factory, "resnet", {device_value(gantry::test::cpu)});
    if (made.ok()) (void)call(*made, "run");
  }
}

TEST_F(Payloads, AreSavedWithTheAlignmentThatTheSinkRequests) {
  const Value factory = load(good).value();
  for (const std::uint32_t alignment : {64, 128, 4096}) {
    for (const std::uint64_t position : {0, 1, 64, 127, 4096}) {
      const std::vector<std::uint8_t> bytes = saved(factory, position, alignment);

      const auto payload = read(bytes, GANTRY_BLOB_EXACT);

      ASSERT_TRUE(payload.ok()) << payload.error().message;
      ASSERT_EQ((*payload)->parameters.size(), 2u) << "fillers are not parameters";
      EXPECT_EQ((*payload)->parameters[0]->name, "p0");
      for (const Parameter* parameter : (*payload)->parameters) {
        EXPECT_EQ((position + parameter->array.data_at) % alignment, 0u);
      }
      EXPECT_EQ((*payload)->list.module_name, "resnet");
      EXPECT_EQ((*payload)->list.graph_json, small_graph);
    }
  }
}

// Each part that has no meaning for the executor has a value that no compiler writes.
TEST_F(Payloads, AreSavedFromTheirParts) {
  std::vector<std::uint8_t> bytes = payload_bytes(small_graph, {
                                                                   {"__gantry_fill_9", {2}, {5, 6}},
                                                                   small_p0,
                                                                   {"__gantry_fill_0", {1}, {7}},
                                                                   {"spare", {1}, {1}},
                                                               });
  constexpr std::string_view begin("\x3f\xa1\xb4\x96\xf0\x40\x5e\xdd", 8);
  for (auto at = bytes.begin();; ++at) {
    at = std::search(at, bytes.end(), begin.begin(), begin.end(),
                     [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
    if (at == bytes.end()) break;
    // the reserved word and the device's id
    at[8] = 5;
    at[20] = 3;
  }

  EXPECT_EQ(saved(load(bytes).value()), bytes);
}

TEST_F(Payloads, AreSavedByteForByteWithoutAnAlignment) {
  const std::vector<std::uint8_t> aligned = saved(load(good).value(), 0, 128);

  EXPECT_EQ(saved(load(good).value()), good);
  EXPECT_EQ(saved(load(aligned).value(), 7), aligned);
}

TEST_F(Payloads, AreSavedAlignedTheSameAgain) {
  const std::vector<std::uint8_t> once = saved(load(good).value(), 0, 128);

  EXPECT_EQ(saved(load(once).value(), 0, 128), once);
}

TEST_F(Payloads, AreNotSavedWithAnAlignmentThatIsNoPowerOfTwo) {
  const Value factory = load(good).value();
  const auto& pair = *reinterpret_cast<const gantry_module*>(factory.object() + 1);
  const gantry_sink sink{sizeof sink, 96, nullptr, 0,
                         [](void*, const void*, std::uint64_t, gantry_status*) {
                           ADD_FAILURE() << "the sink is written to";
                           return gantry_code{GANTRY_OK};
                         }};
  StatusBuffer status;

  const gantry_code code = pair.table->save_binary(pair.self, &sink, status.get());

  EXPECT_EQ(code, GANTRY_INVALID);
  EXPECT_EQ(status.error(code, "save_binary").message,
            "alignment is 96, expected a power of two up to 65536");
}

TEST_F(Payloads, WhoseParametersAreRemovedAreSavedWithoutThem) {
  const Value bare = call(load(good).value(), "remove_params").value();
  for (const std::uint32_t alignment : {0, 128}) {
    EXPECT_EQ(saved(bare, 3, alignment), payload_bytes(small_graph, {}, "resnet"));
  }
}

TEST_F(Payloads, WithoutParametersAreSavedUnchanged) {
  const std::vector<std::uint8_t> bytes = payload_bytes(small_graph, {});

  EXPECT_EQ(saved(load(bytes).value()), bytes);
}

TEST_F(Payloads, ReportAFailureOfTheSink) {
  const Value factory = load(good).value();
  const auto& pair = *reinterpret_cast<const gantry_module*>(factory.object() + 1);
  const gantry_sink full{sizeof full, 0, nullptr, 0,
                         [](void*, const void*, std::uint64_t, gantry_status* status) {
                           return gantry_fail(status, GANTRY_EXHAUSTED, "DISK", "no space left");
                         }};
  StatusBuffer status;

  const gantry_code code = pair.table->save_binary(pair.self, &full, status.get());

  EXPECT_EQ(code, GANTRY_EXHAUSTED);
  EXPECT_EQ(status.error(code, "save_binary").message, "no space left");
}

}  // namespace
}  // namespace gantry::graph::test
