// SPDX-License-Identifier: Apache-2.0
//
// A paged KV cache: sequences, the keys and values of their tokens, and attention to them by the
// kernels of the model that creates the cache. All tensors are on one device.
//
//     add 0; begin_forward [0] [10]; attention of layer 0, 1, ...; end_forward
//
// Memory, allocated on creation:
//
//     pages       for each layer [pages, 2, heads, page_size, dimension]
//     temporaries for one layer's new queries, keys and values and the result of one more kernel,
//                 of prefill_chunk tokens
//     tables      those of a forward pass, see KvDeviceTables; and lists of pages, as they are used
//
// All of it is counted as storages are. Tables and lists of pages have a limit of their own.
#pragma once

#include "attention_kernels.hpp"
#include "cache_arguments.hpp"
#include "checkpoint.hpp"
#include "kernel_arguments.hpp"
#include "kv_device_tables.hpp"
#include "kv_forward.hpp"
#include "plugins/relax/builtin.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::relax {

// A function that fails changes nothing, unless a kernel or a copy fails.
//
// thread   one at a time
class AttentionCache {
 public:
  static constexpr const char* type_name = "relax.vm.PagedAttentionKVCache";

  // Of tables in host memory, and of lists of pages.
  static constexpr std::uint64_t max_table_bytes = std::uint64_t{1} << 28;

  // memory   [in]   counts the cache
  static Result<std::unique_ptr<AttentionCache>> create(const Host& host, CacheArguments arguments,
                                                        std::shared_ptr<StorageMemory> memory);

  // Changes of sequences, as in KvSequences. Each but add() ends a pass.
  Status add(std::int64_t id);
  Status remove(std::int64_t id);
  void clear() noexcept;
  // costs    a kernel for each layer if a page is copied
  Status fork(const gantry_env* env, std::int64_t parent, std::int64_t child,
              std::int64_t position);
  Status pop(const gantry_env* env, std::int64_t id, std::int64_t count);
  Status enable_window(std::int64_t id, std::int64_t window, std::int64_t sink);
  Status accept(std::span<const std::int64_t> ids, std::span<const std::int64_t> leaves);
  const KvSequences& sequences() const { return sequences_; }

  // Begins a pass of all layers.
  //
  // costs    KvForward::begin(), and one copy of all tables on devices other than the CPU
  Status begin(const gantry_env* env, std::span<const std::int64_t> ids,
               std::span<const std::int64_t> lengths, std::span<const std::int64_t> parents);
  void end() noexcept { pass_.end(); }

  // Attention of the new tokens of the pass to themselves and all tokens before them; writes their
  // keys and values to the pages. Allocates no memory.
  //
  // qkv      [in]   [tokens, query heads + 2 * kv heads, dimension]; more rows are ignored
  // out      [out]  [tokens, query heads, dimension]
  // returns  INVALID  there is no pass, no such layer, or a tensor has another type
  Status attend(const gantry_env* env, std::int64_t layer, double sm_scale,
                const gantry_tensor& qkv, const gantry_tensor& out);

  // The same with queries, keys and values of a layer that shares those of `layer`, which the pass
  // has attended to already. Nothing is rotated and nothing is written to the pages; where the
  // pages have the new tokens before attention, k and v are not read.
  //
  // q, out   [tokens, query heads, dimension]; k, v: [tokens, kv heads, dimension]; more rows are ignored
  Status attend_shared(const gantry_env* env, std::int64_t layer, double sm_scale,
                       const NewTokens& tokens, const gantry_tensor& out);

  using Output = AttentionOutput;
  // Attention of the new tokens to themselves, without the cache.
  Status attend_self(const gantry_env* env, std::int64_t layer, double sm_scale,
                     const NewTokens& tokens, const Output& to);
  // Attention to the tokens in the cache.
  Status attend_cross(const gantry_env* env, std::int64_t layer, double sm_scale,
                      const gantry_tensor& q, const Output& to);
  // Merges the second output into the first.
  Status merge(const gantry_env* env, const Output& to, const Output& from);

  // Returns a copy of the positions of the last pass's new tokens in their sequences.
  Result<Value> query_positions(const gantry_env* env) const;
  // Copies keys and values of tokens [begin, end) of a sequence.
  //
  // keys, values [out] [layers, tokens, kv heads, dimension]
  Status debug_get_kv(const gantry_env* env, std::int64_t id, std::int64_t begin, std::int64_t end,
                      const gantry_tensor& keys, const gantry_tensor& values);

  // Checkpoints: a program stores the pages of sequence 0, one group for each layer, and puts them
  // into a cache of the same layout, which begins empty. Between prepare_import() and
  // finish_import() all other changes but clear() are refused. Returns are INVALID (KV_CHECKPOINT)
  // for another sequence, a sliding window, a group that does not exist or was imported.
  //
  // group    [in, out]  [1, pages, 2, kv heads, page size, dimension]; slots behind the last token are 0
  std::string layout() const { return kv_layout(arguments_); }
  Result<std::string> checkpoint(std::int64_t id) const;
  Status export_group(const gantry_env* env, std::int64_t id, std::int64_t group,
                      const gantry_tensor& to) const;
  Status prepare_import(std::int64_t id, std::string_view metadata);
  Status import_group(const gantry_env* env, std::int64_t id, std::int64_t group,
                      const gantry_tensor& from);
  Status finish_import(std::int64_t id);

 private:
  AttentionCache(const Host& host, CacheArguments arguments, std::shared_ptr<StorageMemory> memory)
      : host_(host),
        arguments_(std::move(arguments)),
        memory_(std::move(memory)),
        table_memory_(host, memory_, "tables of a KV cache", max_table_bytes),
        sequences_(arguments_.config, &table_memory_) {}
  Status allocate();
  Result<StorageMemory::Block> tensor(gantry_dtype dtype,
                                      std::span<const std::int64_t> extents) const;
  Status check_tensor(std::string_view name, const gantry_tensor& found, gantry_dtype dtype,
                      std::span<const std::int64_t> extents) const;
  Status check_rows(std::string_view name, const gantry_tensor& found, std::int64_t heads) const;
  Status check_output(const Output& to) const;
  Result<std::size_t> layer_of(std::int64_t layer) const;
  Status check_new_rows(std::string_view name, const gantry_tensor& found,
                        std::int64_t heads) const;
  Status attend_tokens(const gantry_env* env, std::size_t layer, const NewTokens& tokens,
                       double sm_scale, const gantry_tensor& out) const;
  Status check_no_import() const;
  Status check_import() const;
  Status copy_group(const gantry_env* env, std::int64_t group, const gantry_tensor& stored,
                    std::int32_t tokens, bool imports) const;
  Result<std::int32_t> stored_tokens(std::int64_t id) const;
  Status check_group(std::int64_t group, const gantry_tensor& data, std::int32_t tokens) const;
  Status copy_page(const gantry_env* env, const KvPageCopy& copy);
  TensorArgument temporary(const StorageMemory::Block& memory, std::int64_t heads) const;
  TensorArgument lse(const StorageMemory::Block& memory) const;

  Status run_depths(const gantry_env* env, std::size_t layer, const gantry_tensor& q,
                    double sm_scale, bool merges, const Output& to) const;

  Host host_;
  CacheArguments arguments_;
  std::shared_ptr<StorageMemory> memory_;
  HostMemory table_memory_;
  KvSequences sequences_;
  KvForward pass_{sequences_};
  // By layer.
  std::vector<StorageMemory::Block> pages_;
  // While a checkpoint is imported: the layers that are in the pages.
  std::optional<std::vector<bool>> imported_;
  StorageMemory::Block q_, k_, v_, out_, lse_, other_lse_;
  KvDeviceTables tables_{host_, arguments_.device, pass_};
  AttentionKernels kernels_{host_, arguments_, pass_, tables_};
};

}  // namespace gantry::relax
