// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/relax_kv/kernels.hpp"

#include <map>
#include <random>

namespace gantry::relax::test {
namespace {

constexpr std::int64_t layer_count = 2;
constexpr double sm_scale = 0.5;

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
const Shape small = {4, 64, 16, 4, 0};

TEST_F(AttentionCacheTest, AttendsToAllTokensBefore) {
  for (const gantry_device_id where : {gantry::test::cpu, gantry::test::handles}) {
    for (const std::int64_t mode : {0, 1, 2}) {
      SCOPED_TRACE(concat("device ", where.type, " rope ", mode));
      device = where;
      rope_mode = mode;
      sequences.clear();
      create(small);
      EXPECT_EQ(query("empty"), 1);
      EXPECT_EQ(add(0), "");
      EXPECT_EQ(add(7), "");
      forward({0}, {10});
      forward({0}, {1});
      forward({7, 0}, {3, 5});
      forward({0, 7}, {1, 1});
      EXPECT_EQ(fork(0, 3, -1), "");
      EXPECT_EQ(fork(0, 4, 5), "");
      forward({3, 0, 4, 7}, {1, 1, 1, 1});
      forward({4, 3}, {2, 6});
      EXPECT_EQ(pop(3, 8), "");
      forward({3}, {1});
      EXPECT_EQ(remove(0), "");
      forward({3, 4}, {1, 1});
      EXPECT_EQ(query("empty"), 0);
      std::int64_t total = 0;
      for (const auto& [id, sequence] : sequences)
        total += static_cast<std::int64_t>(sequence.size());
      EXPECT_EQ(query("get_total_sequence_length"), total);
      EXPECT_EQ(change("kv_state_clear", {}), "");
      EXPECT_EQ(query("get_num_available_pages"), 17);
    }
  }
}

TEST_F(AttentionCacheTest, AgreesWithTheReferenceAfterRandomOperations) {
  create({3, 96, 12, 4, 0});
  for (int step = 0; step < 400; ++step) {
    SCOPED_TRACE(step);
    const auto below = [&](std::size_t count) {
      return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
    };
    Shape ids;
    for (const auto& [id, sequence] : sequences) ids.push_back(id);
    std::ranges::shuffle(ids, random);
    const auto fresh = static_cast<std::int64_t>(1000 + step);
    const std::size_t what = below(10);
    if (ids.empty() || (what == 0 && ids.size() < 6)) {
      ASSERT_EQ(add(fresh), "");
    } else if (what == 1 && ids.size() > 3) {
      ASSERT_EQ(remove(ids[0]), "");
    } else if (what == 2 && ids.size() < 6 && query("get_num_available_pages") > 1) {
      const std::size_t length = sequences.at(ids[0]).size();
      ASSERT_EQ(fork(ids[0], fresh, static_cast<std::int64_t>(below(length + 2)) - 1), "");
    } else if (what == 3 && query("get_num_available_pages") > 1) {
      ASSERT_EQ(pop(ids[0], static_cast<std::int64_t>(below(sequences.at(ids[0]).size() + 1))), "");
    } else {
      ids.resize(std::min<std::size_t>(ids.size(), 1 + below(3)));
      Shape lengths;
      const bool is_decode = below(2) == 0;
      for (std::size_t i = 0; i < ids.size(); ++i)
        lengths.push_back(is_decode ? 1 : 1 + static_cast<std::int64_t>(below(4)));
      if (query("get_num_available_pages") > 2 * static_cast<std::int64_t>(ids.size()))
        ASSERT_NO_FATAL_FAILURE(forward(ids, lengths));
      else
        ASSERT_EQ(remove(ids[0]), "");
    }
  }
}

TEST_F(AttentionCacheTest, AttendsToASlidingWindow) {
  rope_mode = 0;
  create({2, 64, 16, 4, 1});
  ASSERT_EQ(add(0), "");
  ASSERT_EQ(add(1), "");
  ASSERT_EQ(enable_window(0, 12, 2), "");
  forward({0}, {9});
  for (int step = 0; step < 31; ++step) forward({0, 1}, {1, 1});
  forward({0}, {8});
  EXPECT_EQ(kernels.calls.end(), std::ranges::find(kernels.calls, "decode"));
  EXPECT_EQ(kernels.calls.end(), std::ranges::find(kernels.calls, "prefill"));
}

TEST_F(AttentionCacheTest, AllocatesNothingInSteadyDecode) {
  for (const gantry_device_id where : {gantry::test::cpu, gantry::test::handles}) {
    device = where;
    sequences.clear();
    create(small);
    ASSERT_EQ(add(0), "");
    forward({0}, {16});
    ASSERT_EQ(begin({0}, {1}), "");
    const Value qkv = tensor({1, query_heads + 2, dimension});
    const Value out = tensor({1, query_heads, dimension});
    const std::vector<gantry_value> attention = {cache.get(), int_value(0), float_value(sm_scale),
                                                 qkv.get(), out.get()};
    fake.allocations.clear();
    fake.copies.clear();
    for (int step = 0; step < 10; ++step) {
      ASSERT_EQ(begin({0}, {1}), "");
      for (int layer = 0; layer < layer_count; ++layer)
        ASSERT_EQ(failure("attention_kv_cache_attention_with_fused_qkv", attention), "");
    }
    EXPECT_EQ(fake.allocations.size(), 0U);
    // Tables are copied once for each pass.
    EXPECT_EQ(fake.copies.size(), where.type == gantry::test::cpu.type ? 0U : 10U);
  }
}

TEST_F(AttentionCacheTest, ReturnsKeysAndValues) {
  create(small);
  ASSERT_EQ(add(0), "");
  forward({0}, {9});
  const Value keys = tensor({layer_count, 5, 1, dimension}, false);
  const Value values = tensor({layer_count, 5, 1, dimension}, false);
  ASSERT_EQ(failure("attention_kv_cache_debug_get_kv", {cache.get(), int_value(0), int_value(3),
                                                        int_value(8), keys.get(), values.get()}),
            "");
  for (std::int64_t i = 0; i < layer_count * 5; ++i) {
    const Key& expected =
        sequences.at(0)[static_cast<std::size_t>(3 + i % 5)][static_cast<std::size_t>(i / 5)];
    EXPECT_NEAR(vector_of(keys, i)[0], expected.k[0], 1e-6);
    EXPECT_NEAR(vector_of(values, i)[1], expected.v[1], 1e-6);
  }
}

TEST_F(AttentionCacheTest, ReturnsPositionsAndLengths) {
  create(small);
  ASSERT_EQ(add(0), "");
  forward({0}, {9});
  ASSERT_EQ(begin({0}, {2}), "");
  const Value positions = call("attention_kv_cache_get_query_positions", {cache.get()}).value();
  const auto* data = static_cast<const std::int32_t*>(positions.tensor()->data);
  EXPECT_EQ(type_text(positions.tensor()->dtype, shape_of(*positions.tensor())), "int32[2]");
  EXPECT_EQ(data[0], 9);
  EXPECT_EQ(data[1], 10);
  EXPECT_EQ(call("attention_kv_cache_get_sequence_length", {cache.get(), int_value(0)})->get().i,
            11);
}

TEST_F(AttentionCacheTest, AttendsWithoutFusedQkv) {
  rope_mode = 0;
  create(small);
  ASSERT_EQ(add(0), "");
  forward({0}, {6});
  ASSERT_EQ(begin({0}, {2}), "");
  const Value q = tensor({2, query_heads, dimension});
  const Value k = tensor({2, 1, dimension});
  const Value v = tensor({2, 1, dimension});
  const Value out = tensor({2, query_heads, dimension}), lse = tensor({2, query_heads});
  const Value other = tensor({2, query_heads, dimension}), other_lse = tensor({2, query_heads});
  const gantry_value scale = float_value(sm_scale);
  ASSERT_EQ(failure("attention_kv_cache_self_attention", {cache.get(), int_value(1), scale, q.get(),
                                                          k.get(), v.get(), out.get(), lse.get()}),
            "");
  ASSERT_EQ(failure("attention_kv_cache_cross_attention",
                    {cache.get(), int_value(1), scale, q.get(), other.get(), other_lse.get()}),
            "");
  const Result<Value> merged =
      call("attention_kv_cache_merge_attn_output_inplace",
           {cache.get(), out.get(), lse.get(), other.get(), other_lse.get()});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(host.items(merged->object()).value()[0].object, out.object());
  std::vector<Key> keys;
  for (const Token& token : sequences.at(0)) keys.push_back(token[1]);
  for (std::int64_t row = 0; row < 2; ++row) {
    keys.push_back({vector_of(k, row), vector_of(v, row)});
    EXPECT_NEAR(vector_of(out, row * query_heads)[0],
                attend(vector_of(q, row * query_heads), keys, sm_scale).out[0], 1e-5);
  }
}

TEST_F(AttentionCacheTest, KeepsChainsOfAcceptedTokens) {
  create(small);
  ASSERT_EQ(add(0), "");
  forward({0}, {5});
  ASSERT_EQ(
      failure("kv_state_begin_forward", {cache.get(), shape({0}), shape({3}), shape({-1, 0, 1})}),
      "");
  ASSERT_EQ(failure("attention_kv_cache_commit_accepted_token_tree_nodes",
                    {cache.get(), shape({0}), shape({0})}),
            "");
  EXPECT_EQ(query("get_total_sequence_length"), 6);
}

TEST_F(AttentionCacheTest, RefusesArgumentsOfCreation) {
  const std::string name = "paged_attention_kv_cache_create";
  const auto with = [&](std::size_t i, const gantry_value& value) {
    std::vector<gantry_value> args = arguments(small);
    args.at(i) = value;
    std::string text = failure(name, args);
    // The usage has all names.
    const std::size_t end = text.find("): ");
    const std::size_t begin = text.find(name);
    return end == std::string::npos || begin == std::string::npos || begin > end
               ? text
               : text.substr(0, begin) + text.substr(end + 3);
  };
  const gantry_value none{};
  const gantry_value one = int_value(1);
  const gantry_value text = kept(host.text("flashinfer"));
  std::vector<gantry_value> few = arguments(small);
  few.pop_back();
  EXPECT_TRUE(failure(name, few).starts_with("TypeError: "));
  EXPECT_TRUE(failure(name, few).ends_with("argument count is 27, expected 28 to 29"));
  std::vector<gantry_value> more = arguments(small);
  more.push_back(none);
  EXPECT_EQ(failure(name, more), "");
  EXPECT_EQ(with(0, one), "TypeError: argument 0 (config) is an integer, expected a shape");
  EXPECT_EQ(with(0, shape({1, 2, 3})),
            "InternalError: KV cache configuration [1, 2, 3] has 3 numbers, 5 or 6 are expected");
  EXPECT_EQ(with(1, shape({0})),
            "InternalError: argument 1 (layers) is [0], expected the first layer and the one after "
            "the last");
  for (const Shape& layers : {Shape{-1, 1}, Shape{2, 2}, Shape{0, 1, 2}})
    EXPECT_TRUE(with(1, shape(layers)).starts_with("InternalError: argument 1 (layers) is ["));
  EXPECT_EQ(with(2, int_value(0)), "InternalError: argument 2 (query_heads) is 0, minimum is 1");
  EXPECT_EQ(with(3, int_value(0)), "InternalError: argument 3 (kv_heads) is 0, minimum is 1");
  EXPECT_EQ(with(4, int_value(0)), "InternalError: argument 4 (qk_dimension) is 0, minimum is 1");
  EXPECT_EQ(with(5, float_value(2)),
            "TypeError: argument 5 (v_dimension) is a float, expected an integer");
  EXPECT_EQ(with(5, int_value(4)),
            "InternalError: argument 5 (v_dimension) is 4, argument 4 (qk_dimension) is 2, the "
            "numbers must be equal in multi-head attention");
  EXPECT_EQ(with(6, shape({0})),
            "InternalError: argument 6 (attention_kinds) has 1 layers, minimum is 2");
  const std::string kind = "InternalError: " + name + ": attention of layer 1 is of kind ";
  EXPECT_EQ(with(6, shape({0, 1})), kind + "1 (latent (MLA)), supported is 0 (multi-head)");
  EXPECT_EQ(with(6, shape({0, 2})), kind + "2 (linear), supported is 0 (multi-head)");
  EXPECT_EQ(with(6, shape({0, 3})),
            kind + "3 (multi-head with a window of its own), supported is 0 (multi-head)");
  EXPECT_EQ(with(6, shape({0, 9})), kind + "9 (unknown), supported is 0 (multi-head)");
  EXPECT_EQ(with(6, shape({0, -1})), kind + "-1 (unknown), supported is 0 (multi-head)");
  EXPECT_EQ(with(7, one), "InternalError: " + name +
                              ": transfer of keys and values between processes is not supported");
  EXPECT_EQ(with(8, int_value(3)), "InternalError: argument 8 (rope_mode) is 3, range is 0..2");
  EXPECT_EQ(with(8, int_value(-1)), "InternalError: argument 8 (rope_mode) is -1, range is 0..2");
  EXPECT_EQ(with(9, none), "TypeError: argument 9 (rope_scale) is none, expected a float");
  EXPECT_EQ(with(10, none), "TypeError: argument 10 (rope_theta) is none, expected a float");
  EXPECT_EQ(with(10, float_value(1e6)), "");
  EXPECT_EQ(with(11, none), "");
  EXPECT_EQ(with(12, one), "TypeError: argument 12 (like) is an integer, expected a tensor");
  for (const auto& [i, argument] : {std::pair{13, "transpose_append"},
                                    {24, "split_rotary"},
                                    {25, "copy_single_page"},
                                    {26, "debug_get_kv"}}) {
    EXPECT_EQ(with(static_cast<std::size_t>(i), none),
              concat("TypeError: argument ", i, " (", argument, ") is none, expected a function"));
  }
  EXPECT_EQ(with(14, one),
            "TypeError: argument 14 (transpose_append_mla) is an integer, expected a function");
  EXPECT_EQ(with(27, one),
            "TypeError: argument 27 (compact_copy) is an integer, expected a function");
  for (const auto& [i, argument] :
       {std::pair{15, "ragged_prefill"}, {16, "paged_prefill"}, {17, "paged_decode"}}) {
    for (const gantry_value& absent : {none, array({})}) {
      EXPECT_EQ(with(static_cast<std::size_t>(i), absent),
                concat("InternalError: argument ", i, " (", argument,
                       ") is absent, the cache requires it"));
    }
  }
  EXPECT_EQ(with(18, none), "");
  EXPECT_EQ(with(19, array({})), "");
  for (std::size_t i = 15; i < 23; ++i) {
    EXPECT_TRUE(with(i, array({text, kernels.function("unused")}))
                    .ends_with(" is a kernel of \"flashinfer\", supported are \"tirx\" and "
                               "\"tir\""))
        << i;
    for (const gantry_value& bad :
         {array({text}), array({one, kernels.function("unused")}), array({text, one})}) {
      EXPECT_TRUE(with(i, bad).ends_with(" is an array, expected an array of a tag and functions"));
    }
  }
  EXPECT_EQ(with(15, array({kept(host.text("tir")), kernels.function("ragged")})), "");
  EXPECT_EQ(with(23, array({})),
            "InternalError: argument 23 (merge) is empty, minimum is 1 function");
  EXPECT_EQ(with(23, array({one})),
            "TypeError: argument 23 (merge) is an array, expected an array of functions");
  std::vector<gantry_value> sliding = arguments({4, 64, 16, 4, 1});
  sliding[19] = none;
  EXPECT_TRUE(failure(name, sliding)
                  .ends_with("argument 19 (sliding_decode) is absent, the cache requires it"));
}

TEST_F(AttentionCacheTest, RefusesArgumentsOfItsFunctions) {
  create(small);
  ASSERT_EQ(add(0), "");
  EXPECT_EQ(add(0), "InternalError: The sequence \"0\" is already in the KV cache.");
  EXPECT_EQ(remove(55), "InternalError: The sequence \"55\" cannot be found in KV cache.");
  EXPECT_EQ(begin({99}, {1}), "InternalError: The sequence \"99\" cannot be found in KV cache.");
  EXPECT_EQ(pop(0, 1),
            "InternalError: number of tokens to remove from sequence 0 is 1, range is 0..0");
  EXPECT_EQ(fork(0, 1, 4), "InternalError: position of a fork of sequence 0 is 4, range is 0..0");
  EXPECT_EQ(enable_window(0, 12, 2),
            "InternalError: KV cache is created without sliding window, sequence 0 cannot have "
            "one");
  EXPECT_EQ(change("kv_state_popn", {0}),
            "TypeError: kv_state_popn(cache, sequence, n): argument count is 2, expected 3");
  EXPECT_EQ(failure("kv_state_clear", {int_value(1)}),
            "TypeError: kv_state_clear(cache): argument 0 (cache) is an integer, expected an "
            "object");
  EXPECT_EQ(failure("kv_state_begin_forward", {cache.get(), int_value(0), shape({1})}),
            "TypeError: kv_state_begin_forward(cache, sequences, lengths[, parents]): argument 1 "
            "(sequences) is an integer, expected a shape");
  EXPECT_EQ(
      failure("kv_state_begin_forward", {cache.get(), shape({0}), shape({2}), shape({-1, -1})}),
      "InternalError: tree attention is not supported: parent of new token 1 of sequence 0 "
      "is -1, a chain has 0");
  EXPECT_EQ(failure("attention_kv_cache_commit_accepted_token_tree_nodes",
                    {cache.get(), shape({0}), shape({0})}),
            "InternalError: sequence 0 has no new tokens with parents to accept");

  const Value qkv = tensor({2, query_heads + 2, dimension});
  const Value out = tensor({2, query_heads, dimension});
  const Value narrow = tensor({2, 1, dimension});
  const Value lse = tensor({2, query_heads});
  const gantry_value scale = float_value(sm_scale);
  const auto attention = [&](std::int64_t layer, const Value& from, const Value& to) {
    return failure("attention_kv_cache_attention_with_fused_qkv",
                   {cache.get(), int_value(layer), scale, from.get(), to.get()});
  };
  const std::string no_pass =
      "InternalError: attention requires a forward pass, kv_state_begin_forward begins one";
  EXPECT_EQ(attention(0, qkv, out), no_pass);
  EXPECT_EQ(failure("attention_kv_cache_self_attention",
                    {cache.get(), int_value(0), scale, out.get(), narrow.get(), narrow.get(),
                     out.get(), lse.get()}),
            no_pass);
  ASSERT_EQ(begin({0}, {2}), "");
  EXPECT_EQ(failure("attention_kv_cache_cross_attention",
                    {cache.get(), int_value(0), scale, out.get(), out.get(), lse.get()}),
            "InternalError: attention to the cache requires tokens in it, the sequences have none");
  EXPECT_EQ(attention(2, qkv, out), "InternalError: layer of attention is 2, range is 0..1");
  EXPECT_EQ(attention(-1, qkv, out), "InternalError: layer of attention is -1, range is 0..1");
  const auto found = [](const std::string& tensor, const std::string& type,
                        const std::string& expected) {
    return "InternalError: tensor `" + tensor + "` of attention is " + type +
           " on cpu:0, expected float32" + expected + " on cpu:0";
  };
  EXPECT_EQ(attention(0, out, out), found("qkv", "float32[2, 2, 2]", "[2, 4, 2]"));
  EXPECT_EQ(attention(0, tensor({1, 4, 2}), out), found("qkv", "float32[1, 4, 2]", "[2, 4, 2]"));
  EXPECT_EQ(attention(0, tensor({3, 4, 2}), out), found("out", "float32[2, 2, 2]", "[3, 2, 2]"));
  EXPECT_EQ(attention(0, lse, out), found("qkv", "float32[2, 2]", "[2, 4, 2]"));
  EXPECT_EQ(attention(0, qkv, narrow), found("out", "float32[2, 1, 2]", "[2, 2, 2]"));
  device = gantry::test::handles;
  EXPECT_EQ(attention(0, tensor({2, 4, 2}), out),
            "InternalError: tensor `qkv` of attention is float32[2, 4, 2] on opencl:0, expected "
            "float32[2, 4, 2] on cpu:0");
  device = gantry::test::cpu;
  const auto self = [&](const Value& q, const Value& k, const Value& v, const Value& to,
                        const Value& sums) {
    return failure("attention_kv_cache_self_attention", {cache.get(), int_value(0), scale, q.get(),
                                                         k.get(), v.get(), to.get(), sums.get()});
  };
  EXPECT_EQ(self(narrow, narrow, narrow, out, lse), found("q", "float32[2, 1, 2]", "[2, 2, 2]"));
  EXPECT_EQ(self(out, out, narrow, out, lse), found("k", "float32[2, 2, 2]", "[2, 1, 2]"));
  EXPECT_EQ(self(out, narrow, out, out, lse), found("v", "float32[2, 2, 2]", "[2, 1, 2]"));
  EXPECT_EQ(self(out, narrow, narrow, narrow, lse), found("out", "float32[2, 1, 2]", "[2, 2, 2]"));
  EXPECT_EQ(self(out, narrow, narrow, out, out), found("lse", "float32[2, 2, 2]", "[2, 2]"));
  EXPECT_EQ(failure("attention_kv_cache_cross_attention",
                    {cache.get(), int_value(0), scale, narrow.get(), out.get(), lse.get()}),
            found("q", "float32[2, 1, 2]", "[2, 2, 2]"));

  const auto debug = [&](std::int64_t from, std::int64_t to, const Value& keys,
                         const Value& values) {
    return failure("attention_kv_cache_debug_get_kv", {cache.get(), int_value(0), int_value(from),
                                                       int_value(to), keys.get(), values.get()});
  };
  for (const auto& [from, to] : {std::pair{-1, 1}, {1, 1}, {0, 3}}) {
    EXPECT_EQ(debug(from, to, out, out),
              concat("InternalError: tokens ", from, "..", to,
                     " of sequence 0 are requested, expected at least 1 of its 2"));
  }
  const Value keys = tensor({layer_count, 2, 1, dimension});
  EXPECT_EQ(debug(0, 2, out, keys), found("keys", "float32[2, 2, 2]", "[2, 2, 1, 2]"));
  EXPECT_EQ(debug(0, 2, keys, out), found("values", "float32[2, 2, 2]", "[2, 2, 1, 2]"));
  std::vector<gantry_value> single = arguments(small);
  single[23] = array({kernels.function("merge")});
  cache = call("paged_attention_kv_cache_create", single).value();
  EXPECT_EQ(failure("attention_kv_cache_merge_attn_output_inplace",
                    {cache.get(), out.get(), lse.get(), out.get(), lse.get()}),
            "InternalError: KV cache is created without a second merge function, which merges "
            "results of self and cross attention");
}

TEST_F(AttentionCacheTest, RequiresAnotherPassAfterSequencesHaveChanged) {
  const Value qkv = tensor({1, query_heads + 2, dimension});
  const Value out = tensor({1, query_heads, dimension});
  const std::vector<std::function<std::string()>> changes = {
      [&] { return remove(0); }, [&] { return fork(0, 1, -1); }, [&] { return pop(0, 1); },
      [&] { return change("kv_state_clear", {}); },
      [&] { return change("kv_state_end_forward", {}); }};
  for (const auto& what : changes) {
    sequences.clear();
    create(small);
    ASSERT_EQ(add(0), "");
    forward({0}, {3});
    ASSERT_EQ(begin({0}, {1}), "");
    sequences[0].emplace_back();
    ASSERT_EQ(what(), "");
    EXPECT_EQ(failure("attention_kv_cache_attention_with_fused_qkv",
                      {cache.get(), int_value(0), float_value(1), qkv.get(), out.get()}),
              "InternalError: attention requires a forward pass, kv_state_begin_forward begins "
              "one");
  }
}

TEST_F(AttentionCacheTest, IsUnchangedWhereDeviceMemoryIsExhausted) {
  device = gantry::test::handles;
  const std::vector<gantry_value> args = arguments(small);
  // Pages of 2 layers, 4 temporaries and 2 sums.
  const std::size_t before = fake.allocations.size();
  for (std::size_t count = 0; count < 8; ++count) {
    fake.max_allocations = before + count;
    fake.allocations.resize(before);
    EXPECT_NE(failure("paged_attention_kv_cache_create", args), "");
  }
  fake.max_allocations = SIZE_MAX;
  create(small);
  ASSERT_EQ(add(0), "");
  fake.max_allocations = fake.allocations.size();
  EXPECT_EQ(begin({0}, {3}), "InternalError: fake host: memory is exhausted");
  EXPECT_EQ(query("get_total_sequence_length"), 0);
  EXPECT_EQ(query("get_num_available_pages"), 17);
  fake.max_allocations = SIZE_MAX;
  forward({0}, {3});
}

TEST_F(AttentionCacheTest, ReportsErrorsOfKernels) {
  create(small);
  ASSERT_EQ(add(0), "");
  forward({0}, {6});
  kernels.failing = "copy_page";
  EXPECT_NE(fork(0, 1, -1), "");
  EXPECT_EQ(query("get_num_available_pages"), 15);
  EXPECT_EQ(remove(1), "InternalError: The sequence \"1\" cannot be found in KV cache.");
  kernels.failing.clear();
  forward({0}, {1});
  ASSERT_EQ(fork(0, 1, -1), "");
  const Value qkv = tensor({2, query_heads + 2, dimension});
  const Value out = tensor({2, query_heads, dimension});
  for (const char* const name : {"split", "append", "ragged", "prefill", "merge"}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(begin({1}, {2}), "");
    kernels.failing = name;
    EXPECT_TRUE(failure("attention_kv_cache_attention_with_fused_qkv",
                        {cache.get(), int_value(0), float_value(1), qkv.get(), out.get()})
                    .starts_with("InternalError: the kernel fails"));
    kernels.failing.clear();
    ASSERT_EQ(change("kv_state_popn", {1, 2}), "");
  }
}

}  // namespace
}  // namespace gantry::relax::test
