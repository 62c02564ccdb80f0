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

Elements elements_of(const Desc& desc, ElementType type) {
  return {type, dims_of(desc), blocking_of(desc).strides};
}

Result<ElementType> read_element_type(gantry_dtype dtype) {
  if (const auto type = element_type_of(dtype)) return *type;
  return unsupported(
             "tensor has dtype ", dtype_text(dtype),
             ", supported are float32, float16, bfloat16, float8_e4m3fn, int32, int8, uint8 "
             "and bool")
      .with_reason("SUBGRAPH_OPERATOR");
}

namespace {

// True if loops can read and write the layout.
bool has_no_blocks(const Desc& desc) { return is_blocked(desc) && blocking_of(desc).inner == 1; }

// A scalar has one dimension: oneDNN has no tensors without.
Result<Desc> desc_of(const TensorType& type) {
  GANTRY_TRY(const ElementType element, read_element_type(type.dtype));
  if (type.shape.size() > DNNL_MAX_NDIMS) {
    return unsupported("tensor ", type_text(type.dtype, type.shape), " has ", type.shape.size(),
                       " dimensions, maximum is ", DNNL_MAX_NDIMS)
        .with_reason("SUBGRAPH_OPERATOR");
  }
  return plain_desc(type.shape.empty() ? Dims{1} : type.shape, data_type_of(element));
}

}  // namespace

Builder::Builder(const ::dnnl::engine& engine, const Subgraph& graph,
                 std::span<const Value> constants)
    : graph_(graph), constants_(constants), entries_(graph.entries.size()) {
  plan_.engine = engine;
}

Status Builder::begin() {
  for (const TensorType& type : graph_.entries) GANTRY_CHECK(desc_of(type));
  for (std::uint32_t i = 0; i < graph_.inputs.size(); ++i) {
    GANTRY_TRY(const Desc desc, desc_of(graph_.entries[graph_.inputs[i]]));
    const std::uint32_t buffer = add_buffer(BufferKind::argument, desc.get_size());
    plan_.buffers[buffer].argument = i;
    entries_[graph_.inputs[i]].own = {desc, buffer, 0};
  }
  for (std::uint32_t i = 0; i < graph_.constants.size(); ++i) {
    GANTRY_TRY(const Desc desc, desc_of(graph_.entries[graph_.constants[i]]));
    const std::uint32_t buffer = add_buffer(BufferKind::constant, desc.get_size());
    const gantry_tensor& tensor = *constants_[i].tensor();
    plan_.buffers[buffer].data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
    kept_of_[buffer] = i;
    entries_[graph_.constants[i]].own = {desc, buffer, 0};
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

void Builder::add_step(Step step, std::span<const Use> uses) {
  const auto number = static_cast<std::uint32_t>(plan_.steps.size());
  step.name = operator_;
  for (const Use& use : uses) {
    if (!use.view.exists()) continue;
    step.arguments.push_back({use.role, view_index(use.view)});
    plan_.buffers[use.view.buffer].last_step = number;
  }
  plan_.steps.push_back(std::move(step));
}

void Builder::emit(::dnnl::primitive primitive, std::span<const Use> uses) {
  add_step({std::move(primitive), {}, {}, {}}, uses);
}

void Builder::emit(Loop loop, std::span<const View> views) {
  std::vector<Use> uses;
  for (const View& view : views) uses.push_back({0, view});
  add_step({{}, std::move(loop), {}, {}}, uses);
}

Status Builder::copy(const View& from, const View& to) {
  if (element_count(to.dims()) == 0) return {};
  // oneDNN moves narrow types on few processors.
  const bool is_narrow_type = is_narrow(element_type_of(to.type()));
  if (is_narrow_type && has_no_blocks(from.desc) && has_no_blocks(to.desc)) {
    const View views[] = {from, to};
    emit(convert_loop(elements_of(from.desc), elements_of(to.desc)), views);
    return {};
  }
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

Result<View> Builder::new_constant(const Desc& desc) {
  GANTRY_TRY(AlignedBytes memory, new_aligned_bytes(desc.get_size()));
  const std::uint32_t buffer = add_buffer(BufferKind::constant, desc.get_size());
  plan_.buffers[buffer].data = memory.get();
  plan_.weights.push_back(std::move(memory));
  return View{desc, buffer, 0};
}

std::byte* Builder::address_of(const View& view) const {
  return const_cast<std::byte*>(plan_.buffers[view.buffer].data) + view.offset;
}

Result<View> Builder::reordered_constant(const View& view, const Desc& desc) {
  GANTRY_TRY(const View made, new_constant(desc));
  if (is_narrow(element_type_of(view.type())) && has_no_blocks(view.desc) && has_no_blocks(desc)) {
    void* const tensors[] = {address_of(view), address_of(made)};
    convert_loop(elements_of(view.desc), elements_of(desc))(tensors);
    return made;
  }
  Memory from(view.desc, plan_.engine, address_of(view));
  Memory to(desc, plan_.engine, address_of(made));
  ::dnnl::stream stream(plan_.engine);
  ::dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return made;
}

Result<View> Builder::converted(const View& view, ElementType from, ElementType to) {
  View source = view;
  if (!has_no_blocks(view.desc)) {
    GANTRY_TRY(source, plain(view));
  }
  const Desc desc = plain_desc(view.dims(), data_type_of(to));
  Loop loop = convert_loop(elements_of(source.desc, from), elements_of(desc, to));
  if (is_constant(source)) {
    GANTRY_TRY(const View made, new_constant(desc));
    void* const tensors[] = {address_of(source), address_of(made)};
    loop(tensors);
    return made;
  }
  const View made = temporary(desc);
  const View views[] = {source, made};
  emit(std::move(loop), views);
  return made;
}

ElementType Builder::type_of_entry(std::uint32_t entry) const {
  // begin() has read all types.
  return element_type_of(graph_.entries[entry].dtype).value_or(ElementType::float32);
}

Result<View> Builder::entry(std::uint32_t entry, bool is_wide) {
  Entry& tensor = entries_[entry];
  const ElementType type = type_of_entry(entry);
  if (!is_narrow(type)) return tensor.own;
  View Entry::*const wanted = is_wide ? &Entry::wide : &Entry::own;
  if (!is_wide && type == ElementType::float8_e4m3fn) {
    // Fails as a primitive does that oneDNN does not have.
    throw ::dnnl::error(dnnl_unimplemented, "float8");
  }
  if (!(tensor.*wanted).exists()) {
    GANTRY_TRY(tensor.*wanted, is_wide ? converted(tensor.own, type, ElementType::float32)
                                       : converted(tensor.wide, ElementType::float32, type));
    conversions_.emplace_back(entry, wanted);
  }
  return tensor.*wanted;
}

Builder::Mark Builder::mark() const {
  return {plan_.buffers.size(), plan_.views.size(), plan_.steps.size(),
          plan_.weights.size(), plan_.kept.size(),  conversions_.size()};
}

void Builder::rewind(const Mark& mark, const SubgraphNode& node) {
  for (std::size_t i = plan_.views.size(); i-- > mark.views;)
    views_of_[plan_.views[i].buffer].pop_back();
  plan_.views.resize(mark.views);
  plan_.steps.resize(mark.steps);
  plan_.buffers.resize(mark.buffers);
  views_of_.resize(mark.buffers);
  kept_of_.resize(mark.buffers);
  plan_.weights.resize(mark.weights);
  plan_.kept.resize(mark.kept);
  for (std::size_t i = mark.conversions; i < conversions_.size(); ++i)
    entries_[conversions_[i].first].*conversions_[i].second = {};
  conversions_.resize(mark.conversions);
  for (std::uint32_t i = 0; i < node.output_count; ++i) entries_[node.first_entry + i] = {};
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
  const TensorType& type = graph_.entries[entry];
  GANTRY_TRY(const Desc expected, desc_of(type));
  const bool is_wide = is_narrow(type_of_entry(entry)) && view.type() == DataType::f32;
  if (view.dims() != dims_of(expected) || (!is_wide && view.type() != type_of(expected))) {
    return malformed(node.at, "operator ", quoted(node.name), " gives a tensor of shape ",
                     numbers_text(view.dims()), ", the sub-graph has ",
                     type_text(type.dtype, type.shape))
        .with_reason("SUBGRAPH");
  }
  (is_wide ? entries_[entry].wide : entries_[entry].own) = std::move(view);
  return {};
}

Status Builder::set_empty(std::uint32_t entry, const SubgraphNode& node) {
  GANTRY_TRY(const Desc desc, desc_of(graph_.entries[entry]));
  return set_entry(entry, temporary(desc), node);
}

// The last operator writes to the caller's memory if it can.
Status Builder::set_output(std::uint32_t argument, std::uint32_t entry) {
  const View& view = entries_[entry].own.exists() ? entries_[entry].own : entries_[entry].wide;
  GANTRY_TRY(const Desc desc, desc_of(graph_.entries[entry]));
  if (plan_.buffers[view.buffer].kind == BufferKind::temporary && view.desc == desc &&
      plan_.buffers[view.buffer].bytes == desc.get_size()) {
    plan_.buffers[view.buffer].kind = BufferKind::argument;
    plan_.buffers[view.buffer].argument = argument;
    return {};
  }
  const std::uint32_t buffer = add_buffer(BufferKind::argument, desc.get_size());
  plan_.buffers[buffer].argument = argument;
  const View output{desc, buffer, 0};
  if (entries_[entry].own.exists()) return copy(view, output);
  GANTRY_TRY(const View wide, plain(view));
  const View views[] = {wide, output};
  if (element_count(wide.dims()) != 0)
    emit(convert_loop(elements_of(wide.desc), elements_of(desc, type_of_entry(entry))), views);
  return {};
}

Result<Plan> Builder::finish() {
  set_operator("output", 0);
  for (std::uint32_t i = 0; i < graph_.outputs.size(); ++i) {
    const std::uint32_t entry = graph_.outputs[i];
    if (!has_entry(entry)) {
      return unsupported("output ", i,
                         " of the sub-graph is an output that its operator does not compute")
          .with_reason("SUBGRAPH_OPERATOR");
    }
    GANTRY_CHECK(set_output(static_cast<std::uint32_t>(graph_.inputs.size()) + i, entry));
  }
  GANTRY_CHECK(place_buffers(plan_));
  GANTRY_CHECK(check_views(plan_));
  return std::move(plan_);
}

}  // namespace gantry::dnnl_plugin
