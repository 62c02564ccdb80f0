// SPDX-License-Identifier: Apache-2.0
//
// Models that are prepared, and the work of devices in a trace.
#include "under_test.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <map>
#include <mutex>

namespace gantry::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Runs the model of sdk/example/model.
void run(const Runtime& runtime, const Model& model) {
  Session session = Session::create(model.function().value()).value();
  const std::int64_t shape[] = {100};
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    const Status set = session.set_input(i, runtime.tensor(shape, {2, 32, 1}).value());
    ASSERT_TRUE(set.ok()) << set.error().message;
  }
  const Status ran = session.run();
  EXPECT_TRUE(ran.ok()) << ran.error().message;
}

class PreparedModel : public ::testing::Test {
 protected:
  std::vector<std::string> works() {
    const std::lock_guard lock(mutex);
    return std::exchange(texts, {});
  }
  Model model(const std::string& device, bool prepare) {
    const Module module = runtime.load(path_of(devices[1])).value();
    return runtime.model(module, {device}, {.prepare = prepare}).value();
  }

  std::mutex mutex;
  std::vector<std::string> texts;
  Runtime runtime = make_runtime(false, [this](std::uint64_t, std::string_view text) {
                      const std::lock_guard lock(mutex);
                      if (!text.empty()) texts.emplace_back(text);
                    }).value();
};

TEST_F(PreparedModel, DoesInItsFirstRunWhatEachRunDoes) {
  const Model prepared = model("abacus:1", true);

  EXPECT_THAT(works(), ElementsAre("example.abacus: loading kernel \"axpy2_kernel\" onto abacus:1",
                                   "example.abacus: loading kernel \"lose_kernel\" onto abacus:1",
                                   "example.abacus: loading kernel \"relu_kernel\" onto abacus:1"));
  run(runtime, prepared);
  EXPECT_THAT(works(), IsEmpty());
}

TEST_F(PreparedModel, IsOtherwisePreparedByItsFirstRun) {
  const Model other = model("abacus:1", false);

  EXPECT_THAT(works(), IsEmpty());
  run(runtime, other);
  EXPECT_THAT(works(), ::testing::SizeIs(2));
}

TEST_F(PreparedModel, HasCodeOfOtherDevicesThatIsNot) {
  (void)model("cpu", true);

  EXPECT_THAT(works(), IsEmpty());
}

// Each kernel is once on the track of its stream, within the time of the run.
TEST(TraceOfADevice, HasItsKernels) {
  const Runtime runtime = make_runtime(true).value();
  const Module module = runtime.load(path_of(devices[1])).value();
  const Model model = runtime.model(module, {"abacus:0"}).value();
  run(runtime, model);
  ASSERT_TRUE(runtime.synchronize(runtime.device("abacus:0").value()).ok());

  const auto document = nlohmann::json::parse(runtime.trace_json().value());

  std::map<std::string, int> kernels;
  int process = 0;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] != "kernel") continue;
    ++kernels[event["name"]];
    process = event["pid"];
  }
  EXPECT_THAT(kernels, ElementsAre(std::pair("axpy2_kernel", 1), std::pair("relu_kernel", 1)));
  std::map<std::string, std::string> names;
  for (const auto& event : document["traceEvents"])
    if (event["ph"] == "M" && event["pid"] == process) names[event["name"]] = event["args"]["name"];
  EXPECT_EQ(names["process_name"], "abacus:0 (example.abacus)");
  EXPECT_EQ(names["thread_name"], "default stream");
}

}  // namespace
}  // namespace gantry::conformance
