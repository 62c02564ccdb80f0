// SPDX-License-Identifier: Apache-2.0
//
// Calls of a model's attention kernels with the tables of a forward pass. Tensors have the extents
// that the kernels require; nothing is checked here.
#pragma once

#include "cache_arguments.hpp"
#include "kernel_arguments.hpp"
#include "kv_device_tables.hpp"

#include <cstddef>

namespace gantry::relax {

struct AttentionOutput {
  // [tokens, query heads, dimension]
  const gantry_tensor* out = nullptr;
  // float32[tokens, query heads], in the kernels' own form
  const gantry_tensor* lse = nullptr;
};

// The queries, keys and values of new tokens.
struct NewTokens {
  const gantry_tensor& q;
  const gantry_tensor& k;
  const gantry_tensor& v;
};

class AttentionKernels {
 public:
  // All are borrowed for the lifetime of this object.
  //
  // tables   [in]   of `pass`
  AttentionKernels(const Host& host, const CacheArguments& arguments, const KvForward& pass,
                   const KvDeviceTables& tables)
      : host_(host), arguments_(arguments), pass_(pass), tables_(tables) {}

  Status copy_page(const gantry_env* env, const gantry_tensor& pages, const KvPageCopy& copy) const;
  // Splits qkv, and rotates queries and keys as the model requires.
  Status split(const gantry_env* env, const gantry_tensor& qkv, const NewTokens& to) const;
  // Attention of the new tokens to themselves.
  Status attend_self(const gantry_env* env, const NewTokens& tokens, double sm_scale,
                     const AttentionOutput& to) const;
  // Attention to the tokens of one depth.
  Status attend_depth(const gantry_env* env, const KvDepth& depth, const gantry_tensor& pages,
                      const gantry_tensor& q, double sm_scale, const AttentionOutput& to) const;
  // Merges the second output into the first.
  //
  // merge    [in]   one of CacheKernels::merge
  Status merge(const gantry_env* env, const ObjectRef& merge, const AttentionOutput& to,
               const AttentionOutput& from) const;
  // Writes the keys and values of the new tokens to the pages of a layer.
  Status append(const gantry_env* env, const gantry_tensor& pages, const gantry_tensor& k,
                const gantry_tensor& v) const;
  // Copies keys and values at `positions` in the pages of a layer.
  //
  // layer    [in]   index in keys and values
  Status debug_get_kv(const gantry_env* env, const gantry_tensor& pages,
                      const gantry_tensor& positions, std::size_t layer, const gantry_tensor& keys,
                      const gantry_tensor& values) const;

 private:
  Status run(const ObjectRef& kernel, const gantry_env* env, const KernelArguments& args) const;
  void add_scales(KernelArguments& args, double sm_scale) const;

  const Host& host_;
  const CacheArguments& arguments_;
  const KvForward& pass_;
  const KvDeviceTables& tables_;
};

}  // namespace gantry::relax
