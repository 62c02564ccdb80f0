// SPDX-License-Identifier: Apache-2.0
#include "attention_cache.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/fill.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::relax {

namespace {

gantry_tensor first_rows(const gantry_tensor& tensor, std::array<std::int64_t, 3>& extents,
                         std::int64_t rows) {
  extents = {rows, tensor.shape[1], tensor.shape[2]};
  gantry_tensor first = tensor;
  first.shape = extents.data();
  return first;
}

// Parts of a page: for keys and values and each head, `tokens` rows of a page's slots.
struct PageRows {
  gantry_dtype dtype;
  std::int64_t heads, page_size, dimension;

  std::uint64_t bytes_of(std::int64_t elements) const {
    return static_cast<std::uint64_t>(elements) * element_bytes(dtype);
  }
  // Copies the rows of a page to a page of another tensor.
  Status copy(const Host& host, const gantry_env* env, const gantry_tensor& from,
              std::int64_t from_page, const gantry_tensor& to, std::int64_t to_page,
              std::int64_t tokens) const {
    const bool is_whole = tokens == page_size;
    const std::int64_t parts = is_whole ? 1 : 2 * heads;
    const std::int64_t page = 2 * heads * page_size * dimension;
    const std::int64_t size = is_whole ? page : tokens * dimension;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t begin = part * page_size * dimension;
      TensorArgument source(from, dtype, from.byte_offset + bytes_of(from_page * page + begin),
                            {size});
      TensorArgument target(to, dtype, to.byte_offset + bytes_of(to_page * page + begin), {size});
      GANTRY_CHECK(host.tensor_copy(source.get(), target.get(), env));
    }
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<AttentionCache>> AttentionCache::create(
    const Host& host, CacheArguments arguments, std::shared_ptr<StorageMemory> memory) {
  std::unique_ptr<AttentionCache> cache(
      new AttentionCache(host, std::move(arguments), std::move(memory)));
  GANTRY_CHECK(cache->allocate());
  return cache;
}

Result<StorageMemory::Block> AttentionCache::tensor(gantry_dtype dtype,
                                                    std::span<const std::int64_t> extents) const {
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(extents, dtype));
  return memory_->allocate(host_, {compact_tensor(dtype, extents, arguments_.device), bytes});
}

Status AttentionCache::allocate() {
  const CacheArguments& a = arguments_;
  GANTRY_TRY(KvLayerShape layer,
             kv_layer_shape(a.config, {a.kv_heads, a.dimension, element_bytes(a.dtype)}));
  for (std::int64_t i = 0; i < a.layer_count; ++i) {
    GANTRY_TRY(StorageMemory::Block pages, tensor(a.dtype, layer.extents));
    pages_.push_back(std::move(pages));
  }
  const std::int64_t queries[] = {a.config.prefill_chunk, a.query_heads, a.dimension};
  const std::int64_t keys[] = {a.config.prefill_chunk, a.kv_heads, a.dimension};
  const auto lse_extents = std::span(queries).first(2);
  GANTRY_TRY(q_, tensor(a.dtype, queries));
  GANTRY_TRY(out_, tensor(a.dtype, queries));
  GANTRY_TRY(k_, tensor(a.dtype, keys));
  GANTRY_TRY(v_, tensor(a.dtype, keys));
  GANTRY_TRY(lse_, tensor(dtypes::float32, lse_extents));
  GANTRY_TRY(other_lse_, tensor(dtypes::float32, lse_extents));
  return {};
}

Status AttentionCache::check_no_import() const {
  if (!imported_) return {};
  return invalid("KV cache imports a checkpoint, finish_import or kv_state_clear ends that")
      .with_reason("KV_CHECKPOINT");
}

Status AttentionCache::check_import() const {
  if (imported_) return {};
  return invalid("import of a checkpoint requires prepare_import before it")
      .with_reason("KV_CHECKPOINT");
}

Status AttentionCache::add(std::int64_t id) {
  GANTRY_CHECK(check_no_import());
  return sequences_.add(id);
}

Status AttentionCache::enable_window(std::int64_t id, std::int64_t window, std::int64_t sink) {
  GANTRY_CHECK(check_no_import());
  return sequences_.enable_window(id, window, sink);
}

Status AttentionCache::remove(std::int64_t id) {
  GANTRY_CHECK(check_no_import());
  GANTRY_CHECK(sequences_.remove(id));
  pass_.end();
  return {};
}

void AttentionCache::clear() noexcept {
  sequences_.clear();
  pass_.end();
  imported_.reset();
}

Status AttentionCache::copy_page(const gantry_env* env, const KvPageCopy& copy) {
  for (const StorageMemory::Block& pages : pages_)
    GANTRY_CHECK(kernels_.copy_page(env, *pages.tensor(), copy));
  return {};
}

Status AttentionCache::fork(const gantry_env* env, std::int64_t parent, std::int64_t child,
                            std::int64_t position) {
  GANTRY_CHECK(check_no_import());
  GANTRY_TRY(const auto copy, sequences_.fork(parent, child, position));
  pass_.end();
  if (!copy) return {};
  Status copied = copy_page(env, *copy);
  // The child exists, so that this succeeds.
  if (!copied.ok()) static_cast<void>(sequences_.remove(child));
  return copied;
}

Status AttentionCache::pop(const gantry_env* env, std::int64_t id, std::int64_t count) {
  GANTRY_CHECK(check_no_import());
  GANTRY_TRY(const auto copy, sequences_.pop(id, count));
  pass_.end();
  return copy ? copy_page(env, *copy) : Status();
}

Status AttentionCache::accept(std::span<const std::int64_t> ids,
                              std::span<const std::int64_t> leaves) {
  GANTRY_CHECK(check_no_import());
  GANTRY_CHECK(pass_.accept(ids, leaves));
  pass_.end();
  return {};
}

Status AttentionCache::begin(const gantry_env* env, std::span<const std::int64_t> ids,
                             std::span<const std::int64_t> lengths,
                             std::span<const std::int64_t> parents) {
  GANTRY_CHECK(check_no_import());
  GANTRY_CHECK(pass_.begin(ids, lengths, parents,
                           [this](std::size_t size) { return tables_.reserve(size); }));
  Status uploaded = tables_.upload(env);
  if (!uploaded.ok()) pass_.end();
  return uploaded;
}

TensorArgument AttentionCache::temporary(const StorageMemory::Block& memory,
                                         std::int64_t heads) const {
  return {
      *memory.tensor(), arguments_.dtype, 0, {pass_.tables().tokens, heads, arguments_.dimension}};
}

TensorArgument AttentionCache::lse(const StorageMemory::Block& memory) const {
  return {*memory.tensor(), dtypes::float32, 0, {pass_.tables().tokens, arguments_.query_heads}};
}

Status AttentionCache::check_tensor(std::string_view name, const gantry_tensor& found,
                                    gantry_dtype dtype,
                                    std::span<const std::int64_t> extents) const {
  if (same_device(found.device, arguments_.device) && same_dtype(found.dtype, dtype) &&
      std::ranges::equal(shape_of(found), extents) && is_compact(found))
    return {};
  return invalid("tensor `", name, "` of attention is ", tensor_text(found), " on ",
                 host_.device_text(found.device), ", expected ", type_text(dtype, extents), " on ",
                 host_.device_text(arguments_.device))
      .with_reason("ARGUMENT_SHAPE");
}

// Checks a tensor that has a row for each new token.
Status AttentionCache::check_rows(std::string_view name, const gantry_tensor& found,
                                  std::int64_t heads) const {
  const std::int64_t extents[] = {pass_.tables().tokens, heads, arguments_.dimension};
  return check_tensor(name, found, arguments_.dtype, extents);
}

Status AttentionCache::check_output(const Output& to) const {
  GANTRY_CHECK(check_rows("out", *to.out, arguments_.query_heads));
  const std::int64_t extents[] = {pass_.tables().tokens, arguments_.query_heads};
  return check_tensor("lse", *to.lse, dtypes::float32, extents);
}

// Returns the index of a layer of the model in pages_. There must be a pass.
Result<std::size_t> AttentionCache::layer_of(std::int64_t layer) const {
  if (!pass_.active())
    return invalid("attention requires a forward pass, kv_state_begin_forward begins one")
        .with_reason("KV_PASS");
  const std::int64_t first = arguments_.first_layer;
  if (layer < first || layer >= first + arguments_.layer_count)
    return number_out_of_range("layer of attention", layer, first,
                               first + arguments_.layer_count - 1);
  return static_cast<std::size_t>(layer - first);
}

// Attention to the tokens in the pages.
//
// merges   [in]   true: `to` contains a result already
Status AttentionCache::run_depths(const gantry_env* env, std::size_t layer, const gantry_tensor& q,
                                  double sm_scale, bool merges, const Output& to) const {
  TensorArgument other = temporary(out_, arguments_.query_heads);
  TensorArgument other_lse = lse(other_lse_);
  const gantry_tensor& pages = *pages_[layer].tensor();
  const KvTables& tables = pass_.tables();
  for (int d = 0; d < tables.depth_count; ++d) {
    const KvDepth& depth = tables.depths[static_cast<std::size_t>(d)];
    if (depth.page_indices.size == 0) continue;
    if (!merges) {
      GANTRY_CHECK(kernels_.attend_depth(env, depth, pages, q, sm_scale, to));
      merges = true;
      continue;
    }
    const Output from{&other.get(), &other_lse.get()};
    GANTRY_CHECK(kernels_.attend_depth(env, depth, pages, q, sm_scale, from));
    GANTRY_CHECK(kernels_.merge(env, arguments_.kernels.merge[0], to, from));
  }
  if (merges) return {};
  return invalid("attention to the cache requires tokens in it, the sequences have none")
      .with_reason("KV_PASS");
}

// Checks a tensor that has a row for each new token; those of a model with padding have more.
Status AttentionCache::check_new_rows(std::string_view name, const gantry_tensor& found,
                                      std::int64_t heads) const {
  std::int64_t extents[] = {pass_.tables().tokens, heads, arguments_.dimension};
  if (found.ndim == 3) extents[0] = std::max(extents[0], found.shape[0]);
  return check_tensor(name, found, arguments_.dtype, extents);
}

// Attention of new tokens to themselves and to the tokens before them.
Status AttentionCache::attend_tokens(const gantry_env* env, std::size_t layer,
                                     const NewTokens& tokens, double sm_scale,
                                     const gantry_tensor& out) const {
  TensorArgument lse = this->lse(lse_);
  const Output to{&out, &lse.get()};
  const bool are_in_pages = pass_.tables().append_before;
  if (!are_in_pages) GANTRY_CHECK(kernels_.attend_self(env, tokens, sm_scale, to));
  return run_depths(env, layer, tokens.q, sm_scale, !are_in_pages, to);
}

Status AttentionCache::attend(const gantry_env* env, std::int64_t layer_id, double sm_scale,
                              const gantry_tensor& all_qkv, const gantry_tensor& all_out) {
  GANTRY_TRY(const std::size_t layer, layer_of(layer_id));
  const CacheArguments& a = arguments_;
  const KvTables& tables = pass_.tables();
  GANTRY_CHECK(check_new_rows("qkv", all_qkv, a.query_heads + 2 * a.kv_heads));
  const std::int64_t extents[] = {all_qkv.shape[0], a.query_heads, a.dimension};
  GANTRY_CHECK(check_tensor("out", all_out, a.dtype, extents));

  std::array<std::int64_t, 3> qkv_extents, out_extents;
  const gantry_tensor qkv = first_rows(all_qkv, qkv_extents, tables.tokens);
  const gantry_tensor out = first_rows(all_out, out_extents, tables.tokens);
  TensorArgument q = temporary(q_, a.query_heads);
  TensorArgument k = temporary(k_, a.kv_heads);
  TensorArgument v = temporary(v_, a.kv_heads);
  const NewTokens tokens{q.get(), k.get(), v.get()};
  GANTRY_CHECK(kernels_.split(env, qkv, tokens));

  const gantry_tensor& pages = *pages_[layer].tensor();
  if (tables.append_before) GANTRY_CHECK(kernels_.append(env, pages, tokens.k, tokens.v));
  GANTRY_CHECK(attend_tokens(env, layer, tokens, sm_scale, out));
  return tables.append_before ? Status() : kernels_.append(env, pages, tokens.k, tokens.v);
}

Status AttentionCache::attend_shared(const gantry_env* env, std::int64_t layer_id, double sm_scale,
                                     const NewTokens& all, const gantry_tensor& all_out) {
  GANTRY_TRY(const std::size_t layer, layer_of(layer_id));
  const CacheArguments& a = arguments_;
  GANTRY_CHECK(check_new_rows("q", all.q, a.query_heads));
  const std::int64_t rows = all.q.shape[0];
  const std::int64_t keys[] = {rows, a.kv_heads, a.dimension};
  const std::int64_t queries[] = {rows, a.query_heads, a.dimension};
  GANTRY_CHECK(check_tensor("k", all.k, a.dtype, keys));
  GANTRY_CHECK(check_tensor("v", all.v, a.dtype, keys));
  GANTRY_CHECK(check_tensor("out", all_out, a.dtype, queries));

  const std::int64_t count = pass_.tables().tokens;
  std::array<std::int64_t, 3> q_extents, k_extents, v_extents, out_extents;
  const gantry_tensor q = first_rows(all.q, q_extents, count);
  const gantry_tensor k = first_rows(all.k, k_extents, count);
  const gantry_tensor v = first_rows(all.v, v_extents, count);
  const gantry_tensor out = first_rows(all_out, out_extents, count);
  return attend_tokens(env, layer, {q, k, v}, sm_scale, out);
}

Status AttentionCache::attend_self(const gantry_env* env, std::int64_t layer, double sm_scale,
                                   const NewTokens& tokens, const Output& to) {
  GANTRY_CHECK(layer_of(layer));
  GANTRY_CHECK(check_rows("q", tokens.q, arguments_.query_heads));
  GANTRY_CHECK(check_rows("k", tokens.k, arguments_.kv_heads));
  GANTRY_CHECK(check_rows("v", tokens.v, arguments_.kv_heads));
  GANTRY_CHECK(check_output(to));
  return kernels_.attend_self(env, tokens, sm_scale, to);
}

Status AttentionCache::attend_cross(const gantry_env* env, std::int64_t layer_id, double sm_scale,
                                    const gantry_tensor& q, const Output& to) {
  GANTRY_TRY(const std::size_t layer, layer_of(layer_id));
  GANTRY_CHECK(check_rows("q", q, arguments_.query_heads));
  GANTRY_CHECK(check_output(to));
  return run_depths(env, layer, q, sm_scale, false, to);
}

Status AttentionCache::merge(const gantry_env* env, const Output& to, const Output& from) {
  if (!arguments_.kernels.merge[1]) {
    return invalid(
               "KV cache is created without a second merge function, which merges results of "
               "self and cross attention")
        .with_reason("ARGUMENT");
  }
  return kernels_.merge(env, arguments_.kernels.merge[1], to, from);
}

Result<Value> AttentionCache::query_positions(const gantry_env* env) const {
  TensorArgument positions = tables_[pass_.tables().q_rope_position];
  return host_.tensor_copied(positions.get(), positions.get().device, env);
}

Status AttentionCache::debug_get_kv(const gantry_env* env, std::int64_t id, std::int64_t begin,
                                    std::int64_t end, const gantry_tensor& keys,
                                    const gantry_tensor& values) {
  GANTRY_TRY(const std::int32_t length, sequences_.length(id));
  if (begin < 0 || begin >= end || end > length) {
    return invalid("tokens ", begin, "..", end, " of sequence ", id,
                   " are requested, expected at least 1 of its ", length)
        .with_reason("ARGUMENT_RANGE");
  }
  const CacheArguments& a = arguments_;
  const std::int64_t extents[] = {a.layer_count, end - begin, a.kv_heads, a.dimension};
  GANTRY_CHECK(check_tensor("keys", keys, a.dtype, extents));
  GANTRY_CHECK(check_tensor("values", values, a.dtype, extents));

  std::pmr::vector<std::int32_t> slots(static_cast<std::size_t>(end - begin), &table_memory_);
  GANTRY_CHECK(sequences_.slots(id, begin, end, slots));
  const std::int64_t slot_count[] = {end - begin};
  const gantry_tensor from =
      compact_tensor(dtypes::int32, slot_count, {cpu_device_type, 0}, slots.data());
  GANTRY_TRY(const Value positions, host_.tensor_copied(from, a.device, env));
  for (std::size_t layer = 0; layer < pages_.size(); ++layer) {
    GANTRY_CHECK(kernels_.debug_get_kv(env, *pages_[layer].tensor(), *positions.tensor(), layer,
                                       keys, values));
  }
  return {};
}

Result<std::int32_t> AttentionCache::stored_tokens(std::int64_t id) const {
  if (id != 0)
    return invalid("checkpoint of a KV cache is of sequence ", id, ", only 0 has one")
        .with_reason("KV_CHECKPOINT");
  GANTRY_TRY(const KvSequence* const sequence, sequences_.find(id));
  if (sequence->window != 0)
    return unsupported("a sequence with a sliding window has no checkpoint")
        .with_reason("KV_CHECKPOINT");
  return sequences_.length(id);
}

Status AttentionCache::check_group(std::int64_t group, const gantry_tensor& data,
                                   std::int32_t tokens) const {
  const CacheArguments& a = arguments_;
  if (group < 0 || group >= a.layer_count)
    return number_out_of_range("group of a checkpoint", group, 0, a.layer_count - 1);
  const std::int64_t extents[] = {
      1, pages_of(tokens, a.config.page_size), 2, a.kv_heads, a.config.page_size, a.dimension};
  return check_tensor("group", data, a.dtype, extents);
}

Result<std::string> AttentionCache::checkpoint(std::int64_t id) const {
  GANTRY_CHECK(check_no_import());
  GANTRY_TRY(const std::int32_t tokens, stored_tokens(id));
  return checkpoint_text(arguments_, tokens);
}

// Copies the tokens of sequence 0 from the pages of a layer to those of `stored`, or back.
Status AttentionCache::copy_group(const gantry_env* env, std::int64_t group,
                                  const gantry_tensor& stored, std::int32_t tokens,
                                  bool imports) const {
  const CacheArguments& a = arguments_;
  const std::int32_t page_size = a.config.page_size;
  std::pmr::vector<std::int32_t> slots(static_cast<std::size_t>(tokens),
                                       sequences_.blocks().memory());
  GANTRY_CHECK(sequences_.slots(0, 0, tokens, slots));
  const PageRows rows{a.dtype, a.kv_heads, page_size, a.dimension};
  const gantry_tensor& pages = *pages_[static_cast<std::size_t>(group)].tensor();
  for (std::int32_t at = 0; at < tokens; at += page_size) {
    const std::int32_t page = slots[static_cast<std::size_t>(at)] / page_size;
    const std::int32_t place = at / page_size;
    const std::int32_t count = std::min(page_size, tokens - at);
    GANTRY_CHECK(imports ? rows.copy(host_, env, stored, place, pages, page, count)
                         : rows.copy(host_, env, pages, page, stored, place, count));
  }
  return {};
}

Status AttentionCache::export_group(const gantry_env* env, std::int64_t id, std::int64_t group,
                                    const gantry_tensor& to) const {
  GANTRY_CHECK(check_no_import());
  GANTRY_TRY(const std::int32_t tokens, stored_tokens(id));
  GANTRY_CHECK(check_group(group, to, tokens));
  // What other sequences have left in the slots behind the last token is not exported.
  GANTRY_CHECK(fill_zeros(host_, to, env));
  return copy_group(env, group, to, tokens, false);
}

Status AttentionCache::prepare_import(std::int64_t id, std::string_view metadata) {
  if (id != 0)
    return invalid("checkpoint of a KV cache is imported to sequence ", id, ", only 0 has one")
        .with_reason("KV_CHECKPOINT");
  GANTRY_TRY(const std::int32_t tokens, read_checkpoint(arguments_, metadata));
  std::vector<bool> none(static_cast<std::size_t>(arguments_.layer_count));
  clear();
  GANTRY_CHECK(sequences_.add(id));
  if (tokens > 0) {
    GANTRY_TRY(const KvSequence* const sequence, sequences_.find(id));
    const KvAppend append = sequences_.plan_append(*sequence, tokens);
    sequences_.reserve_pages(append);
    sequences_.reserve_new_pages(sequences_.new_pages(append));
    sequences_.append(append);
  }
  imported_ = std::move(none);
  return {};
}

Status AttentionCache::import_group(const gantry_env* env, std::int64_t id, std::int64_t group,
                                    const gantry_tensor& from) {
  GANTRY_CHECK(check_import());
  GANTRY_TRY(const std::int32_t tokens, stored_tokens(id));
  GANTRY_CHECK(check_group(group, from, tokens));
  const auto layer = static_cast<std::size_t>(group);
  if ((*imported_)[layer])
    return invalid("group ", group, " of a checkpoint was imported already")
        .with_reason("KV_CHECKPOINT");
  GANTRY_CHECK(copy_group(env, group, from, tokens, true));
  (*imported_)[layer] = true;
  return {};
}

Status AttentionCache::finish_import(std::int64_t id) {
  GANTRY_CHECK(check_import());
  GANTRY_CHECK(stored_tokens(id));
  const auto absent = std::ranges::find(*imported_, false);
  if (absent != imported_->end())
    return invalid("checkpoint lacks group ", absent - imported_->begin(), " of ",
                   imported_->size())
        .with_reason("KV_CHECKPOINT");
  imported_.reset();
  return {};
}

}  // namespace gantry::relax
