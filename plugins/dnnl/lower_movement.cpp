// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements or change shapes. Most are another view of the same elements.
#include "layout.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace gantry::dnnl_plugin {
namespace {

Result<View> permuted(const Operator& op, const View& view, std::string_view attribute,
                      const std::vector<std::int64_t>& order) {
  const std::size_t rank = view.dims().size();
  std::vector<int> axes(rank, -1);
  for (std::size_t i = 0; i < order.size() && order.size() == rank; ++i) {
    const std::int64_t axis = order[i] < 0 ? order[i] + static_cast<std::int64_t>(rank) : order[i];
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) break;
    axes[static_cast<std::size_t>(axis)] = static_cast<int>(i);
  }
  if (std::ranges::find(axes, -1) != axes.end()) {
    return op.attributes.refuse(attribute, " is ", numbers_text(order), ", expected each of ", rank,
                                " axes once");
  }
  return view.with(view.desc.permute_axes(axes));
}

// Returns a part of a tensor.
//
// steps    [in]   distance between the elements that are taken; empty: 1
Result<View> part_of(const Operator& op, const View& view, const Dims& start, const Dims& size,
                     const Dims& steps = {}) {
  GANTRY_TRY(const View whole, op.builder.plain(view));
  const Dims dims = whole.dims();
  Dims strides = blocking_of(whole.desc).strides;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    const bool fits = step >= 1 && start[i] >= 0 && size[i] >= 1 && start[i] < dims[i] &&
                      (size[i] - 1) <= (dims[i] - 1 - start[i]) / step;
    if (!fits) {
      return op.refuse(": takes ", size[i], " elements from ", start[i], " in steps of ", step,
                       " of axis ", i, ", which has ", dims[i]);
    }
    first += start[i] * strides[i];
    // A step after the only element is not used; the product could overflow.
    if (size[i] > 1) strides[i] *= step;
  }
  View part = whole.with(Desc(size, view.type(), strides));
  part.offset += static_cast<std::size_t>(first) * ::dnnl::memory::data_type_size(view.type());
  return part;
}

}  // namespace

Status lower_concatenate(const Operator& op) {
  Builder& builder = op.builder;
  const Dims out = op.output_dims();
  GANTRY_TRY(const std::size_t axis, axis_of(op, "axis", out.size()));
  std::vector<View> views;
  std::vector<Desc> descs;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.is_empty(i)) continue;
    GANTRY_TRY(View view, op.input(i));
    descs.push_back(view.desc);
    views.push_back(std::move(view));
  }
  GANTRY_TRY(const auto type, op.output_type());
  const auto primitive = describe_concat(builder.engine(), new_attributes(), any_desc(out, type),
                                         static_cast<int>(axis), descs);
  const View output = builder.temporary(primitive.dst_desc());
  std::vector<Use> uses{{DNNL_ARG_DST, output},
                        {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  for (std::size_t i = 0; i < views.size(); ++i)
    uses.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), views[i]});
  builder.emit(::dnnl::concat(primitive), uses);
  return op.set_output(output);
}

// The sub-graph has the shape; attributes of reshape, squeeze and the like repeat it.
Status lower_reshape(const Operator& op) {
  GANTRY_TRY(const View input, op.input_or_part(0));
  const Dims in = input.dims(), out = op.output_dims();
  if (element_count(in) != element_count(out)) {
    return op.refuse(" gives shape ", numbers_text(in), " the shape ", numbers_text(out),
                     ", which has another number of elements");
  }
  GANTRY_TRY(View output, op.builder.reshaped(input, out));
  return op.set_output(std::move(output));
}

Status lower_transpose(const Operator& op) {
  GANTRY_TRY(const View input, op.input_or_part(0));
  std::vector<std::int64_t> order;
  if (op.attributes.has("axes")) {
    GANTRY_TRY(order, op.attributes.integers("axes"));
  }
  // Without axes: in reverse.
  if (order.empty()) {
    for (std::size_t i = input.dims().size(); i-- > 0;)
      order.push_back(static_cast<std::int64_t>(i));
  }
  GANTRY_TRY(View output, permuted(op, input, "axes", order));
  return op.set_output(std::move(output));
}

Status lower_layout_transform(const Operator& op) {
  GANTRY_TRY(const View input, op.input_or_part(0));
  // Relax has an order of the dimensions.
  if (op.attributes.has("arg_axes")) {
    GANTRY_TRY(const auto order, op.attributes.integers("arg_axes"));
    GANTRY_TRY(View output, permuted(op, input, "arg_axes", order));
    return op.set_output(std::move(output));
  }
  GANTRY_TRY(const std::string_view from, op.attributes.text("src_layout"));
  GANTRY_TRY(const std::string_view to, op.attributes.text("dst_layout"));
  std::string letters;
  for (const char c : from) {
    if (c >= 'A' && c <= 'Z') letters += c;
  }
  GANTRY_TRY(const Layout source, parse_layout(op, "src_layout", from, letters));
  GANTRY_TRY(const Layout target, parse_layout(op, "dst_layout", to, letters));
  GANTRY_TRY(const View ordered, in_order(op, input, source, letters));
  GANTRY_TRY(const Dims dims, ordered_dims(op, op.output_dims(), target, letters));
  if (dims != ordered.dims()) {
    return op.refuse_support(" gives shape ", numbers_text(input.dims()), " the shape ",
                             numbers_text(op.output_dims()),
                             ", supported are blocks that divide their dimension");
  }
  GANTRY_TRY(View output, in_graph_order(op, ordered, target, letters, op.output_dims()));
  return op.set_output(std::move(output));
}

// Pads the last two dimensions with zeros: top, left, bottom, right.
Status lower_pad(const Operator& op) {
  if (op.input_count() > 1) {
    GANTRY_TRY(const View value, op.wide_input(1));
    const auto numbers = op.builder.constant_floats(value);
    if (!numbers || numbers->size() != 1 || numbers->front() != 0)
      return op.refuse_support(": input 1, the value, is not a constant 0, supported is 0");
  }
  GANTRY_TRY(const Dims padding, op.attributes.integers("padding", 4));
  const Dims in = op.graph.entries[op.node.inputs[0]].shape, out = op.output_dims();
  const std::size_t rank = out.size();
  if (rank < 2 || in.size() != rank || !std::equal(in.begin(), in.end() - 2, out.begin())) {
    return op.refuse(": shape ", numbers_text(in), " gives ", numbers_text(out),
                     ", expected two or more dimensions, of which only the last two change");
  }
  Dims start(rank, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t axis = rank - 2 + i;
    start[axis] = padding[i];
    if (padding[i] < 0 || padding[i + 2] < 0 || padding[i] > out[axis] ||
        out[axis] - padding[i] - padding[i + 2] != in[axis]) {
      return op.attributes.refuse("padding", " is ", numbers_text(padding), ", shapes are ",
                                  numbers_text(in), " and ", numbers_text(out));
    }
  }
  GANTRY_TRY(const DataType type, op.input_type(0));
  const View output = op.builder.zeroed(plain_desc(out, type));
  if (op.is_empty(0)) return op.set_output(output);
  GANTRY_TRY(const View input, op.input_or_part(0));
  GANTRY_TRY(const View inside, part_of(op, output, start, in));
  GANTRY_CHECK(op.builder.copy(input, inside));
  return op.set_output(output);
}

namespace {

// Reads the begin, end and step of some axes, as Relax has them; negative numbers count from the end.
Status read_axes(const Operator& op, const Dims& dims, Dims& start, Dims& size, Dims& steps) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  GANTRY_TRY(const Dims axes, op.attributes.integers("arg_axes"));
  GANTRY_TRY(const Dims begins, op.attributes.integers("arg_begin", axes.size()));
  GANTRY_TRY(const Dims ends, op.attributes.integers("arg_end", axes.size()));
  Dims each(axes.size(), 1);
  if (op.attributes.has("arg_strides")) {
    GANTRY_TRY(each, op.attributes.integers("arg_strides", axes.size()));
  }
  start.assign(dims.size(), 0);
  size = dims;
  steps.assign(dims.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank) {
      return op.attributes.refuse("arg_axes", " has ", axes[i], ", range is ", -rank, " to ",
                                  rank - 1);
    }
    const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    if (each[i] < 1)
      return op.attributes.refuse_support("arg_strides", " has ", each[i], ", minimum is 1");
    const auto within = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? std::max(at, -dims[axis]) + dims[axis] : at, 0,
                                      dims[axis]);
    };
    start[axis] = within(begins[i]);
    const std::int64_t length = std::max<std::int64_t>(within(ends[i]) - start[axis], 0);
    size[axis] = length / each[i] + (length % each[i] != 0 ? 1 : 0);
    steps[axis] = each[i];
  }
  return {};
}

}  // namespace

Status lower_slice(const Operator& op) {
  GANTRY_TRY(const View input, op.input_or_part(0));
  const std::size_t rank = input.dims().size();
  Dims start, size, steps;
  if (op.attributes.has("arg_axes")) {
    GANTRY_CHECK(read_axes(op, input.dims(), start, size, steps));
  } else {
    GANTRY_TRY(start, op.attributes.integers("start", rank));
    GANTRY_TRY(size, op.attributes.integers("size", rank));
    GANTRY_TRY(steps, op.attributes.integers("strides", rank));
  }
  GANTRY_TRY(View output, part_of(op, input, start, size, steps));
  return op.set_output(std::move(output));
}

// The sub-graph has the extents of all parts; the attributes repeat them.
Status lower_split(const Operator& op) {
  GANTRY_TRY(const View input, op.input_or_part(0));
  Dims size = input.dims();
  GANTRY_TRY(const std::size_t axis, axis_of(op, "axis", size.size()));
  Dims start(size.size(), 0);
  for (std::uint32_t i = 0; i < op.node.output_count; ++i) {
    const std::vector<std::int64_t>& shape = op.graph.entries[op.node.first_entry + i].shape;
    if (shape.size() != size.size()) {
      return op.refuse(": output ", i, " has shape ", numbers_text(shape), ", expected ",
                       size.size(), " dimensions");
    }
    size[axis] = shape[axis];
    if (has_no_elements(shape)) {
      GANTRY_CHECK(op.builder.set_empty(op.node.first_entry + i, op.node));
      continue;
    }
    GANTRY_TRY(View output, part_of(op, input, start, size));
    GANTRY_CHECK(op.set_output(std::move(output), i));
    start[axis] += size[axis];
  }
  return {};
}

Status lower_reduce(const Operator& op) {
  struct Reduction {
    std::string_view name;
    ::dnnl::algorithm algorithm;
    std::optional<float> of_none;
  };
  // The sum of no elements, and so on; no number is the largest of none.
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  constexpr Reduction reductions[] = {
      {"sum", ::dnnl::algorithm::reduction_sum, 0.0f},
      {"prod", ::dnnl::algorithm::reduction_mul, 1.0f},
      {"max", ::dnnl::algorithm::reduction_max, {}},
      {"min", ::dnnl::algorithm::reduction_min, {}},
      {"mean", ::dnnl::algorithm::reduction_mean, none},
      {"nn.global_avg_pool2d", ::dnnl::algorithm::reduction_mean, none},
  };
  const auto* const found = std::ranges::find(reductions, op.name(), &Reduction::name);
  if (found == std::end(reductions)) return bug("operator ", op.match.base, " has no algorithm");
  Builder& builder = op.builder;
  if (op.is_empty(0) && found->of_none) {
    op.widen();
    const View number = builder.zeroed(plain_desc(op.output_dims(), DataType::f32));
    GANTRY_TRY(View output,
               eltwise(builder, number, ::dnnl::algorithm::eltwise_linear, 0, *found->of_none));
    return op.set_output(std::move(output));
  }
  GANTRY_TRY(const View input, op.input(0));
  Dims dims = input.dims();
  GANTRY_TRY(const auto axes, op.attributes.integers("axis"));
  const auto rank = static_cast<std::int64_t>(dims.size());
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return op.attributes.refuse("axis", " has ", axis, ", range is ", -rank, " to ", rank - 1);
    }
    dims[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = 1;
  }
  // Without axes: all.
  if (axes.empty()) dims.assign(dims.size(), 1);
  View output = input;
  if (dims != input.dims()) {
    const auto primitive =
        describe<::dnnl::reduction>(builder.engine(), new_attributes(), found->algorithm,
                                    input.desc, any_desc(dims, input.type()), 0.0f, 0.0f);
    output = builder.temporary(primitive.dst_desc());
    const Use uses[] = {{DNNL_ARG_SRC, input},
                        {DNNL_ARG_DST, output},
                        {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
    builder.emit(::dnnl::reduction(primitive), uses);
  }
  // keepdims: the sub-graph has the shape.
  const Dims out = op.output_dims();
  if (element_count(dims) != element_count(out)) {
    return op.refuse(" gives ", numbers_text(dims), ", the sub-graph has ", numbers_text(out));
  }
  GANTRY_TRY(output, builder.reshaped(output, out));
  return op.set_output(std::move(output));
}

}  // namespace gantry::dnnl_plugin
