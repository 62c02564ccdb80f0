// SPDX-License-Identifier: Apache-2.0
//
// Images of another size.
//
// source   apache/tvm python/tvm/topi/image/resize.py
#include "lowering.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace gantry::dnnl_plugin {
namespace {

struct Resize {
  std::string_view method;
  std::string_view coordinates;
  std::string_view rounding;
  float alpha = -0.5f;
  bool excludes_outside = false;
};

// Returns the coordinate in an image of extent `in` for coordinate `at` in one of extent `out`.
float source_of(const Resize& resize, std::int64_t at, std::int64_t in, std::int64_t out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const auto x = static_cast<float>(at);
  if (resize.coordinates == "align_corners")
    return out == 1 ? 0 : x * (static_cast<float>(in - 1) / static_cast<float>(out - 1));
  if (resize.coordinates == "asymmetric") return x * scale;
  if (resize.coordinates == "pytorch_half_pixel" && out == 1) return 0;
  return (x + 0.5f) * scale - 0.5f;
}

float nearest(const Resize& resize, float at) {
  // Coordinates that are whole numbers but for rounding are themselves.
  constexpr float close = 1e-5f;
  if (resize.rounding == "round_prefer_floor") return std::ceil(at - 0.5f);
  if (resize.rounding == "round_prefer_ceil") return std::floor(at + 0.5f);
  if (resize.rounding == "ceil") return std::ceil(at - close);
  if (resize.rounding == "round" ||
      (resize.rounding.empty() && resize.coordinates == "align_corners"))
    return std::nearbyint(at);
  return std::floor(at + close);
}

Taps taps_of(const Resize& resize, float at, std::int64_t extent) {
  Taps taps;
  if (resize.method == "nearest_neighbor") {
    taps.at[0] = static_cast<std::int64_t>(nearest(resize, at));
    taps.weight[0] = 1;
  } else {
    const float floor = std::floor(at), t = at - floor;
    const auto first = static_cast<std::int64_t>(floor);
    if (resize.method == "linear") {
      taps.at = {first, first + 1};
      taps.weight = {1 - t, t};
    } else {
      const float a = resize.alpha, t2 = t * t, t3 = t2 * t;
      taps.at = {first - 1, first, first + 1, first + 2};
      taps.weight = {a * (t3 - 2 * t2 + t), (a + 2) * t3 - (a + 3) * t2 + 1,
                     -(a + 2) * t3 + (2 * a + 3) * t2 - a * t, a * (t2 - t3)};
      if (resize.excludes_outside) {
        float sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          if (taps.at[i] < 0 || taps.at[i] >= extent) taps.weight[i] = 0;
          sum += taps.weight[i];
        }
        for (float& weight : taps.weight) weight /= sum;
      }
    }
  }
  for (std::int64_t& each : taps.at) each = std::clamp<std::int64_t>(each, 0, extent - 1);
  return taps;
}

}  // namespace

Status lower_resize(const Operator& op) {
  op.widen();
  GANTRY_TRY(const View input, op.input(0));
  const Dims in = input.dims(), out = op.output_dims();
  if (in.size() != 4 || out.size() != 4 || in[0] != out[0] || in[1] != out[1]) {
    return op.refuse(": shape ", numbers_text(in), " gives ", numbers_text(out),
                     ", expected four dimensions, of which only the last two change");
  }
  Resize resize;
  GANTRY_TRY(resize.method, op.attributes.text("method"));
  GANTRY_TRY(resize.coordinates, op.attributes.text("coordinate_transformation_mode"));
  GANTRY_TRY(resize.rounding, op.attributes.text("rounding_method", ""));
  GANTRY_TRY(resize.alpha, op.attributes.real("cubic_alpha", -0.5f));
  GANTRY_TRY(resize.excludes_outside, op.attributes.truth("cubic_exclude", false));
  std::array<std::vector<Taps>, 2> taps;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t from = in[2 + axis], to = out[2 + axis];
    // The taps are allocated before the tensors are.
    constexpr std::int64_t max = 1 << 16, max_sum = 1 << 20;
    if (to > max) {
      return op.refuse_support(" has the output ", numbers_text(out), ", maximum of an extent is ",
                               max);
    }
    if (op.builder.add_resized(to) > max_sum) {
      return op.refuse_support(" has the output ", numbers_text(out),
                               ", and the extents of all resized images are above ", max_sum);
    }
    for (std::int64_t at = 0; at < to; ++at)
      taps[axis].push_back(taps_of(resize, source_of(resize, at, from, to), from));
  }
  GANTRY_TRY(const View images, op.builder.reshaped(input, {in[0] * in[1], in[2], in[3]}));
  const View made =
      op.builder.temporary(plain_desc({out[0] * out[1], out[2], out[3]}, DataType::f32));
  const View views[] = {images, made};
  op.builder.emit(resize_loop(elements_of(images.desc), elements_of(made.desc), std::move(taps[0]),
                              std::move(taps[1])),
                  views);
  GANTRY_TRY(View output, op.builder.reshaped(made, out));
  return op.set_output(std::move(output));
}

}  // namespace gantry::dnnl_plugin
