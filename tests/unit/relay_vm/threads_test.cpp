// SPDX-License-Identifier: Apache-2.0
//
// Machines of several threads over one executable and one set of constants.
#include "tests/unit/relay_vm/fixture.hpp"

#include <functional>
#include <thread>

namespace gantry::relay::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class RelayThreads : public MachineTest {
 protected:
  // main(x): x + [10, 20], where the constant is on the device `handles`, in a storage of 8 bytes.
  // Its kernel has no state, as those of the fixture.
  void assemble() {
    fake.add_function("sum", [this](const gantry_env*, std::span<const gantry_value> args,
                                    gantry_value*, gantry_status*) {
      const gantry_tensor& out = *gantry_value_tensor(&args[2]);
      for (std::size_t i = 0; i < 2; ++i) {
        write(out, i,
              read<float>(*gantry_value_tensor(&args[0]), i) +
                  read<float>(*gantry_value_tensor(&args[1]), i));
      }
      return GANTRY_OK;
    });
    const std::int64_t field = code.device(handles.type);
    const auto sum = code.packed("sum");
    const auto constant = code.floats({2}, {10, 20});
    code.constants.back().device = field;
    code.function("main", {"x"}, 9);
    code.load_const(constant, 1);
    code.tensor(dtypes::float32, {2}, 8, 2, 5);
    code.invoke_packed(sum, {0, 1, 5});
    code.ret(5);
    code.function("constant", {}, 1);
    code.load_const(constant, 0);
    code.ret(0);
    read();
  }
  // Runs a function on each thread with its number.
  static void on_threads(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
    for (std::thread& thread : threads) thread.join();
  }
  std::unique_ptr<Machine> started() const {
    auto made = std::make_unique<Machine>(Host(fake.table()), loaded);
    EXPECT_TRUE(made->initialize(std::vector{handles}, nullptr).ok());
    return made;
  }
  bool adds(Machine& own, float number) {
    const Value x = floats({number, number});
    const gantry_value args[] = {x.get()};
    const auto sum = own.run(0, nullptr, args);
    return sum.ok() && elements(*sum) == std::vector<float>{number + 10, number + 20};
  }

  static constexpr int count = 4, runs = 50;
};

TEST_F(RelayThreads, RunOneMachineEach) {
  assemble();
  std::vector<int> right(count, 0);

  on_threads([&](int thread) {
    const auto own = started();
    for (int i = 0; i < runs; ++i) right[static_cast<std::size_t>(thread)] += adds(*own, float(i));
  });

  EXPECT_THAT(right, Each(runs));
}

// Threads that copy a constant at the same time keep one of the copies.
TEST_F(RelayThreads, ShareOneSetOfConstants) {
  assemble();
  std::vector<Value> constants(count);

  on_threads([&](int thread) {
    constants[static_cast<std::size_t>(thread)] = loaded->constant(0, handles, {}, nullptr).value();
  });

  for (const Value& constant : constants) EXPECT_EQ(constant.object(), constants[0].object());
}

// A machine whose storage exceeds the limit frees those of machines that other threads begin to run.
TEST_F(RelayThreads, FreeTheMemoryOfIdleMachines) {
  memory = std::make_shared<StorageMemory>("gantry.relay-vm", 2 * 4096);
  assemble();
  std::vector<int> right(count, 0);

  on_threads([&](int thread) {
    const auto own = started();
    for (int i = 0; i < runs;) {
      const bool is_right = adds(*own, float(i));
      right[static_cast<std::size_t>(thread)] += is_right;
      i += is_right;
    }
  });

  EXPECT_THAT(right, Each(runs));
}

// A caller may write its results while others run.
TEST_F(RelayThreads, ReceiveConstantsOfTheirOwn) {
  assemble();
  std::vector<int> right(count, 0);

  on_threads([&](int thread) {
    const auto own = started();
    for (int i = 0; i < runs; ++i) {
      const auto constant = own->run(1, nullptr, {});
      right[static_cast<std::size_t>(thread)] +=
          constant.ok() && elements(*constant) == std::vector<float>{10, 20};
      if (constant.ok()) write(*constant->tensor(), 0, float(thread));
    }
  });

  EXPECT_THAT(right, Each(runs));
}

}  // namespace
}  // namespace gantry::relay::test
