// SPDX-License-Identifier: Apache-2.0
//
// Executors of several threads over one factory.
#include "tests/unit/aot/aot_model.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <thread>

namespace gantry::aot::test {
namespace {

using ::testing::Each;

class AotThreads : public AotModel {
 protected:
  AotThreads() {
    // As the model's function, without a record of its calls.
    fake.add_function("model___tvm_main__",
                      [](const gantry_env*, std::span<const gantry_value> args, gantry_value*,
                         gantry_status*) -> gantry_code {
                        const auto floats = [&](std::size_t i, std::size_t offset = 0) {
                          return reinterpret_cast<float*>(
                              static_cast<std::uint8_t*>(args[i].tensor->data) + offset);
                        };
                        const float* const c = floats(3, 128);
                        for (int i = 0; i < 4; ++i)
                          floats(2)[i] = floats(0)[i] * floats(1)[0] + c[i];
                        ++*static_cast<std::uint32_t*>(args[4].tensor->data);
                        return GANTRY_OK;
                      });
  }
  // Returns how often each thread was right.
  static std::vector<int> on_threads(const std::function<bool(float)>& is_right) {
    std::vector<int> right(4, 0);
    std::vector<std::thread> threads;
    for (int& count : right) {
      threads.emplace_back([&] {
        for (int i = 0; i < runs; ++i) count += is_right(static_cast<float>(i));
      });
    }
    for (std::thread& thread : threads) thread.join();
    return right;
  }
  bool is_right(const Value& executor, float x) {
    return run(executor, {x, 2, 3, 4}) == std::vector<float>{2 * x + 10, 24, 36, 48};
  }

  static constexpr int runs = 20;
};

TEST_F(AotThreads, RunOneExecutorEach) {
  fake.has_batches = true;
  const Value factory = load(payload({}), 1).value();

  EXPECT_THAT(on_threads([&](float x) {
                const Value own =
                    call(factory, "default", {device_value(gantry::test::cpu)}).value();
                return is_right(own, x) && is_right(own, x + 1);
              }),
              Each(runs));
}

// The parameter is used in place until it is set.
TEST_F(AotThreads, ShareAlignedParameters) {
  const std::vector<std::uint8_t> aligned =
      saved(load(payload({{"x", {1, 2, 3, 4}}})).value(), 128);
  const Value factory = load(aligned).value();

  EXPECT_THAT(
      on_threads([&](float x) {
        const Value own = call(factory, "default", {device_value(gantry::test::cpu)}).value();
        const Value shared = call(own, "get_input", {int_value(0)}).value();
        return floats_of(*shared.tensor()) == std::vector<float>{1, 2, 3, 4} && is_right(own, x);
      }),
      Each(runs));
}

}  // namespace
}  // namespace gantry::aot::test
