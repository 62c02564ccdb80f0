// SPDX-License-Identifier: Apache-2.0
#include "attention_cache.hpp"
#include "rnn_state.hpp"

#include "plugins/relax/error_kind.hpp"

#include <gantry/opaque.hpp>

#include <type_traits>

namespace gantry::relax {
namespace {

// Checks the number of arguments and returns the first one, a cache.
Result<AttentionCache*> paged_cache(const Host& host, const Call& call, std::size_t min,
                                    std::size_t max) {
  GANTRY_CHECK(call.count_is(min, max));
  GANTRY_TRY(gantry_object* const object, call.object(0, GANTRY_OBJECT));
  return opaque_of<AttentionCache>(host, object);
}
Result<AttentionCache*> paged_cache(const Host& host, const Call& call, std::size_t count) {
  return paged_cache(host, call, count, count);
}

// Calls a function with the first argument: a cache, or the states of a recurrent model.
template <class Body>
Result<Value> with_state(const Host& host, const Call& call, std::size_t min, std::size_t max,
                         const Body& body) {
  auto cache = paged_cache(host, call, min, max);
  if (cache.ok()) {
    GANTRY_CHECK(body(**cache));
    return Value();
  }
  if (call.args.size() < min || call.args.size() > max || call.args[0].kind != GANTRY_OBJECT)
    return std::move(cache).failure();
  const auto state = opaque_of<RnnState>(host, call.args[0].object);
  if (!state.ok()) return std::move(cache).failure();
  GANTRY_CHECK(body(**state));
  return Value();
}

Result<AttentionCache::Output> output(const Call& call, std::size_t i) {
  AttentionCache::Output to;
  GANTRY_TRY(to.out, call.tensor(i));
  GANTRY_TRY(to.lse, call.tensor(i + 1));
  return to;
}

Result<Value> create(const Host& host, const Call& call,
                     const std::shared_ptr<StorageMemory>& memory) {
  GANTRY_TRY(CacheArguments arguments, read_cache_arguments(host, call));
  GANTRY_TRY(auto cache, AttentionCache::create(host, std::move(arguments), memory));
  return new_opaque(host, std::move(cache));
}

Result<Value> clear(const Host& host, const Call& call) {
  return with_state(host, call, 1, 1, [](auto& state) -> Status {
    state.clear();
    return {};
  });
}

Result<Value> add_sequence(const Host& host, const Call& call) {
  return with_state(host, call, 2, 2, [&]<class State>(State& state) -> Status {
    GANTRY_TRY(const std::int64_t id, call.integer(1));
    if constexpr (std::is_same_v<State, RnnState>)
      return state.add(call.env, id);
    else
      return state.add(id);
  });
}

Result<Value> remove_sequence(const Host& host, const Call& call) {
  return with_state(host, call, 2, 2, [&](auto& state) -> Status {
    GANTRY_TRY(const std::int64_t id, call.integer(1));
    return state.remove(id);
  });
}

Result<Value> fork_sequence(const Host& host, const Call& call) {
  return with_state(host, call, 4, 4, [&]<class State>(State& state) -> Status {
    GANTRY_TRY(const std::int64_t parent, call.integer(1));
    GANTRY_TRY(const std::int64_t child, call.integer(2));
    GANTRY_TRY(const std::int64_t position, call.integer(3));
    // A recurrent state exists at the end of its sequence only.
    if constexpr (std::is_same_v<State, RnnState>)
      return state.fork(call.env, parent, child);
    else
      return state.fork(call.env, parent, child, position);
  });
}

Result<Value> popn(const Host& host, const Call& call) {
  return with_state(host, call, 3, 3, [&]<class State>(State& state) -> Status {
    GANTRY_TRY(const std::int64_t id, call.integer(1));
    GANTRY_TRY(const std::int64_t count, call.integer(2));
    if constexpr (std::is_same_v<State, RnnState>)
      return state.pop(id, count);
    else
      return state.pop(call.env, id, count);
  });
}

Result<Value> begin_forward(const Host& host, const Call& call) {
  return with_state(host, call, 3, 4, [&](auto& state) -> Status {
    GANTRY_TRY(const auto ids, call.shape(1));
    GANTRY_TRY(const auto lengths, call.shape(2));
    std::span<const std::int64_t> parents;
    if (call.args.size() == 4 && call.args[3].kind != GANTRY_NONE) {
      GANTRY_TRY(parents, call.shape(3));
    }
    return state.begin(call.env, ids, lengths, parents);
  });
}

Result<Value> end_forward(const Host& host, const Call& call) {
  return with_state(host, call, 1, 1, [](auto& state) -> Status {
    state.end();
    return {};
  });
}

Result<Value> enable_sliding_window(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 4));
  GANTRY_TRY(const std::int64_t id, call.integer(1));
  GANTRY_TRY(const std::int64_t window, call.integer(2));
  GANTRY_TRY(const std::int64_t sink, call.integer(3));
  GANTRY_CHECK(cache->enable_window(id, window, sink));
  return Value();
}

Result<Value> accept_nodes(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 3));
  GANTRY_TRY(const auto ids, call.shape(1));
  GANTRY_TRY(const auto leaves, call.shape(2));
  GANTRY_CHECK(cache->accept(ids, leaves));
  return Value();
}

Result<Value> is_empty(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 1));
  return Value::adopt(bool_value(cache->sequences().empty()));
}

Result<Value> available_pages(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 1));
  return Value::adopt(int_value(cache->sequences().free_page_count()));
}

Result<Value> total_length(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 1));
  return Value::adopt(int_value(cache->sequences().total_length()));
}

Result<Value> sequence_length(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 2));
  GANTRY_TRY(const std::int64_t id, call.integer(1));
  GANTRY_TRY(const std::int32_t length, cache->sequences().length(id));
  return Value::adopt(int_value(length));
}

Result<Value> query_positions(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 1));
  return cache->query_positions(call.env);
}

Result<Value> debug_get_kv(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 6));
  GANTRY_TRY(const std::int64_t id, call.integer(1));
  GANTRY_TRY(const std::int64_t begin, call.integer(2));
  GANTRY_TRY(const std::int64_t end, call.integer(3));
  GANTRY_TRY(const gantry_tensor* keys, call.tensor(4));
  GANTRY_TRY(const gantry_tensor* values, call.tensor(5));
  GANTRY_CHECK(cache->debug_get_kv(call.env, id, begin, end, *keys, *values));
  return Value();
}

Result<Value> attention_with_fused_qkv(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 5));
  GANTRY_TRY(const std::int64_t layer, call.integer(1));
  GANTRY_TRY(const double sm_scale, call.real(2));
  GANTRY_TRY(const gantry_tensor* qkv, call.tensor(3));
  GANTRY_TRY(const gantry_tensor* out, call.tensor(4));
  GANTRY_CHECK(cache->attend(call.env, layer, sm_scale, *qkv, *out));
  return Value();
}

// Arguments 3 to 5: queries, keys and values.
Result<NewTokens> new_tokens(const Call& call) {
  GANTRY_TRY(const gantry_tensor* q, call.tensor(3));
  GANTRY_TRY(const gantry_tensor* k, call.tensor(4));
  GANTRY_TRY(const gantry_tensor* v, call.tensor(5));
  return NewTokens{*q, *k, *v};
}

Result<Value> attention_with_shared_kv(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 7));
  GANTRY_TRY(const std::int64_t layer, call.integer(1));
  GANTRY_TRY(const double sm_scale, call.real(2));
  GANTRY_TRY(const NewTokens tokens, new_tokens(call));
  GANTRY_TRY(const gantry_tensor* out, call.tensor(6));
  GANTRY_CHECK(cache->attend_shared(call.env, layer, sm_scale, tokens, *out));
  return Value();
}

Result<Value> self_attention(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 8));
  GANTRY_TRY(const std::int64_t layer, call.integer(1));
  GANTRY_TRY(const double sm_scale, call.real(2));
  GANTRY_TRY(const NewTokens tokens, new_tokens(call));
  GANTRY_TRY(const AttentionCache::Output to, output(call, 6));
  GANTRY_CHECK(cache->attend_self(call.env, layer, sm_scale, tokens, to));
  return Value();
}

Result<Value> cross_attention(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 6));
  GANTRY_TRY(const std::int64_t layer, call.integer(1));
  GANTRY_TRY(const double sm_scale, call.real(2));
  GANTRY_TRY(const gantry_tensor* q, call.tensor(3));
  GANTRY_TRY(const AttentionCache::Output to, output(call, 4));
  GANTRY_CHECK(cache->attend_cross(call.env, layer, sm_scale, *q, to));
  return Value();
}

Result<Value> merge_attn_output(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 5));
  GANTRY_TRY(const AttentionCache::Output to, output(call, 1));
  GANTRY_TRY(const AttentionCache::Output from, output(call, 3));
  GANTRY_CHECK(cache->merge(call.env, to, from));
  GANTRY_TRY(const Value out, host.keep(call.args[1]));
  GANTRY_TRY(const Value lse, host.keep(call.args[2]));
  return host.array({out, lse});
}

Result<Value> checkpoint_metadata(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 2));
  GANTRY_TRY(const std::int64_t id, call.integer(1));
  GANTRY_TRY(const std::string text, cache->checkpoint(id));
  return host.text(text);
}

Result<Value> layout_hash(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 1));
  return host.text(cache->layout());
}

// The arguments of an import or an export.
struct CheckpointGroup {
  AttentionCache* cache;
  std::int64_t id, group;
  const gantry_tensor* data;
};
Result<CheckpointGroup> checkpoint_group(const Host& host, const Call& call) {
  CheckpointGroup group{};
  GANTRY_TRY(group.cache, paged_cache(host, call, 4));
  GANTRY_TRY(group.id, call.integer(1));
  GANTRY_TRY(group.group, call.integer(2));
  GANTRY_TRY(group.data, call.tensor(3));
  return group;
}

Result<Value> export_page_group(const Host& host, const Call& call) {
  GANTRY_TRY(const CheckpointGroup to, checkpoint_group(host, call));
  GANTRY_CHECK(to.cache->export_group(call.env, to.id, to.group, *to.data));
  return Value();
}

Result<Value> prepare_import(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 3));
  GANTRY_TRY(const std::int64_t id, call.integer(1));
  GANTRY_TRY(const std::string_view metadata, call.text(2));
  GANTRY_CHECK(cache->prepare_import(id, metadata));
  return Value();
}

Result<Value> import_page_group(const Host& host, const Call& call) {
  GANTRY_TRY(const CheckpointGroup from, checkpoint_group(host, call));
  GANTRY_CHECK(from.cache->import_group(call.env, from.id, from.group, *from.data));
  return Value();
}

Result<Value> finish_import(const Host& host, const Call& call) {
  GANTRY_TRY(AttentionCache* const cache, paged_cache(host, call, 2));
  GANTRY_TRY(const std::int64_t id, call.integer(1));
  GANTRY_CHECK(cache->finish_import(id));
  return Value();
}

Result<Value> rnn_create(const Host& host, const Call& call,
                         const std::shared_ptr<StorageMemory>& memory) {
  GANTRY_TRY(auto state, RnnState::create(host, call, memory));
  return new_opaque(host, std::move(state));
}

// A state and the numbers of a layer and of a state in it.
struct RnnPlace {
  RnnState* state;
  std::int64_t layer, index;
};
Result<RnnPlace> rnn_place(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(4));
  RnnPlace place{};
  GANTRY_TRY(gantry_object* const object, call.object(0, GANTRY_OBJECT));
  GANTRY_TRY(place.state, opaque_of<RnnState>(host, object));
  GANTRY_TRY(place.layer, call.integer(1));
  GANTRY_TRY(place.index, call.integer(2));
  return place;
}

Result<Value> rnn_get(const Host& host, const Call& call) {
  GANTRY_TRY(const RnnPlace place, rnn_place(host, call));
  GANTRY_CHECK(call.tensor(3));
  GANTRY_CHECK(place.state->get(call.env, place.layer, place.index, call.args[3]));
  return Value();
}

Result<Value> rnn_set(const Host& host, const Call& call) {
  GANTRY_TRY(const RnnPlace place, rnn_place(host, call));
  GANTRY_CHECK(call.tensor(3));
  GANTRY_CHECK(place.state->set(call.env, place.layer, place.index, call.args[3]));
  return host.keep(call.args[0]);
}

Result<Value> rnn_debug_get(const Host& host, const Call& call) {
  GANTRY_TRY(const RnnPlace place, rnn_place(host, call));
  GANTRY_TRY(const std::int64_t id, call.integer(3));
  return place.state->value_of(call.env, place.layer, place.index, id);
}

constexpr Builtin paged_rows[] = {
    {"vm.builtin.paged_attention_kv_cache_create", cache_create_usage, nullptr,
     with_kind_counted<create>},
    {"vm.builtin.kv_state_clear", "kv_state_clear(cache)", with_kind<clear>},
    {"vm.builtin.kv_state_add_sequence", "kv_state_add_sequence(cache, sequence)",
     with_kind<add_sequence>},
    {"vm.builtin.kv_state_remove_sequence", "kv_state_remove_sequence(cache, sequence)",
     with_kind<remove_sequence>},
    {"vm.builtin.kv_state_fork_sequence", "kv_state_fork_sequence(cache, parent, child, position)",
     with_kind<fork_sequence>},
    {"vm.builtin.kv_state_popn", "kv_state_popn(cache, sequence, n)", with_kind<popn>},
    {"vm.builtin.kv_state_begin_forward",
     "kv_state_begin_forward(cache, sequences, lengths[, parents])", with_kind<begin_forward>},
    {"vm.builtin.kv_state_end_forward", "kv_state_end_forward(cache)", with_kind<end_forward>},
    {"vm.builtin.attention_kv_cache_enable_sliding_window_for_seq",
     "attention_kv_cache_enable_sliding_window_for_seq(cache, sequence, window, sink)",
     with_kind<enable_sliding_window>},
    {"vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes",
     "attention_kv_cache_commit_accepted_token_tree_nodes(cache, sequences, leaves)",
     with_kind<accept_nodes>},
    {"vm.builtin.attention_kv_cache_empty", "attention_kv_cache_empty(cache)", with_kind<is_empty>},
    {"vm.builtin.attention_kv_cache_get_num_available_pages",
     "attention_kv_cache_get_num_available_pages(cache)", with_kind<available_pages>},
    {"vm.builtin.attention_kv_cache_get_total_sequence_length",
     "attention_kv_cache_get_total_sequence_length(cache)", with_kind<total_length>},
    {"vm.builtin.attention_kv_cache_get_sequence_length",
     "attention_kv_cache_get_sequence_length(cache, sequence)", with_kind<sequence_length>},
    {"vm.builtin.attention_kv_cache_get_query_positions",
     "attention_kv_cache_get_query_positions(cache)", with_kind<query_positions>},
    {"vm.builtin.attention_kv_cache_debug_get_kv",
     "attention_kv_cache_debug_get_kv(cache, sequence, begin, end, keys, values)",
     with_kind<debug_get_kv>},
    {"vm.builtin.attention_kv_cache_attention_with_fused_qkv",
     "attention_kv_cache_attention_with_fused_qkv(cache, layer, sm_scale, qkv, out)",
     with_kind<attention_with_fused_qkv>},
    {"vm.builtin.attention_kv_cache_attention_with_shared_kv",
     "attention_kv_cache_attention_with_shared_kv(cache, layer, sm_scale, q, k, v, out)",
     with_kind<attention_with_shared_kv>},
    {"vm.builtin.attention_kv_cache_self_attention",
     "attention_kv_cache_self_attention(cache, layer, sm_scale, q, k, v, out, lse)",
     with_kind<self_attention>},
    {"vm.builtin.attention_kv_cache_cross_attention",
     "attention_kv_cache_cross_attention(cache, layer, sm_scale, q, out, lse)",
     with_kind<cross_attention>},
    {"vm.builtin.attention_kv_cache_merge_attn_output_inplace",
     "attention_kv_cache_merge_attn_output_inplace(cache, out, lse, other_out, other_lse)",
     with_kind<merge_attn_output>},
    {"vm.builtin.attention_kv_cache_get_checkpoint_metadata",
     "attention_kv_cache_get_checkpoint_metadata(cache, sequence)", with_kind<checkpoint_metadata>},
    {"vm.builtin.attention_kv_cache_get_layout_hash", "attention_kv_cache_get_layout_hash(cache)",
     with_kind<layout_hash>},
    {"vm.builtin.attention_kv_cache_export_page_group",
     "attention_kv_cache_export_page_group(cache, sequence, group, out)",
     with_kind<export_page_group>},
    {"vm.builtin.attention_kv_cache_prepare_import",
     "attention_kv_cache_prepare_import(cache, sequence, metadata)", with_kind<prepare_import>},
    {"vm.builtin.attention_kv_cache_import_page_group",
     "attention_kv_cache_import_page_group(cache, sequence, group, data)",
     with_kind<import_page_group>},
    {"vm.builtin.attention_kv_cache_finish_import",
     "attention_kv_cache_finish_import(cache, sequence)", with_kind<finish_import>},
    {"vm.builtin.rnn_state_create",
     "rnn_state_create(layers, sequences, history, gets, sets, values)", nullptr,
     with_kind_counted<rnn_create>},
    {"vm.builtin.rnn_state_get", "rnn_state_get(state, layer, index, out)", with_kind<rnn_get>},
    {"vm.builtin.rnn_state_set", "rnn_state_set(state, layer, index, data)", with_kind<rnn_set>},
    {"vm.builtin.rnn_state_debug_get", "rnn_state_debug_get(state, layer, index, sequence)",
     with_kind<rnn_debug_get>},
};

}  // namespace

std::span<const Builtin> paged_cache_builtins() { return paged_rows; }

}  // namespace gantry::relax
