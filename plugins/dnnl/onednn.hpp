// SPDX-License-Identifier: Apache-2.0
//
// oneDNN 2.6 and later, and oneDNN 3, as one interface. Version 2 describes an operation first, and makes the descriptor of a
// primitive from that; its layouts are structures. Version 3 has one constructor, and functions for the fields of a layout.
#pragma once

#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::dnnl_plugin {

using Desc = ::dnnl::memory::desc;
using Dims = ::dnnl::memory::dims;
using DataType = ::dnnl::memory::data_type;

// A layout: dimension i has strides[i] between its blocks, of blocks[i] elements together, which are inner elements of all
// dimensions together.
struct Blocking {
  Dims padded;
  Dims strides;
  Dims blocks;
  std::int64_t inner = 1;
};

#if DNNL_VERSION_MAJOR < 3

inline Dims dims_of(const Desc& desc) { return desc.dims(); }
inline DataType type_of(const Desc& desc) { return desc.data_type(); }
inline bool is_blocked(const Desc& desc) { return desc.data.format_kind == dnnl_blocked; }
inline Blocking blocking_of(const Desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  const dnnl_blocking_desc_t& from = data.format_desc.blocking;
  Blocking read{{data.padded_dims, data.padded_dims + data.ndims},
                {from.strides, from.strides + data.ndims},
                Dims(static_cast<std::size_t>(data.ndims), 1)};
  for (int i = 0; i < from.inner_nblks; ++i) {
    read.blocks[static_cast<std::size_t>(from.inner_idxs[i])] *= from.inner_blks[i];
    read.inner *= from.inner_blks[i];
  }
  return read;
}

// Returns the descriptor of a primitive whose operation has these arguments, those of oneDNN 3 between engine and attributes.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const ::dnnl::engine& engine,
                                            const ::dnnl::primitive_attr& attributes,
                                            Args&&... args) {
  return {typename Primitive::desc(std::forward<Args>(args)...), attributes, engine};
}

using PoolingForward = ::dnnl::pooling_v2_forward;

// Operations whose output has the layout of their input.
inline auto describe_eltwise(const ::dnnl::engine& engine, const ::dnnl::primitive_attr& attributes,
                             ::dnnl::algorithm algorithm, const Desc& desc, float alpha = 0,
                             float beta = 0) {
  return describe<::dnnl::eltwise_forward>(engine, attributes, ::dnnl::prop_kind::forward_inference,
                                           algorithm, desc, alpha, beta);
}
template <class Normalization>
auto describe_normalization(const ::dnnl::engine& engine, const ::dnnl::primitive_attr& attributes,
                            const Desc& desc, float epsilon, ::dnnl::normalization_flags flags) {
  return describe<Normalization>(engine, attributes, ::dnnl::prop_kind::forward_inference, desc,
                                 epsilon, flags);
}
inline auto describe_softmax(const ::dnnl::engine& engine, const ::dnnl::primitive_attr& attributes,
                             const Desc& desc, int axis) {
  return describe<::dnnl::softmax_forward>(engine, attributes, ::dnnl::prop_kind::forward_inference,
                                           desc, axis);
}
inline ::dnnl::concat::primitive_desc describe_concat(const ::dnnl::engine& engine,
                                                      const ::dnnl::primitive_attr& attributes,
                                                      const Desc& to, int axis,
                                                      const std::vector<Desc>& from) {
  return {to, axis, from, engine, attributes};
}

inline void append_eltwise(::dnnl::post_ops& post, ::dnnl::algorithm algorithm, float alpha,
                           float beta) {
  post.append_eltwise(1, algorithm, alpha, beta);
}

// Scales of the sum of product and bias, one or one for each index of an axis.
constexpr bool has_output_scales = true;
inline void set_output_scales(::dnnl::primitive_attr& attributes, const std::vector<float>& scales,
                              int axis) {
  attributes.set_output_scales(scales.size() == 1 ? 0 : 1 << axis, scales);
}

#else

inline Dims dims_of(const Desc& desc) { return desc.get_dims(); }
inline DataType type_of(const Desc& desc) { return desc.get_data_type(); }
inline bool is_blocked(const Desc& desc) {
  return desc.get_format_kind() == ::dnnl::memory::format_kind::blocked;
}
inline Blocking blocking_of(const Desc& desc) {
  Blocking read{desc.get_padded_dims(), desc.get_strides(),
                Dims(static_cast<std::size_t>(desc.get_ndims()), 1)};
  const Dims axes = desc.get_inner_idxs(), sizes = desc.get_inner_blks();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    read.blocks[static_cast<std::size_t>(axes[i])] *= sizes[i];
    read.inner *= sizes[i];
  }
  return read;
}

template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const ::dnnl::engine& engine,
                                            const ::dnnl::primitive_attr& attributes,
                                            Args&&... args) {
  return {engine, std::forward<Args>(args)..., attributes};
}

using PoolingForward = ::dnnl::pooling_forward;

inline auto describe_eltwise(const ::dnnl::engine& engine, const ::dnnl::primitive_attr& attributes,
                             ::dnnl::algorithm algorithm, const Desc& desc, float alpha = 0,
                             float beta = 0) {
  return describe<::dnnl::eltwise_forward>(engine, attributes, ::dnnl::prop_kind::forward_inference,
                                           algorithm, desc, desc, alpha, beta);
}
template <class Normalization>
auto describe_normalization(const ::dnnl::engine& engine, const ::dnnl::primitive_attr& attributes,
                            const Desc& desc, float epsilon, ::dnnl::normalization_flags flags) {
  return describe<Normalization>(engine, attributes, ::dnnl::prop_kind::forward_inference, desc,
                                 desc, epsilon, flags);
}
inline auto describe_softmax(const ::dnnl::engine& engine, const ::dnnl::primitive_attr& attributes,
                             const Desc& desc, int axis) {
  return describe<::dnnl::softmax_forward>(engine, attributes, ::dnnl::prop_kind::forward_inference,
                                           ::dnnl::algorithm::softmax_accurate, desc, desc, axis);
}
inline ::dnnl::concat::primitive_desc describe_concat(const ::dnnl::engine& engine,
                                                      const ::dnnl::primitive_attr& attributes,
                                                      const Desc& to, int axis,
                                                      const std::vector<Desc>& from) {
  return {engine, to, axis, from, attributes};
}

inline void append_eltwise(::dnnl::post_ops& post, ::dnnl::algorithm algorithm, float alpha,
                           float beta) {
  post.append_eltwise(algorithm, alpha, beta);
}

// The first post-op multiplies instead.
constexpr bool has_output_scales = false;
inline void set_output_scales(::dnnl::primitive_attr&, const std::vector<float>&, int) {}

#endif

}  // namespace gantry::dnnl_plugin
