// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"
#include "spatial.hpp"

#include <algorithm>
#include <optional>

namespace gantry::dnnl_plugin {
namespace {

using Algorithm = ::dnnl::algorithm;

struct Pooling {
  std::string letters;
  Layout layout;
  Layout output_layout;
  Window window;
  Dims kernel;
  Algorithm algorithm = Algorithm::pooling_max;
};

// Reads the layouts and the number of spatial dimensions: "nn.max_pool2d".
Result<Pooling> read_pooling(const Operator& op) {
  Pooling read;
  const std::size_t digit = op.match.base.find_first_of("123");
  const auto rank = static_cast<std::size_t>(op.match.base[digit] - '0');
  read.letters = concat("NC", spatial_letters[rank - 1]);
  // NNAPI's exporter writes no layouts.
  std::optional<std::string_view> absent;
  if (op.match.row->key == "nnapi") absent = read.letters;
  GANTRY_TRY(const std::string_view layout, op.attributes.text("layout", absent));
  GANTRY_TRY(std::string_view output, op.attributes.text("out_layout", ""));
  if (output.empty()) output = layout;
  GANTRY_TRY(read.layout, parse_layout(op, "layout", layout, read.letters));
  GANTRY_TRY(read.output_layout, parse_layout(op, "out_layout", output, read.letters));
  return read;
}

// Rounding up adds windows that begin inside of the tensor and its padding, and end behind it.
Status extend_padding(const Operator& op, Pooling& read, const Dims& in, const Dims& out) {
  Window& window = read.window;
  for (std::size_t i = 0; i < read.kernel.size(); ++i) {
    const std::int64_t reach = (read.kernel[i] - 1) * (window.dilations[i] + 1) + 1;
    std::int64_t needed = 0;
    const bool wraps = __builtin_mul_overflow(out[i + 2] - 1, window.strides[i], &needed) ||
                       __builtin_add_overflow(needed, reach, &needed) ||
                       __builtin_sub_overflow(needed, in[i + 2], &needed) ||
                       __builtin_sub_overflow(needed, window.padding_begin[i], &needed);
    if (wraps || needed - window.padding_end[i] >= window.strides[i]) {
      return op.refuse(": shape ", numbers_text(in), " gives ", numbers_text(out),
                       ", which has windows of axis ", i + 2, " behind the padding");
    }
    window.padding_end[i] = std::max(window.padding_end[i], needed);
  }
  return {};
}

// data     [in]   dimensions in the order N, C, spatial
Result<View> add_pooling(const Operator& op, const View& data, const Pooling& read,
                         const Dims& out) {
  Builder& builder = op.builder;
  const auto primitive = describe<PoolingForward>(
      builder.engine(), new_attributes(), ::dnnl::prop_kind::forward_inference, read.algorithm,
      data.desc, any_desc(out, data.type()), read.window.strides, read.kernel,
      read.window.dilations, read.window.padding_begin, read.window.padding_end);
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC, data},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(PoolingForward(primitive), uses);
  return output;
}

// The window of an operator that has one.
Status read_kernel(const Operator& op, Pooling& read, const Dims& in, const Dims& out) {
  const std::size_t rank = read.letters.size() - 2;
  GANTRY_TRY(read.window, read_window(op, rank));
  GANTRY_TRY(read.kernel, op.attributes.integers("pool_size", rank));
  for (const std::int64_t extent : read.kernel) {
    if (extent < 1 || extent > INT32_MAX) {
      return op.attributes.refuse("pool_size", " has ", extent, ", range is 1 to ", INT32_MAX);
    }
  }
  GANTRY_TRY(const bool rounds_up, op.attributes.truth("ceil_mode", false));
  return rounds_up ? extend_padding(op, read, in, out) : Status();
}

bool is_average(const Operator& op) { return op.match.base.find("avg") != std::string_view::npos; }

Status finish(const Operator& op, const Pooling& read, const View& output) {
  GANTRY_TRY(View result,
             in_graph_order(op, output, read.output_layout, read.letters, op.output_dims()));
  return op.set_output(std::move(result));
}

}  // namespace

Status lower_pooling(const Operator& op) {
  GANTRY_TRY(Pooling read, read_pooling(op));
  GANTRY_TRY(const View input, op.input(0));
  GANTRY_TRY(const View data, in_order(op, input, read.layout, read.letters));
  GANTRY_TRY(const Dims out, ordered_dims(op, op.output_dims(), read.output_layout, read.letters));
  GANTRY_CHECK(read_kernel(op, read, data.dims(), out));
  if (is_average(op)) {
    GANTRY_TRY(const bool counts_padding, op.attributes.truth("count_include_pad", false));
    read.algorithm = counts_padding ? Algorithm::pooling_avg_include_padding
                                    : Algorithm::pooling_avg_exclude_padding;
  }
  GANTRY_TRY(const View output, add_pooling(op, data, read, out));
  return finish(op, read, output);
}

Status lower_global_pooling(const Operator& op) {
  GANTRY_TRY(Pooling read, read_pooling(op));
  GANTRY_TRY(const View input, op.input(0));
  GANTRY_TRY(const View data, in_order(op, input, read.layout, read.letters));
  GANTRY_TRY(const Dims out, ordered_dims(op, op.output_dims(), read.output_layout, read.letters));
  for (std::size_t i = 2; i < out.size(); ++i) {
    if (out[i] != 1) {
      return op.refuse_support(" has the output ", numbers_text(out),
                               ", supported are outputs with spatial extents of 1");
    }
  }
  const Dims in = data.dims();
  read.kernel.assign(in.begin() + 2, in.end());
  const Dims zeros(read.kernel.size(), 0);
  read.window = {Dims(read.kernel.size(), 1), zeros, zeros, zeros};
  if (is_average(op)) read.algorithm = Algorithm::pooling_avg_exclude_padding;
  GANTRY_TRY(const View output, add_pooling(op, data, read, out));
  return finish(op, read, output);
}

// The root of the average of squares.
Status lower_l2_pooling(const Operator& op) {
  GANTRY_TRY(Pooling read, read_pooling(op));
  GANTRY_TRY(const View input, op.input(0));
  GANTRY_TRY(const View data, in_order(op, input, read.layout, read.letters));
  GANTRY_TRY(const Dims out, ordered_dims(op, op.output_dims(), read.output_layout, read.letters));
  GANTRY_CHECK(read_kernel(op, read, data.dims(), out));
  GANTRY_TRY(const bool counts_padding, op.attributes.truth("count_include_pad", false));
  read.algorithm = counts_padding ? Algorithm::pooling_avg_include_padding
                                  : Algorithm::pooling_avg_exclude_padding;
  GANTRY_TRY(const View squares, eltwise(op.builder, data, Algorithm::eltwise_square));
  GANTRY_TRY(const View average, add_pooling(op, squares, read, out));
  GANTRY_TRY(const View output, eltwise(op.builder, average, Algorithm::eltwise_sqrt));
  return finish(op, read, output);
}

}  // namespace gantry::dnnl_plugin
