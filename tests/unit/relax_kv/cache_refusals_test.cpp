// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/relax_kv/cache_fixture.hpp"

namespace gantry::relax::test {
namespace {

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
  std::vector<gantry_value> old = arguments(small);
  old.resize(25);
  old.at(9) = kernels.function("append");
  EXPECT_EQ(failure(name, old),
            "InternalError: " + name +
                ": the KV cache is one of TVM 0.16 to 0.19, which has other arguments; export the "
                "model with TVM 0.20 or later");
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

// The table in plugins/relax/README.md, section "Caches of language models".
class NotExecuted : public AttentionCacheTest {
 protected:
  void expect_refused(std::string_view name, const std::vector<gantry_value>& args,
                      std::string_view reason, std::string_view message) {
    const Result<Value> result = call(name, args);

    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::unsupported);
    EXPECT_EQ(result.error().reason, reason);
    EXPECT_EQ(result.error().message, message);
  }
  void expect_not_created(std::size_t i, const gantry_value& value, std::string_view reason,
                          std::string_view message) {
    std::vector<gantry_value> args = arguments(small);
    args.at(i) = value;
    expect_refused("paged_attention_kv_cache_create", args, reason,
                   concat("paged_attention_kv_cache_create: ", message));
  }
};

TEST_F(NotExecuted, AreLayersOfAnotherAttention) {
  const char* const kinds[] = {"1 (latent (MLA))", "2 (linear)",
                               "3 (multi-head with a window of its own)"};
  for (std::int64_t kind = 1; kind <= 3; ++kind) {
    expect_not_created(6, shape({0, kind}), "KV_ATTENTION",
                       concat("attention of layer 1 is of kind ", kinds[kind - 1],
                              ", supported is 0 (multi-head)"));
  }
}

TEST_F(NotExecuted, AreKernelsOfFlashInfer) {
  const char* const names[] = {"ragged_prefill", "paged_prefill", "paged_decode", "sliding_prefill",
                               "sliding_decode", "tree_paged",    "tree_ragged",  "mla"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    expect_not_created(15 + i, array({kept(host.text("flashinfer")), kernels.function("unused")}),
                       "KV_ATTENTION",
                       concat("argument ", 15 + i, " (", names[i],
                              ") is a kernel of \"flashinfer\", supported are \"tirx\" and "
                              "\"tir\""));
  }
}

TEST_F(NotExecuted, IsTransferBetweenProcesses) {
  expect_not_created(7, int_value(1), "KV_TRANSFER",
                     "transfer of keys and values between processes is not supported");
}

TEST_F(NotExecuted, AreParentsThatAreNoChain) {
  create(small);
  ASSERT_EQ(add(0), "");

  expect_refused("kv_state_begin_forward", {cache.get(), shape({0}), shape({3}), shape({-1, 0, 0})},
                 "KV_TREE",
                 "tree attention is not supported: parent of new token 2 of sequence 0 is 0, a "
                 "chain has 1");
  EXPECT_EQ(query("get_total_sequence_length"), 0);
}

TEST_F(NotExecuted, AreParentsWithSlidingWindow) {
  create({4, 64, 16, 4, 1});
  ASSERT_EQ(add(0), "");

  expect_refused("kv_state_begin_forward", {cache.get(), shape({0}), shape({2}), shape({-1, 0})},
                 "KV_TREE", "token trees are not supported in a KV cache with sliding window");
}

}  // namespace
}  // namespace gantry::relax::test
