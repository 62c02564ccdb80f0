// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/digits.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gantry {
namespace {

using test::Digits;
using test::digits_file;
using test::make_runtime;

TEST(Threads, RunTwoExecutorsOfOneModuleAtOnce) {
  Runtime runtime = make_runtime();
  const Digits digits(runtime);
  const Module model = runtime.load(digits_file()).value();
  std::atomic<int> right{0};

  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      Executor executor = Executor::create(runtime, model, {"cpu"}).value();
      for (std::int64_t i = 0; i < 50; ++i)
        right += static_cast<bool>(digits.run(executor, (i * 7 + t) % 360));
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(right, 100);
}

TEST(Threads, CallOneFunctionOnEight) {
  Runtime runtime = make_runtime();
  const Function axpy2 =
      runtime.load(test::golden("tvm-0.12/axpy2_llvm.so").string())->function("axpy2").value();
  std::atomic<int> right{0};

  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Tensor a = runtime.tensor({64}, {2, 32, 1}).value();
      const Tensor b = runtime.tensor({64}, {2, 32, 1}).value();
      const Tensor c = runtime.tensor({64}, {2, 32, 1}).value();
      for (float& x : a.elements<float>()) x = static_cast<float>(t);
      for (float& x : b.elements<float>()) x = 1;
      for (int i = 0; i < 100; ++i) {
        if (!axpy2(a, b, c).ok()) continue;
        right += c.elements<float>()[63] == static_cast<float>(t) + 2;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(right, 800);
}

TEST(Threads, LoadOneFileOnFourAndGetOneModule) {
  Runtime runtime = make_runtime();
  std::vector<Module> models(4);

  std::vector<std::thread> threads;
  for (Module& model : models) {
    threads.emplace_back([&] { model = runtime.load(digits_file()).value(); });
  }
  for (std::thread& thread : threads) thread.join();

  for (const Module& model : models) EXPECT_EQ(model.get(), models[0].get());
}

TEST(Threads, LoadRunAndReleaseOneFileRepeatedly) {
  Runtime runtime = make_runtime();
  const Digits digits(runtime);
  std::atomic<int> right{0};

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 20; ++i) {
        const Module model = runtime.load(digits_file()).value();
        Executor executor = Executor::create(runtime, model, {"cpu"}).value();
        right += static_cast<bool>(digits.run(executor, i + t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace gantry
