// SPDX-License-Identifier: Apache-2.0
#include "attention_kernels.hpp"

#include <gantry/dtype_text.hpp>

namespace gantry::relax {

Status AttentionKernels::run(const ObjectRef& kernel, const gantry_env* env,
                             const KernelArguments& args) const {
  GANTRY_CHECK(host_.call(kernel.get(), env, args.get()));
  return {};
}

// Adds the last arguments of each attention kernel.
void AttentionKernels::add_scales(KernelArguments& args, double sm_scale) const {
  args.add(int_value(arguments_.rope_mode == RopeMode::inline_));
  args.add(float_value(arguments_.rope_scale));
  args.add(float_value(arguments_.rope_theta));
  args.add(float_value(sm_scale));
}

Status AttentionKernels::copy_page(const gantry_env* env, const gantry_tensor& pages,
                                   const KvPageCopy& copy) const {
  KernelArguments args;
  args.add(pages);
  args.add(int_value(copy.source));
  args.add(int_value(copy.target));
  args.add(int_value(copy.tokens));
  return run(arguments_.kernels.copy_single_page, env, args);
}

Status AttentionKernels::split(const gantry_env* env, const gantry_tensor& qkv,
                               const NewTokens& to) const {
  TensorArgument q_position = tables_[pass_.tables().q_rope_position];
  KernelArguments args;
  args.add(qkv);
  args.add(q_position.value());
  args.add(to.q);
  args.add(to.k);
  args.add(to.v);
  args.add(arguments_.rope_factors.tensor() ? arguments_.rope_factors.get()
                                            : int_value(arguments_.rope_mode == RopeMode::normal));
  return run(arguments_.kernels.split_rotary, env, args);
}

Status AttentionKernels::attend_self(const gantry_env* env, const NewTokens& tokens,
                                     double sm_scale, const AttentionOutput& to) const {
  const KvTables& tables = pass_.tables();
  TensorArgument indptr = tables_[tables.append_indptr];
  TensorArgument q_position = tables_[tables.q_rope_position];
  TensorArgument k_offset = tables_[tables.append_rope_offset];
  KernelArguments args;
  args.add(tokens.q);
  args.add(indptr.value());
  args.add(tokens.k);
  args.add(tokens.v);
  args.add(indptr.value());
  args.add(q_position.value());
  args.add(k_offset.value());
  args.add(*to.out);
  args.add(*to.lse);
  // causal
  args.add(int_value(1));
  add_scales(args, sm_scale);
  return run(arguments_.kernels.ragged_prefill, env, args);
}

Status AttentionKernels::attend_depth(const gantry_env* env, const KvDepth& depth,
                                      const gantry_tensor& pages, const gantry_tensor& q,
                                      double sm_scale, const AttentionOutput& to) const {
  TensorArgument qo_indptr = tables_[depth.qo_indptr];
  TensorArgument page_indptr = tables_[depth.page_indptr];
  TensorArgument page_indices = tables_[depth.page_indices];
  TensorArgument lengths = tables_[depth.length_info];
  if (arguments_.config.sliding_window) {
    lengths = {lengths.get(), dtypes::int32, lengths.get().byte_offset, {3, depth.entry_count}};
  }
  TensorArgument k_offset = tables_[depth.k_rope_offset];
  TensorArgument q_position = tables_[pass_.tables().q_rope_position];
  KernelArguments args;
  args.add(q);
  if (!depth.decode) args.add(qo_indptr.value());
  args.add(pages);
  args.add(page_indptr.value());
  args.add(page_indices.value());
  args.add(lengths.value());
  args.add(k_offset.value());
  args.add(q_position.value());
  args.add(*to.out);
  args.add(*to.lse);
  // not causal
  if (!depth.decode) args.add(int_value(0));
  add_scales(args, sm_scale);
  const CacheKernels& kernels = arguments_.kernels;
  return run(depth.decode ? kernels.paged_decode : kernels.paged_prefill, env, args);
}

Status AttentionKernels::merge(const gantry_env* env, const ObjectRef& merge,
                               const AttentionOutput& to, const AttentionOutput& from) const {
  KernelArguments args;
  args.add(*to.out);
  args.add(*to.lse);
  args.add(*from.out);
  args.add(*from.lse);
  return run(merge, env, args);
}

Status AttentionKernels::append(const gantry_env* env, const gantry_tensor& pages,
                                const gantry_tensor& k, const gantry_tensor& v) const {
  TensorArgument position = tables_[pass_.tables().append_position];
  KernelArguments args;
  args.add(pages);
  args.add(k);
  args.add(v);
  args.add(position.value());
  return run(arguments_.kernels.transpose_append, env, args);
}

Status AttentionKernels::debug_get_kv(const gantry_env* env, const gantry_tensor& pages,
                                      const gantry_tensor& positions, std::size_t layer,
                                      const gantry_tensor& keys,
                                      const gantry_tensor& values) const {
  KernelArguments args;
  args.add(pages);
  args.add(positions);
  args.add(keys);
  args.add(values);
  args.add(int_value(static_cast<std::int64_t>(layer)));
  return run(arguments_.kernels.debug_get_kv, env, args);
}

}  // namespace gantry::relax
