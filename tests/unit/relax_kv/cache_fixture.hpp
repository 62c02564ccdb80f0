// SPDX-License-Identifier: Apache-2.0
//
// A paged KV cache with kernels of a test, and a plain reference of it.
#pragma once

#include "tests/unit/relax_kv/kernels.hpp"

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace gantry::relax::test {

inline constexpr std::int64_t layer_count = 2;
inline constexpr double sm_scale = 0.5;

// The keys and values of a token in each layer.
using Token = std::array<Key, layer_count>;

// A cache, and a plain reference of it: each sequence is a list of tokens.
class AttentionCacheTest : public Functions {
 protected:
  gantry_value kernel(const std::string& name) {
    return array({kept(host.text("tirx")), kernels.function(name)});
  }
  // Arguments of the creation of a cache, for a test to change.
  std::vector<gantry_value> arguments(const Shape& config) {
    const gantry_value none = array({});
    gantry_tensor like = *gantry_value_tensor(std::vector{zero.value()}.data());
    like.device = device;
    return {shape(config),
            shape({0, layer_count}),
            int_value(query_heads),
            int_value(1),
            int_value(dimension),
            int_value(dimension),
            shape(Shape(layer_count, 0)),
            int_value(0),
            int_value(rope_mode),
            int_value(1),
            int_value(10000),
            int_value(0),
            kept(host.tensor_new(like)),
            kernels.function("append"),
            gantry_value{},
            kernel("ragged"),
            kernel("prefill"),
            kernel("decode"),
            kernel("sliding_prefill"),
            kernel("sliding_decode"),
            kernel("unused"),
            none,
            none,
            array({kernels.function("merge"), kernels.function("merge")}),
            kernels.function("split"),
            kernels.function("copy_page"),
            kernels.function("get_kv"),
            kernels.function("unused")};
  }
  void create(const Shape& config) {
    cache = call("paged_attention_kv_cache_create", arguments(config)).value();
  }

  std::string change(std::string_view name, const std::vector<std::int64_t>& numbers) {
    std::vector<gantry_value> args = {cache.get()};
    for (const std::int64_t number : numbers) args.push_back(int_value(number));
    return failure(name, args);
  }
  std::string add(std::int64_t id) {
    std::string text = change("kv_state_add_sequence", {id});
    if (text.empty()) sequences[id];
    return text;
  }
  std::string remove(std::int64_t id) {
    std::string text = change("kv_state_remove_sequence", {id});
    if (text.empty()) sequences.erase(id);
    return text;
  }
  std::string fork(std::int64_t parent, std::int64_t child, std::int64_t position) {
    std::string text = change("kv_state_fork_sequence", {parent, child, position});
    if (!text.empty()) return text;
    sequences[child] = sequences.at(parent);
    if (position >= 0) sequences[child].resize(static_cast<std::size_t>(position));
    return text;
  }
  std::string pop(std::int64_t id, std::int64_t count) {
    std::string text = change("kv_state_popn", {id, count});
    if (text.empty()) sequences[id].resize(sequences[id].size() - static_cast<std::size_t>(count));
    return text;
  }
  std::string enable_window(std::int64_t id, std::size_t window, std::size_t sink) {
    windows[id] = {window, sink};
    return change("attention_kv_cache_enable_sliding_window_for_seq",
                  {id, static_cast<std::int64_t>(window), static_cast<std::int64_t>(sink)});
  }
  std::int64_t query(std::string_view name) {
    return call(concat("attention_kv_cache_", name), {cache.get()})->get().i;
  }

  // A tensor on the device of the cache with random content, or zeros.
  Value tensor(const Shape& extents, bool is_random = true) {
    Shape copy = extents;
    gantry_tensor like{};
    like.device = device;
    like.dtype = dtypes::float32;
    like.ndim = static_cast<std::int32_t>(copy.size());
    like.shape = copy.data();
    Value made = host.tensor_new(like).value();
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    auto* data = reinterpret_cast<float*>(fake.memory_of(*made.tensor()));
    std::uniform_real_distribution<float> number(-1, 1);
    for (std::int64_t i = 0; i < count; ++i) data[i] = is_random ? number(random) : 0;
    return made;
  }
  Vector vector_of(const Value& tensor, std::int64_t index) const {
    const auto* data = reinterpret_cast<const float*>(fake.memory_of(*tensor.tensor()));
    return {data[index * dimension], data[index * dimension + 1]};
  }
  Vector placed(const Vector& vector, std::size_t position) const {
    return rope_mode == 0 ? vector : rotated(vector, static_cast<std::int64_t>(position));
  }

  std::string begin(const Shape& ids, const Shape& lengths) {
    return failure("kv_state_begin_forward", {cache.get(), shape(ids), shape(lengths)});
  }

  // Runs a pass of all layers and compares each result with the reference.
  void forward(const Shape& ids, const Shape& lengths) {
    ASSERT_EQ(begin(ids, lengths), "");
    std::int64_t tokens = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      tokens += lengths[i];
      sequences[ids[i]].resize(sequences[ids[i]].size() + static_cast<std::size_t>(lengths[i]));
    }
    for (std::int64_t layer = 0; layer < layer_count; ++layer) {
      // More rows than tokens, as models with padding have.
      const Value qkv = tensor({tokens + 1, query_heads + 2, dimension});
      const Value out = tensor({tokens + 1, query_heads, dimension});
      ASSERT_EQ(
          failure("attention_kv_cache_attention_with_fused_qkv",
                  {cache.get(), int_value(layer), float_value(sm_scale), qkv.get(), out.get()}),
          "");
      std::int64_t row = 0;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        std::vector<Token>& sequence = sequences.at(ids[i]);
        const auto l = static_cast<std::size_t>(layer);
        for (std::size_t at = sequence.size() - static_cast<std::size_t>(lengths[i]);
             at < sequence.size(); ++at, ++row) {
          const std::int64_t first = row * (query_heads + 2);
          sequence[at][l] = {placed(vector_of(qkv, first + query_heads), at),
                             vector_of(qkv, first + query_heads + 1)};
          std::vector<Key> keys;
          for (std::size_t j = 0; j <= at; ++j) keys.push_back(sequence[j][l]);
          for (std::int64_t head = 0; head < query_heads; ++head) {
            const Vector expected =
                attend(placed(vector_of(qkv, first + head), at), keys, sm_scale).out;
            const Vector found = vector_of(out, row * query_heads + head);
            ASSERT_NEAR(found[0], expected[0], 1e-4) << "sequence " << ids[i] << " token " << at;
            ASSERT_NEAR(found[1], expected[1], 1e-4);
          }
        }
      }
    }
    for (const std::int64_t id : ids) slide(id);
    EXPECT_EQ(change("kv_state_end_forward", {}), "");
  }
  void slide(std::int64_t id) {
    const auto window = windows.find(id);
    std::vector<Token>& sequence = sequences.at(id);
    if (window == windows.end() || sequence.size() <= window->second.first) return;
    const auto from = sequence.begin() + static_cast<std::ptrdiff_t>(window->second.second);
    sequence.erase(from,
                   from + static_cast<std::ptrdiff_t>(sequence.size() - window->second.first));
  }

  Kernels kernels{fake};
  gantry_device_id device = gantry::test::cpu;
  std::int64_t rope_mode = 1;
  Floats zero{{1}, {0}};
  std::mt19937 random{7};
  Value cache;
  std::map<std::int64_t, std::vector<Token>> sequences;
  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> windows;
};

// 4 sequences, 64 tokens, 16 at once, in pages of 4.
inline const Shape small = {4, 64, 16, 4, 0};

}  // namespace gantry::relax::test
