// SPDX-License-Identifier: Apache-2.0
#include "infer.hpp"

#include "onednn.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/subgraph_attributes.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gantry::dnnl_plugin {
namespace {

using Shape = std::vector<std::int64_t>;

bool is_unknown(const Shape& shape) { return std::ranges::find(shape, -1) != shape.end(); }

// Infers the extents of one operator. What a rule does not compute stays -1.
struct Inference {
  const Subgraph& graph;
  const SubgraphNode& node;
  const OperatorMatch& match;
  SubgraphAttributes attributes{node};

  const Shape& input(std::size_t i) const { return graph.entries[node.inputs[i]].shape; }

  Failure refuse(std::string_view why) const {
    std::string shapes;
    for (std::size_t i = 0; i < node.inputs.size() && i < 8; ++i)
      append(shapes, {TextPiece(i == 0 ? "" : ", "), TextPiece(numbers_text(input(i)))});
    return invalid("operator ", quoted(node.name), " has inputs of shapes ", shapes, ", ", why)
        .with_reason("ARGUMENT");
  }

  Result<Shape> of_output(std::uint32_t i) const {
    const Shape& first = input(0);
    Shape out = graph.entries[node.first_entry + i].shape;
    switch (match.row->operation) {
      case Operation::binary:
        return broadcast();
      case Operation::matmul:
      case Operation::batch_matmul:
        return product();
      case Operation::convolution:
      case Operation::transposed_convolution:
        return convolution(out);
      case Operation::pooling:
      case Operation::l2_pooling:
        return pooling(out);
      case Operation::concatenate:
        return concatenation();
      case Operation::transpose:
        return permutation();
      case Operation::reshape:
        return with_count(out);
      case Operation::reduce:
        return reduction();
      case Operation::attention: {
        if (first.size() < 3 || out.size() != 4) return out;
        // {batches, positions, ...}, or {positions, batches, ...}, as the input
        out[0] = first[0];
        out[1] = first[1];
        return out;
      }
      case Operation::split:
        return part(out);
      case Operation::resize:
        // Height and width are those that the graph states.
        for (std::size_t axis = 0; axis < 2 && axis < first.size() && axis < out.size(); ++axis) {
          if (out[axis] < 0) out[axis] = first[axis];
        }
        return out;
      default:
        break;
    }
    // The other operators keep the extents that they do not state.
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      if (out[axis] < 0 && first.size() == out.size()) out[axis] = first[axis];
    }
    return out;
  }

 private:
  Result<Shape> broadcast() const {
    Shape out;
    for (std::size_t i = 0; i < 2; ++i) {
      Shape each = input(i);
      each.insert(each.begin(), std::max(out.size(), each.size()) - each.size(), 1);
      out.insert(out.begin(), each.size() - out.size(), 1);
      for (std::size_t axis = 0; axis < out.size(); ++axis) {
        if (out[axis] != each[axis] && out[axis] != 1 && each[axis] != 1)
          return refuse("which do not broadcast");
        if (out[axis] == 1) out[axis] = each[axis];
      }
    }
    return out;
  }

  Result<Shape> product() const {
    Shape sides[2] = {input(0), input(1)};
    const bool is_relay = match.row->operation == Operation::batch_matmul &&
                          !(match.row->key == "tensorrt" && !attributes.has("transpose_b"));
    bool flips[2] = {false, match.base == "matmul_transposed"};
    if (is_relay) {
      GANTRY_TRY(flips[0], attributes.truth("transpose_a", false));
      GANTRY_TRY(flips[1], attributes.truth("transpose_b", true));
    }
    if (sides[0].size() < 2 || sides[1].size() < 2) return refuse("expected matrices");
    for (std::size_t i = 0; i < 2; ++i) {
      if (flips[i]) std::swap(sides[i][sides[i].size() - 1], sides[i][sides[i].size() - 2]);
    }
    const std::size_t rank = std::max(sides[0].size(), sides[1].size());
    for (Shape& side : sides) side.insert(side.begin(), rank - side.size(), 1);
    if (sides[0][rank - 1] != sides[1][rank - 2]) return refuse("which have no product");
    Shape out = sides[0];
    out.back() = sides[1].back();
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      if (out[axis] == 1) out[axis] = sides[1][axis];
    }
    return out;
  }

  // Returns the extent of a dimension that windows of `reach` elements cover.
  static std::int64_t windows(std::int64_t extent, std::int64_t reach, std::int64_t step,
                              bool rounds_up) {
    const std::int64_t room = extent - reach;
    if (room < 0) return 0;
    return room / step + (rounds_up && room % step != 0 ? 1 : 0) + 1;
  }

  Status in_range(const Shape& numbers, std::int64_t min) const {
    const auto is_outside = [&](std::int64_t number) { return number < min || number > INT32_MAX; };
    if (std::ranges::any_of(numbers, is_outside))
      return refuse("and attributes out of their range");
    return {};
  }

  // The numbers of a window in the order of the spatial dimensions.
  struct Window {
    Shape strides, dilations, begins, ends;
  };
  Result<Window> window(std::size_t rank) const {
    Window read;
    GANTRY_TRY(read.strides, attributes.integers("strides", rank));
    read.dilations.assign(rank, 1);
    if (attributes.has("dilation")) {
      GANTRY_TRY(read.dilations, attributes.integers("dilation", rank));
    }
    GANTRY_TRY(Shape padding, attributes.integers("padding"));
    if (padding.size() == 1) padding.assign(rank, padding.front());
    if (padding.size() == rank) padding.insert(padding.end(), padding.begin(), padding.end());
    if (padding.size() != 2 * rank) return refuse("and padding of another number of dimensions");
    GANTRY_CHECK(in_range(read.strides, 1));
    GANTRY_CHECK(in_range(read.dilations, 1));
    GANTRY_CHECK(in_range(padding, 0));
    const auto middle = padding.begin() + static_cast<std::ptrdiff_t>(rank);
    read.begins.assign(padding.begin(), middle);
    read.ends.assign(middle, padding.end());
    return read;
  }

  // Returns the extents of the dimensions `letters` of a tensor; empty: its layout has others, or blocks.
  static Shape in_order(const Shape& shape, std::string_view layout, std::string_view letters) {
    Shape extents;
    if (layout.size() != shape.size()) return {};
    for (const char letter : letters) {
      const std::size_t at = layout.find(letter);
      if (at == layout.npos) return {};
      extents.push_back(shape[at]);
    }
    return extents;
  }
  static constexpr std::string_view spatial = "DHW";

  Result<Shape> convolution(Shape out) const {
    const std::size_t rank =
        std::min<std::size_t>(std::max<std::size_t>(input(0).size(), 3) - 2, 3);
    const std::string_view axes = spatial.substr(3 - rank);
    const std::string data = concat("N", axes), plain_data = concat("NC", axes);
    const std::string plain_weight = concat("OI", axes);
    GANTRY_TRY(const std::string_view data_layout, attributes.text("data_layout", plain_data));
    GANTRY_TRY(const std::string_view kernel_layout,
               attributes.text("kernel_layout", plain_weight));
    GANTRY_TRY(std::string_view out_layout, attributes.text("out_layout", ""));
    if (out_layout.empty()) out_layout = data_layout;
    const Shape from = in_order(input(0), data_layout, data);
    const Shape kernel = in_order(input(1), kernel_layout, axes);
    if (from.empty() || kernel.size() != rank || out_layout.size() != out.size()) return out;
    GANTRY_TRY(const Window read, window(rank));
    const bool is_transposed = match.row->operation == Operation::transposed_convolution;
    Shape more(rank, 0);
    if (is_transposed && attributes.has("output_padding")) {
      GANTRY_TRY(more, attributes.integers("output_padding", rank));
      GANTRY_CHECK(in_range(more, 0));
    }
    Shape extents = {from[0]};
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t padding = read.begins[i] + read.ends[i];
      std::int64_t reach = 0, whole = 0;
      const bool wraps =
          __builtin_mul_overflow(kernel[i] - 1, read.dilations[i], &reach) ||
          __builtin_add_overflow(reach, 1, &reach) ||
          (is_transposed ? __builtin_mul_overflow(from[i + 1] - 1, read.strides[i], &whole) ||
                               __builtin_add_overflow(whole, reach, &whole) ||
                               __builtin_add_overflow(whole, more[i] - padding, &whole)
                         : __builtin_add_overflow(from[i + 1], padding, &whole));
      if (wraps) return refuse("which are too large");
      extents.push_back(is_transposed ? whole : windows(whole, reach, read.strides[i], false));
    }
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      const std::size_t at = data.find(out_layout[axis]);
      if (out[axis] < 0 && at != data.npos) out[axis] = extents[at];
    }
    return out;
  }

  Result<Shape> pooling(Shape out) const {
    const std::size_t rank =
        std::min<std::size_t>(std::max<std::size_t>(input(0).size(), 3) - 2, 3);
    const std::string_view axes = spatial.substr(3 - rank);
    const std::string data = concat("NC", axes);
    GANTRY_TRY(const std::string_view layout, attributes.text("layout", data));
    GANTRY_TRY(std::string_view out_layout, attributes.text("out_layout", ""));
    if (out_layout.empty()) out_layout = layout;
    const Shape from = in_order(input(0), layout, data);
    if (from.empty() || out_layout.size() != out.size()) return out;
    GANTRY_TRY(const Window read, window(rank));
    GANTRY_TRY(const Shape size, attributes.integers("pool_size", rank));
    GANTRY_CHECK(in_range(size, 1));
    GANTRY_TRY(const bool rounds_up, attributes.truth("ceil_mode", false));
    Shape extents = {from[0], from[1]};
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t reach = 0, whole = 0;
      if (__builtin_mul_overflow(size[i] - 1, read.dilations[i], &reach) ||
          __builtin_add_overflow(reach, 1, &reach) ||
          __builtin_add_overflow(from[i + 2], read.begins[i] + read.ends[i], &whole))
        return refuse("which are too large");
      extents.push_back(windows(whole, reach, read.strides[i], rounds_up));
    }
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      const std::size_t at = data.find(out_layout[axis]);
      if (out[axis] < 0 && at != data.npos) out[axis] = extents[at];
    }
    return out;
  }

  Result<std::size_t> axis(std::string_view name, std::size_t rank) const {
    GANTRY_TRY(const std::int64_t number, attributes.integer(name));
    const auto count = static_cast<std::int64_t>(rank);
    if (number < -count || number >= count) return refuse("and an axis that they do not have");
    return static_cast<std::size_t>(number < 0 ? number + count : number);
  }

  Result<Shape> concatenation() const {
    Shape out = input(0);
    GANTRY_TRY(const std::size_t along, axis("axis", out.size()));
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (input(i).size() != out.size() ||
          __builtin_add_overflow(out[along], input(i)[along], &out[along]))
        return refuse("which cannot be joined");
    }
    return out;
  }

  Result<Shape> permutation() const {
    const Shape& in = input(0);
    Shape order;
    if (attributes.has("axes")) {
      GANTRY_TRY(order, attributes.integers("axes"));
    }
    if (order.empty()) return Shape(in.rbegin(), in.rend());
    if (order.size() != in.size()) return refuse("and axes of another number of dimensions");
    const auto count = static_cast<std::int64_t>(in.size());
    for (std::int64_t& at : order) {
      if (at < -count || at >= count) return refuse("and an axis that they do not have");
      at = in[static_cast<std::size_t>(at < 0 ? at + count : at)];
    }
    return order;
  }

  // The extent that is not known is what the number of elements requires.
  Result<Shape> with_count(Shape out) const {
    if (std::ranges::count(out, -1) != 1) return out;
    std::int64_t count = 1, known = 1;
    bool wraps = false;
    for (const std::int64_t extent : input(0))
      wraps = __builtin_mul_overflow(count, extent, &count) || wraps;
    for (const std::int64_t extent : out)
      wraps = __builtin_mul_overflow(known, extent < 0 ? 1 : extent, &known) || wraps;
    if (wraps || known == 0 || count % known != 0)
      return refuse("whose elements do not fill the output");
    *std::ranges::find(out, -1) = count / known;
    return out;
  }

  Result<Shape> reduction() const {
    Shape out = input(0);
    GANTRY_TRY(const Shape axes, attributes.integers("axis"));
    GANTRY_TRY(const bool keeps, attributes.truth("keepdims", false));
    const auto count = static_cast<std::int64_t>(out.size());
    for (const std::int64_t at : axes) {
      if (at < -count || at >= count) return refuse("and an axis that they do not have");
      out[static_cast<std::size_t>(at < 0 ? at + count : at)] = -2;
    }
    if (axes.empty()) out.assign(out.size(), -2);
    if (keeps) {
      std::ranges::replace(out, -2, 1);
    } else {
      std::erase(out, -2);
    }
    return out;
  }

  // Returns the extent of each output where all are equal; -1: they are not, or the axis has a rest.
  std::int64_t equal_part(std::int64_t whole, std::size_t along) const {
    const std::int64_t count = std::max<std::int64_t>(node.output_count, 1);
    const std::int64_t each = whole / count;
    bool are_equal = whole % count == 0;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const Shape& known = graph.entries[node.first_entry + i].shape;
      are_equal = are_equal && known.size() > along && (known[along] < 0 || known[along] == each);
    }
    return are_equal ? each : -1;
  }

  Result<Shape> part(Shape out) const {
    const Shape& in = input(0);
    if (in.size() != out.size()) return out;
    GANTRY_TRY(const std::size_t along, axis("axis", in.size()));
    for (std::size_t at = 0; at < out.size(); ++at) {
      if (out[at] >= 0) continue;
      out[at] = at == along ? equal_part(in[at], along) : in[at];
    }
    return out;
  }
};

}  // namespace

bool has_unknown_extents(const Subgraph& graph) {
  return std::ranges::any_of(graph.entries,
                             [](const TensorType& type) { return is_unknown(type.shape); });
}

Status infer_extents(Subgraph& graph, std::span<const OperatorMatch> operators) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const SubgraphNode& node = graph.nodes[n];
    if (node.kind != SubgraphNodeKind::kernel) continue;
    const Inference inference{graph, node, operators[n]};
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      TensorType& type = graph.entries[node.first_entry + i];
      if (!is_unknown(type.shape)) continue;
      GANTRY_TRY(const Shape shape, inference.of_output(i));
      if (is_unknown(shape)) {
        return unsupported("operator ", quoted(node.name), ": output ", i, " is ",
                           type_text(type.dtype, type.shape),
                           ", whose extents do not follow from those of its inputs")
            .with_reason("SUBGRAPH_OPERATOR");
      }
      const bool is_negative =
          std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; });
      // The size of each tensor fits, as the reader of sub-graphs ensures for known extents.
      if (is_negative || shape.size() != type.shape.size() || !tensor_bytes(shape, type.dtype).ok())
        return inference.refuse(concat("which give no ", type_text(type.dtype, type.shape)));
      type.shape = shape;
    }
  }
  return {};
}

}  // namespace gantry::dnnl_plugin
