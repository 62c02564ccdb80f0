// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/kv_cache/attention_cache.hpp"

#include "tests/unit/relax_kv/cache_fixture.hpp"

#include <gmock/gmock.h>

namespace gantry::relax::test {
namespace {

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

TEST_F(AttentionCacheTest, IsCountedAgainstTheMemoryLimit) {
  memory = std::make_shared<StorageMemory>("gantry.relax", 1 << 20);
  create(small);
  EXPECT_GT(memory->bytes(gantry::test::cpu), 0u);

  const std::string refused =
      failure("paged_attention_kv_cache_create", arguments({1, 100'000, 16, 4, 0}));

  EXPECT_THAT(refused, ::testing::StartsWith("InternalError: storage of "));
  EXPECT_THAT(refused, ::testing::HasSubstr("the limit is 1.0 MiB (1048576 bytes)"));
  cache = Value();
  EXPECT_EQ(memory->bytes(gantry::test::cpu), 0u);
}

// One page of 2^26 tokens has positions for each of them.
TEST_F(AttentionCacheTest, LimitsTheTablesOfAPass) {
  HostMemory tables(host, memory, "tables of a KV cache", AttentionCache::max_table_bytes);
  KvSequences many{*read_kv_config(Shape{1, 1 << 30, 1 << 27, 1 << 27, 0}), &tables};
  KvForward pass{many};
  ASSERT_TRUE(many.add(0).ok());

  EXPECT_THROW((void)pass.begin(Shape{0}, Shape{1 << 26}), ErrorThrown);
  EXPECT_EQ(*many.length(0), 0);
  EXPECT_TRUE(pass.begin(Shape{0}, Shape{16}).ok());
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

TEST_F(AttentionCacheTest, AttendsWithKeysAndValuesOfAnotherLayer) {
  for (const std::int64_t before : {std::int64_t{0}, std::int64_t{6}}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{3}}) {
      SCOPED_TRACE(concat(before, " tokens, then ", count));
      rope_mode = 0;
      sequences.clear();
      create(small);
      ASSERT_EQ(add(0), "");
      if (before > 0) forward({0}, {before});
      ASSERT_EQ(begin({0}, {count}), "");
      const Value qkv = tensor({count, query_heads + 2, dimension});
      const Value out = tensor({count, query_heads, dimension});
      const gantry_value scale = float_value(sm_scale);
      ASSERT_EQ(failure("attention_kv_cache_attention_with_fused_qkv",
                        {cache.get(), int_value(1), scale, qkv.get(), out.get()}),
                "");
      // One row more than tokens, as models with padding have.
      const Value q = tensor({count + 1, query_heads, dimension});
      const Value k = tensor({count + 1, 1, dimension}), v = tensor({count + 1, 1, dimension});
      std::vector<Key> keys;
      for (const Token& token : sequences.at(0)) keys.push_back(token[1]);
      auto* k_data = reinterpret_cast<float*>(fake.memory_of(*k.tensor()));
      auto* v_data = reinterpret_cast<float*>(fake.memory_of(*v.tensor()));
      for (std::int64_t row = 0; row < count; ++row) {
        const std::int64_t first = row * (query_heads + 2) + query_heads;
        const Key key{vector_of(qkv, first), vector_of(qkv, first + 1)};
        std::ranges::copy(key.k, k_data + row * dimension);
        std::ranges::copy(key.v, v_data + row * dimension);
      }
      const Value shared = tensor({count + 1, query_heads, dimension});

      ASSERT_EQ(
          failure("attention_kv_cache_attention_with_shared_kv",
                  {cache.get(), int_value(1), scale, q.get(), k.get(), v.get(), shared.get()}),
          "");

      for (std::int64_t row = 0; row < count; ++row) {
        keys.push_back({vector_of(k, row), vector_of(v, row)});
        EXPECT_NEAR(vector_of(shared, row * query_heads)[0],
                    attend(vector_of(q, row * query_heads), keys, sm_scale).out[0], 1e-5);
      }
    }
  }
}

TEST_F(AttentionCacheTest, RefusesTensorsOfSharedAttention) {
  create(small);
  ASSERT_EQ(add(0), "");
  const Value q = tensor({2, query_heads, dimension}), k = tensor({2, 1, dimension});
  const auto attend_shared = [&](const Value& q, const Value& k, const Value& v, const Value& out) {
    return failure(
        "attention_kv_cache_attention_with_shared_kv",
        {cache.get(), int_value(0), float_value(1), q.get(), k.get(), v.get(), out.get()});
  };
  EXPECT_EQ(attend_shared(q, k, k, q),
            "InternalError: attention requires a forward pass, kv_state_begin_forward begins one");
  ASSERT_EQ(begin({0}, {2}), "");

  const Value one = tensor({1, query_heads, dimension}), two = tensor({2, 2, dimension});
  EXPECT_THAT(attend_shared(one, k, k, q), testing::StartsWith("InternalError: tensor `q` of "));
  EXPECT_THAT(attend_shared(q, two, k, q), testing::StartsWith("InternalError: tensor `k` of "));
  EXPECT_THAT(attend_shared(q, k, two, q), testing::StartsWith("InternalError: tensor `v` of "));
  EXPECT_THAT(attend_shared(q, k, k, one), testing::StartsWith("InternalError: tensor `out` of "));
}

// A cache with a checkpoint of `tokens` tokens in each group.
class CheckpointTest : public AttentionCacheTest {
 protected:
  Value export_group(std::int64_t group, std::int64_t pages) {
    Value to = tensor({1, pages, 2, 1, 4, dimension});
    EXPECT_EQ(failure("attention_kv_cache_export_page_group",
                      {cache.get(), int_value(0), int_value(group), to.get()}),
              "");
    return to;
  }
  std::string import_group(std::int64_t group, const Value& from) {
    return failure("attention_kv_cache_import_page_group",
                   {cache.get(), int_value(0), int_value(group), from.get()});
  }
  std::string prepare(std::int64_t id, const gantry_value& metadata) {
    return failure("attention_kv_cache_prepare_import", {cache.get(), int_value(id), metadata});
  }
  std::string finish() { return change("attention_kv_cache_finish_import", {0}); }
  Value metadata() {
    return call("attention_kv_cache_get_checkpoint_metadata", {cache.get(), int_value(0)}).value();
  }
};

TEST_F(CheckpointTest, ContinuesASequenceInAnotherCache) {
  for (const gantry_device_id where : {gantry::test::cpu, gantry::test::handles}) {
    device = where;
    sequences.clear();
    create(small);
    ASSERT_EQ(add(0), "");
    ASSERT_EQ(add(5), "");
    forward({0, 5}, {3, 3});
    forward({0}, {7});
    // Its pages are not in order, and slots of its last page had tokens.
    ASSERT_EQ(pop(0, 1), "");
    const Value text = metadata();
    const Value groups[] = {export_group(0, 3), export_group(1, 3)};
    EXPECT_EQ(vector_of(groups[1], 2 * 8 + 1), (Vector{0, 0})) << "a slot without a token";
    sequences.erase(5);

    create({4, 32, 16, 4, 0});
    ASSERT_EQ(add(9), "");
    ASSERT_EQ(prepare(0, text.get()), "");
    EXPECT_EQ(import_group(1, groups[1]), "");
    EXPECT_EQ(finish(), "InternalError: checkpoint lacks group 0 of 2");
    EXPECT_EQ(import_group(1, groups[1]),
              "InternalError: group 1 of a checkpoint was imported already");
    EXPECT_EQ(import_group(0, groups[0]), "");
    EXPECT_EQ(finish(), "");

    EXPECT_EQ(query("get_total_sequence_length"), 9);
    forward({0}, {2});
    forward({0}, {1});
  }
}

TEST_F(CheckpointTest, RefusesOtherChangesUntilItIsImported) {
  create(small);
  ASSERT_EQ(add(0), "");
  forward({0}, {1});
  const Value text = metadata();
  const Value group = export_group(0, 1);
  const std::string begun = "InternalError: KV cache imports a checkpoint, ";
  ASSERT_EQ(prepare(0, text.get()), "");

  for (const std::string& refused :
       {add(1), remove(0), fork(0, 1, -1), pop(0, 1), begin({0}, {1}),
        change("attention_kv_cache_enable_sliding_window_for_seq", {0, 4, 0}),
        change("attention_kv_cache_get_checkpoint_metadata", {0}),
        failure("attention_kv_cache_commit_accepted_token_tree_nodes",
                {cache.get(), shape({0}), shape({0})}),
        failure("attention_kv_cache_export_page_group",
                {cache.get(), int_value(0), int_value(0), group.get()})})
    EXPECT_EQ(refused, begun + "finish_import or kv_state_clear ends that");

  EXPECT_EQ(change("kv_state_clear", {}), "");
  EXPECT_EQ(import_group(0, group),
            "InternalError: import of a checkpoint requires prepare_import before it");
  EXPECT_EQ(finish(), "InternalError: import of a checkpoint requires prepare_import before it");
}

TEST_F(CheckpointTest, IsOfSequence0AndOfEveryLayer) {
  create(small);
  ASSERT_EQ(add(0), "");
  forward({0}, {1});
  const Value group = tensor({1, 1, 2, 1, 4, dimension});
  const auto exported = [&](std::int64_t id, std::int64_t layer, const Value& to) {
    return failure("attention_kv_cache_export_page_group",
                   {cache.get(), int_value(id), int_value(layer), to.get()});
  };

  EXPECT_EQ(exported(9, 0, group),
            "InternalError: checkpoint of a KV cache is of sequence 9, only 0 has one");
  EXPECT_EQ(exported(0, 2, group), "InternalError: group of a checkpoint is 2, range is 0..1");
  EXPECT_EQ(exported(0, -1, group), "InternalError: group of a checkpoint is -1, range is 0..1");
  EXPECT_THAT(exported(0, 0, tensor({1, 2, 2, 1, 4, dimension})),
              testing::StartsWith("InternalError: tensor `group` of attention is "));
  EXPECT_EQ(prepare(1, metadata().get()),
            "InternalError: checkpoint of a KV cache is imported to sequence 1, only 0 has one");
  ASSERT_EQ(remove(0), "");
  EXPECT_THAT(exported(0, 0, group), testing::HasSubstr("\"0\" cannot be found"));
}

TEST_F(CheckpointTest, HasMetadataThatAreChecked) {
  create(small);
  const std::string layout = "layers=2,heads=1,dimension=2,page=4,float32,rope=1";
  EXPECT_EQ(*value_text(call("attention_kv_cache_get_layout_hash", {cache.get()})->get()), layout);
  const std::string begin =
      R"({"format":"gantry.kv_cache/1","layout":")" + layout + R"(","tokens":)";
  const auto refused = [&](const std::string& text) { return prepare(0, kept(host.text(text))); };
  const std::string of = "InternalError: checkpoint of a KV cache: ";

  EXPECT_EQ(refused(begin + "69}"), of + "tokens is 69, this cache has room for 68");
  EXPECT_EQ(refused(begin + "-1}"), of + "metadata has no number \"tokens\"");
  EXPECT_EQ(refused("[]"), of + "metadata is no JSON object");
  EXPECT_EQ(refused(std::string(4097, ' ')), of + "metadata has 4097 bytes, limit is 4096");
  EXPECT_THAT(refused("{"), testing::StartsWith(of + "metadata: "));
  EXPECT_EQ(refused("{}"), of + "metadata has no text \"format\", expected \"gantry.kv_cache/1\"");
  EXPECT_EQ(refused(R"({"format":"x"})"), of + R"(format is "x", expected "gantry.kv_cache/1")");
  EXPECT_EQ(refused(R"({"format":"gantry.kv_cache/1","layout":"x"})"),
            of + "layout is \"x\", expected \"" + layout + "\"");
  EXPECT_EQ(refused(begin + "0}"), "") << "a sequence without tokens";
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
