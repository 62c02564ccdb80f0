// SPDX-License-Identifier: Apache-2.0
//
// The calls of a device that records runs, in order.
#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

#include <utility>

namespace gantry::graph::test {
namespace {

using gantry::test::cpu;
using gantry::test::handles;
using ::testing::ElementsAre;

// y = -x on the device that records.
const char one_device[] = R"({"nodes":[
{"op":"null","name":"x","inputs":[]},
{"op":"tvm_op","name":"y","attrs":{"func_name":"step","num_inputs":"1","num_outputs":"1","flatten_data":"0"},"inputs":[[0,0]]}],
"arg_nodes":[0],"heads":[[1,0]],"node_row_ptr":[0,1,2],
"attrs":{"dltype":["list_str",["float32","float32"]],"device_index":["list_int",[4,4]],
"storage_id":["list_int",[0,1]],"shape":["list_shape",[[2],[2]]]}})";

class Replays : public Model {
 protected:
  // The operator appears in the list of the device's calls.
  Replays() {
    fake.add_function(
        "step",
        [this](const gantry_env* env, std::span<const gantry_value>, gantry_value*,
               gantry_status* status) -> gantry_code {
          fake.device_calls.push_back(env->stream == nullptr ? "step default" : "step own");
          if (!step_fails) return GANTRY_OK;
          return gantry_fail(status, GANTRY_UNAVAILABLE, "DRIVER", "the driver is gone");
        });
    factory_ = load(payload_bytes(one_device, {})).value();
  }
  Value created() { return call(factory_, "cuda_graph_create", {device_value(handles)}).value(); }
  // The device's calls during one run.
  std::vector<std::string> run(const Value& executor, const gantry_env* env = nullptr) {
    fake.device_calls.clear();
    ran = call(executor, "run", {}, env).ok();
    return fake.device_calls;
  }
  bool step_fails = false;
  bool ran = false;

 private:
  Value factory_;
};

TEST_F(Replays, BeginWithAnEmptyRecording) {
  const Value executor = created();

  EXPECT_THAT(fake.device_calls,
              ElementsAre("capture_begin own", "capture_end own", "capture_destroy"));
}

// Resources that operators allocate for a stream exist before the recording.
TEST_F(Replays, RunOnceBetweenWaitsThenRecordThenLaunch) {
  const Value executor = created();

  EXPECT_THAT(run(executor), ElementsAre("synchronize default", "step own", "synchronize own"));
  EXPECT_THAT(run(executor), ElementsAre("capture_begin own", "step own", "capture_end own",
                                         "capture_launch default"));
  EXPECT_THAT(run(executor), ElementsAre("capture_launch default"));
}

TEST_F(Replays, UseTheCallersStreamOfTheirDevice) {
  int stream = 0;
  const gantry_env env{handles, &stream, nullptr, nullptr};
  const gantry_env elsewhere{cpu, &stream, nullptr, nullptr};
  const Value executor = created();

  EXPECT_THAT(run(executor, &env),
              ElementsAre("synchronize caller's", "step own", "synchronize own"));
  run(executor, &env);
  EXPECT_THAT(run(executor, &env), ElementsAre("capture_launch caller's"));
  EXPECT_THAT(run(executor, &elsewhere), ElementsAre("capture_launch default"));
}

TEST_F(Replays, RecordAgainAfterMemoryHasMoved) {
  const Value executor = created();
  run(executor);
  run(executor);
  Floats like({2});
  like.tensor.device = handles;
  const Value other = host.tensor_new(like.tensor).value();

  ASSERT_TRUE(call(executor, "set_input_zero_copy", {int_value(0), other.get()}).ok());

  EXPECT_THAT(run(executor), ElementsAre("capture_destroy", "capture_begin own", "step own",
                                         "capture_end own", "capture_launch default"));
}

TEST_F(Replays, DiscardARecordingThatFails) {
  const Value executor = created();
  run(executor);
  step_fails = true;

  EXPECT_THAT(run(executor),
              ElementsAre("capture_begin own", "step own", "capture_end own", "capture_destroy"));
  EXPECT_FALSE(ran);

  step_fails = false;
  EXPECT_THAT(run(executor), ElementsAre("capture_begin own", "step own", "capture_end own",
                                         "capture_launch default"));
}

TEST_F(Replays, RunAgainBetweenWaitsAfterTheirFirstRunHasFailed) {
  const Value executor = created();
  step_fails = true;
  EXPECT_THAT(run(executor), ElementsAre("synchronize default", "step own"));
  step_fails = false;

  EXPECT_THAT(run(executor), ElementsAre("synchronize default", "step own", "synchronize own"));
}

TEST_F(Replays, DestroyTheirRecordingAndStream) {
  {
    const Value executor = created();
    run(executor);
    run(executor);
    fake.device_calls.clear();
  }

  EXPECT_THAT(fake.device_calls, ElementsAre("capture_destroy", "stream_destroy own"));
}

}  // namespace
}  // namespace gantry::graph::test
