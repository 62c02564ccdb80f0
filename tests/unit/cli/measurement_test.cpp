// SPDX-License-Identifier: Apache-2.0
//
// Documents of `gantry bench --json`, and the comparison of two.
#include "tools/gantry/common/measurement.hpp"

#include "tests/support/files.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

nlohmann::json document() {
  return nlohmann::json::parse(R"({
    "file": "models/digits.so", "function": null, "devices": ["cpu"],
    "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 64], "digest": "0123456789abcdef"}],
    "capture": false, "threads": 2, "memory": {"mapped": 4096},
    "times": {"median_ns": 5.5, "samples_ns": [5, 6, 5.5, 7]},
    "to_device": {"bytes": 256, "samples_ns": [1, 2]}, "from_device": null,
    "concurrency": [{"at_once": 2, "samples_ns": [9]}, {"at_once": 4, "samples_ns": []}]
  })");
}

std::string error_of(const nlohmann::json& json) {
  const auto all = parse_measurements(json.dump());
  if (all.ok()) return "";
  EXPECT_EQ(all.error().code, Code::malformed);
  EXPECT_EQ(all.error().reason, "BENCH_DOCUMENT");
  return all.error().message;
}

TEST(Measurements, AreReadFromADocument) {
  const auto all = parse_measurements(document().dump());

  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 1u);
  const Measurement& one = all->front();
  EXPECT_EQ(one.subject.file, "digits.so");
  EXPECT_EQ(one.subject.function, "");
  EXPECT_THAT(one.subject.devices, ElementsAre("cpu:0"));
  EXPECT_THAT(one.subject.inputs, ElementsAre("x float32[1, 64] 0123456789abcdef"));
  EXPECT_EQ(one.conditions.threads, 2);
  EXPECT_EQ(one.conditions.file_bytes, 4096);
  ASSERT_EQ(one.series.size(), 3u);
  EXPECT_EQ(one.series[0].name, "run");
  EXPECT_THAT(one.series[0].samples_ns, ElementsAre(5, 6, 5.5, 7));
  EXPECT_EQ(one.series[1].name, "host to device");
  EXPECT_EQ(one.series[2].name, "run, 2 at once");
}

TEST(Measurements, OfAllDevicesAreReadFromOneDocument) {
  nlohmann::json second = document();
  second["devices"] = {"opencl:0"};

  const auto all =
      parse_measurements(nlohmann::json{{"reports", {document(), second}}, {"missing", {}}}.dump());

  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 2u);
  EXPECT_THAT((*all)[1].subject.devices, ElementsAre("opencl:0"));
}

struct BadDocument {
  // JSON pointer
  std::string where;
  nlohmann::json value;
  std::string message;
};

TEST(Measurements, RefuseOtherDocumentsAndNameTheValue) {
  const BadDocument cases[] = {
      {"/file", 7, "document of gantry bench: file is 7, expected a string"},
      {"/devices", "cpu:0", "devices is \"cpu:0\", expected a list"},
      {"/devices/0", nullptr, "devices[0] is null, expected a string"},
      {"/inputs/0", {1}, "inputs[0] is a list, expected an object"},
      {"/inputs/0/shape/1", -1, "inputs[0].shape[1] is -1, expected an integer from 0 to "},
      {"/threads", 1.5, "threads is 1.5, expected an integer from 0 to "},
      {"/capture", 0, "capture is 0, expected true or false"},
      {"/memory", 5, "memory has no \"mapped\""},
      {"/times", {5}, "times is a list, expected an object"},
      {"/times/samples_ns/2", -5,
       "times.samples_ns[2] is -5, expected a finite number that is not negative"},
      {"/times/samples_ns/2", "inf",
       "times.samples_ns[2] is \"inf\", expected a finite number that is not negative"},
      {"/concurrency", 1, "concurrency is 1, expected a list"},
      {"/concurrency/0/at_once", 0, "concurrency[0].at_once is 0, expected an integer from 1 to "},
      {"/reports", nlohmann::json::array(), "it has no report of a device"},
  };
  for (const BadDocument& bad : cases) {
    nlohmann::json json = document();
    json[nlohmann::json::json_pointer(bad.where)] = bad.value;

    EXPECT_THAT(error_of(json), HasSubstr(bad.message)) << bad.where;
  }
  EXPECT_EQ(error_of(nlohmann::json::array()),
            "document of gantry bench: it is a list, expected an object");
}

TEST(Measurements, RefuseEveryTruncation) {
  const std::string whole = document().dump();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_measurements(whole.substr(0, size)).ok()) << size;
}

TEST(Measurements, NameTheFile) {
  const test::TempDir temp;
  test::write_file(temp / "other.json", "{}");

  const auto all = read_measurements((temp / "other.json").string());

  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().message,
            concat("document of gantry bench: the document has no \"file\"\n  while reading ",
                   gantry::quoted((temp / "other.json").string())));
}

std::string refused(const MeasuredSubject& now, std::span<const Measurement> before) {
  const auto found = comparable(now, before, "before.json");
  if (found.ok()) return "";
  EXPECT_EQ(found.error().code, Code::invalid);
  EXPECT_EQ(found.error().reason, "BENCH_SUBJECT");
  return found.error().message;
}

TEST(Baseline, OfAnotherSubjectIsRefusedWithWhatDiffers) {
  const std::vector<Measurement> before = parse_measurements(document().dump()).value();
  MeasuredSubject file = before[0].subject, device = file, inputs = file, function = file;
  file.file = "cnn.so";
  device.devices = {"opencl:0", "cpu:0"};
  inputs.inputs.clear();
  function.function = "prefill";
  MeasuredSubject several = inputs;
  several.file = "cnn.so";

  EXPECT_EQ(refused(before[0].subject, before), "");
  EXPECT_EQ(refused(file, before),
            "\"before.json\" was measured with another file: digits.so before, cnn.so now");
  EXPECT_EQ(refused(device, before),
            "\"before.json\" was measured with another device: cpu:0 before, opencl:0, cpu:0 now");
  EXPECT_EQ(refused(function, before),
            "\"before.json\" was measured with another function: the default one before, prefill "
            "now");
  EXPECT_EQ(refused(inputs, before),
            "\"before.json\" was measured with other inputs: x float32[1, 64] 0123456789abcdef "
            "before, none now");
  EXPECT_EQ(refused(several, before),
            "\"before.json\" was measured with another subject\n"
            "  file: digits.so before, cnn.so now\n"
            "  inputs: x float32[1, 64] 0123456789abcdef before, none now");
}

TEST(Baseline, OfSeveralDevicesIsThatOfTheSameDevice) {
  std::vector<Measurement> before = parse_measurements(document().dump()).value();
  before.push_back(before[0]);
  before[1].subject.devices = {"opencl:0"};

  const auto found = comparable(before[1].subject, before, "before.json");

  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, &before[1]);
}

TEST(Comparison, HasTheSeriesThatBothHave) {
  Measurement before = parse_measurements(document().dump()).value().front();
  Measurement now = before;
  now.series.pop_back();
  now.series[0].samples_ns = {10, 11, 12, 13, 10, 11, 12, 13};
  before.series[0].samples_ns = {20, 21, 22, 20, 21, 22, 20, 22};

  const Comparison found = compare(now, before);

  ASSERT_EQ(found.series.size(), 2u);
  EXPECT_EQ(found.series[0].name, "run");
  EXPECT_EQ(found.series[0].before_ns, 21);
  EXPECT_EQ(found.series[0].now_ns, 11.5);
  EXPECT_EQ(change_text(found.series[0]), "faster");
  EXPECT_EQ(change_text(found.series[1]), "fewer than 6 runs");
  EXPECT_THAT(found.other_conditions, IsEmpty());
}

TEST(Comparison, MentionsOtherConditions) {
  const Measurement before = parse_measurements(document().dump()).value().front();
  Measurement now = before;
  now.conditions = {1, true, 5000};

  EXPECT_THAT(compare(now, before).other_conditions,
              ElementsAre("threads: 2 before, 1 now", "replays of a recording: no before, yes now",
                          "bytes of the file: 4096 before, 5000 now"));
}

}  // namespace
}  // namespace gantry::cli
