// SPDX-License-Identifier: Apache-2.0
#include "builder.hpp"

#include "failure_of.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gantry::dnnl_plugin {

using Memory = ::dnnl::memory;

Desc plain_desc(const Dims& dims, DataType type) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(dims[i], 1);
  }
  return Desc(dims, type, strides);
}

Desc any_desc(const Dims& dims, DataType type) { return Desc(dims, type, Memory::format_tag::any); }

Desc any_of(const View& view) {
  return view.exists() ? any_desc(view.dims(), view.type()) : Desc();
}

std::int64_t element_count(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) count *= extent;
  return count;
}

Result<DataType> data_type_of(gantry_dtype dtype) {
  if (same_dtype(dtype, dtypes::float32)) return DataType::f32;
  if (same_dtype(dtype, dtypes::int8)) return DataType::s8;
  if (same_dtype(dtype, dtypes::uint8)) return DataType::u8;
  if (same_dtype(dtype, dtypes::int32)) return DataType::s32;
  return unsupported("tensor has dtype ", dtype_text(dtype),
                     ", supported are float32, int32, int8 and uint8")
      .with_reason("SUBGRAPH_OPERATOR");
}

namespace {

// A scalar has one dimension: oneDNN has no tensors without.
Result<Desc> desc_of(const TensorType& type) {
  GANTRY_TRY(const DataType data_type, data_type_of(type.dtype));
  if (type.shape.size() > DNNL_MAX_NDIMS) {
    return unsupported("tensor ", type_text(type.dtype, type.shape), " has ", type.shape.size(),
                       " dimensions, maximum is ", DNNL_MAX_NDIMS)
        .with_reason("SUBGRAPH_OPERATOR");
  }
  if (std::ranges::find(type.shape, -1) != type.shape.end()) {
    return unsupported("tensor ", type_text(type.dtype, type.shape),
                       " has an extent that is known when the function is called, supported are "
                       "fixed extents")
        .with_reason("SUBGRAPH_OPERATOR");
  }
  if (std::ranges::find(type.shape, 0) != type.shape.end()) {
    return unsupported("tensor ", type_text(type.dtype, type.shape),
                       " has no elements, the minimum of each extent is 1")
        .with_reason("SUBGRAPH_OPERATOR");
  }
  return plain_desc(type.shape.empty() ? Dims{1} : type.shape, data_type);
}

}  // namespace

Builder::Builder(const ::dnnl::engine& engine, const SubgraphCode& code,
                 std::span<const Value> constants)
    : code_(code), constants_(constants), entries_(code.graph.entries.size()) {
  plan_.engine = engine;
}

Status Builder::begin() {
  const Subgraph& graph = code_.graph;
  for (const TensorType& type : graph.entries) GANTRY_CHECK(desc_of(type));
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    GANTRY_TRY(const Desc desc, desc_of(graph.entries[graph.inputs[i]]));
    const std::uint32_t buffer = add_buffer(BufferKind::argument, desc.get_size());
    plan_.buffers[buffer].argument = i;
    entries_[graph.inputs[i]] = {desc, buffer, 0};
  }
  for (std::uint32_t i = 0; i < graph.constants.size(); ++i) {
    GANTRY_TRY(const Desc desc, desc_of(graph.entries[graph.constants[i]]));
    const std::uint32_t buffer = add_buffer(BufferKind::constant, desc.get_size());
    const gantry_tensor& tensor = *constants_[i].tensor();
    plan_.buffers[buffer].data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
    kept_of_[buffer] = i;
    entries_[graph.constants[i]] = {desc, buffer, 0};
  }
  return {};
}

std::uint32_t Builder::add_buffer(BufferKind kind, std::size_t bytes) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.bytes = bytes;
  buffer.first_step = static_cast<std::uint32_t>(plan_.steps.size());
  buffer.last_step = buffer.first_step;
  plan_.buffers.push_back(buffer);
  views_of_.emplace_back();
  kept_of_.emplace_back();
  return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
}

View Builder::temporary(const Desc& desc) {
  return {desc, add_buffer(BufferKind::temporary, desc.get_size()), 0};
}

View Builder::zeroed(const Desc& desc) {
  return {desc, add_buffer(BufferKind::zeroed, desc.get_size()), 0};
}

std::uint32_t Builder::view_index(const View& view) {
  for (const std::uint32_t i : views_of_[view.buffer]) {
    if (plan_.views[i].offset == view.offset && plan_.views[i].desc == view.desc) return i;
  }
  if (const auto constant = kept_of_[view.buffer]; constant && views_of_[view.buffer].empty())
    plan_.kept.push_back(constants_[*constant]);
  plan_.views.push_back(view);
  views_of_[view.buffer].push_back(static_cast<std::uint32_t>(plan_.views.size() - 1));
  return views_of_[view.buffer].back();
}

void Builder::emit(::dnnl::primitive primitive, std::span<const Use> uses) {
  const auto number = static_cast<std::uint32_t>(plan_.steps.size());
  Step step{std::move(primitive), {}, operator_};
  for (const Use& use : uses) {
    if (!use.view.exists()) continue;
    step.arguments.push_back({use.role, view_index(use.view)});
    plan_.buffers[use.view.buffer].last_step = number;
  }
  plan_.steps.push_back(std::move(step));
}

Status Builder::copy(const View& from, const View& to) {
  ::dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(::dnnl::scratchpad_mode::user);
  const ::dnnl::reorder::primitive_desc reorder(plan_.engine, from.desc, plan_.engine, to.desc,
                                                attributes);
  const Desc scratch = reorder.scratchpad_desc();
  const Use uses[] = {{DNNL_ARG_FROM, from},
                      {DNNL_ARG_TO, to},
                      {DNNL_ARG_SCRATCHPAD, scratch.is_zero() ? View{} : temporary(scratch)}};
  emit(::dnnl::reorder(reorder), uses);
  return {};
}

Result<View> Builder::reordered_constant(const View& view, const Desc& desc) {
  GANTRY_TRY(AlignedBytes memory, new_aligned_bytes(desc.get_size()));
  Memory from(view.desc, plan_.engine,
              const_cast<std::byte*>(plan_.buffers[view.buffer].data) + view.offset);
  Memory to(desc, plan_.engine, memory.get());
  ::dnnl::stream stream(plan_.engine);
  ::dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  const std::uint32_t buffer = add_buffer(BufferKind::constant, desc.get_size());
  plan_.buffers[buffer].data = memory.get();
  plan_.weights.push_back(std::move(memory));
  return View{desc, buffer, 0};
}

Result<View> Builder::in_layout(const View& view, const Desc& desc) {
  if (view.desc == desc) return view;
  if (is_constant(view)) return reordered_constant(view, desc);
  const View made = temporary(desc);
  GANTRY_CHECK(copy(view, made));
  return made;
}

Result<View> Builder::plain(const View& view) {
  return in_layout(view, plain_desc(view.dims(), view.type()));
}

Result<View> Builder::reshaped(const View& view, const Dims& dims) {
  if (view.dims() == dims) return view;
  if (element_count(view.dims()) != element_count(dims)) {
    return malformed(operator_at_, "operator ", quoted(operator_), " has a tensor of shape ",
                     numbers_text(view.dims()), ", expected the number of elements of ",
                     numbers_text(dims))
        .with_reason("SUBGRAPH");
  }
  GANTRY_TRY(const View whole, plain(view));
  return whole.with(plain_desc(dims, view.type()));
}

std::optional<std::vector<float>> Builder::constant_floats(const View& view) {
  if (!is_constant(view) || view.type() != DataType::f32) return {};
  const auto whole = plain(view);
  if (!whole.ok()) return {};
  std::vector<float> elements(whole->desc.get_size() / sizeof(float));
  std::memcpy(elements.data(), plan_.buffers[whole->buffer].data + whole->offset,
              elements.size() * sizeof(float));
  return elements;
}

Status Builder::set_entry(std::uint32_t entry, View view, const SubgraphNode& node) {
  const TensorType& type = code_.graph.entries[entry];
  GANTRY_TRY(const Desc expected, desc_of(type));
  if (view.dims() != dims_of(expected) || view.type() != type_of(expected)) {
    return malformed(node.at, "operator ", quoted(node.name), " gives a tensor of shape ",
                     numbers_text(view.dims()), ", the sub-graph has ",
                     type_text(type.dtype, type.shape))
        .with_reason("SUBGRAPH");
  }
  entries_[entry] = std::move(view);
  return {};
}

// The last operator writes to the caller's memory if it can.
Status Builder::set_output(std::uint32_t argument, const View& view, const TensorType& type) {
  GANTRY_TRY(const Desc desc, desc_of(type));
  if (plan_.buffers[view.buffer].kind == BufferKind::temporary && view.desc == desc &&
      plan_.buffers[view.buffer].bytes == desc.get_size()) {
    plan_.buffers[view.buffer].kind = BufferKind::argument;
    plan_.buffers[view.buffer].argument = argument;
    return {};
  }
  const std::uint32_t buffer = add_buffer(BufferKind::argument, desc.get_size());
  plan_.buffers[buffer].argument = argument;
  return copy(view, {desc, buffer, 0});
}

Result<Plan> Builder::finish() {
  const Subgraph& graph = code_.graph;
  set_operator("output", 0);
  for (std::uint32_t i = 0; i < graph.outputs.size(); ++i) {
    const std::uint32_t entry = graph.outputs[i];
    if (!entries_[entry].exists()) {
      return unsupported("output ", i,
                         " of the sub-graph is an output that its operator does not compute")
          .with_reason("SUBGRAPH_OPERATOR");
    }
    GANTRY_CHECK(set_output(static_cast<std::uint32_t>(graph.inputs.size()) + i, entries_[entry],
                            graph.entries[entry]));
  }
  GANTRY_CHECK(place_buffers(plan_));
  GANTRY_CHECK(check_views(plan_));
  return std::move(plan_);
}

}  // namespace gantry::dnnl_plugin
