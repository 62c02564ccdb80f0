// SPDX-License-Identifier: Apache-2.0
//
// Runs a language model with a paged KV cache, as MLC exports it, and prints the number of each
// token as soon as it is chosen. The weights come from a directory of shards.
//
//     gantry-demo-generate MODEL.so WEIGHTS COUNT
#include <gantry/embed.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace gantry;

// Calls a function of a module or of the runtime.
template <class... Args>
Result<Any> call(const auto& owner, const char* name, const Args&... args) {
  GANTRY_TRY(const Function function, owner.function(name));
  return function(args...);
}

Status generate(const char* file, const char* weights, int count) {
  GANTRY_TRY(auto runtime, Runtime::create());
  GANTRY_TRY(const auto module, runtime.load(file));
  GANTRY_TRY(const auto model, runtime.model(module, {"cpu"}));
  GANTRY_TRY(const Module vm, model.module());
  const auto shape = [&](std::initializer_list<std::int64_t> extents) {
    return runtime.shape(extents).value();
  };
  GANTRY_TRY(const gantry_device_id cpu, runtime.device("cpu"));
  GANTRY_CHECK(call(runtime, "vm.builtin.tensor_cache.load", weights, cpu.type, cpu.index));
  GANTRY_TRY(const auto params, call(runtime, "vm.builtin.param_array_from_cache", "param", -1));
  // sequences, tokens in all, tokens of one call, tokens of a page, no sliding window
  GANTRY_TRY(const auto cache, call(vm, "create_tir_paged_kv_cache", shape({1}), shape({2048}),
                                    shape({32}), shape({16}), shape({0})));
  GANTRY_CHECK(call(runtime, "vm.builtin.kv_state_add_sequence", cache, 0));

  std::vector<std::int32_t> tokens = {84, 104, 101};
  std::mt19937 random;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::int64_t>(tokens.size());
    GANTRY_TRY(const auto numbers, runtime.tensor({n}, {0, 32, 1}));
    std::ranges::copy(tokens, numbers.elements<std::int32_t>().begin());
    GANTRY_TRY(const auto embedded, call(vm, "embed", numbers, params));
    GANTRY_TRY(const auto rows, embedded.tensor());
    GANTRY_TRY(const auto input,
               call(runtime, "vm.builtin.reshape", rows, shape({1, n, rows.shape()[1]})));
    GANTRY_CHECK(call(runtime, "vm.builtin.kv_state_begin_forward", cache, shape({0}), shape({n})));
    GANTRY_TRY(const auto result, call(vm, n == 1 ? "decode" : "prefill", input, cache, params));
    GANTRY_CHECK(call(runtime, "vm.builtin.kv_state_end_forward", cache));
    GANTRY_TRY(const auto items, result.items());
    const double chance = std::uniform_real_distribution()(random);
    GANTRY_TRY(const auto token,
               call(runtime, "vm.builtin.sample_top_p_from_logits", items[0], 1.0, 0.95, chance));
    GANTRY_TRY(const std::int64_t number, token.integer());
    tokens = {static_cast<std::int32_t>(number)};
    std::printf("%d ", tokens[0]);
    std::fflush(stdout);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("\n%d tokens, %.0f tokens a second\n", count, count / took.count());
  return {};
}

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: %s MODEL.so WEIGHTS COUNT\n", argv[0]), 2;
  const auto done = generate(argv[1], argv[2], std::atoi(argv[3]));
  return done.ok() ? 0 : (std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1);
}
