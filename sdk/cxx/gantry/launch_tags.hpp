// SPDX-License-Identifier: Apache-2.0
//
// gantry/launch_tags.hpp - maps the last arguments of a kernel call to the extents of its launch.
//
//     arguments of a call   [parameters][one integer for each axis tag][dynamic shared bytes]
//     tags in the payload   "blockIdx.x" "threadIdx.x" "tirx.use_cooperative_launch"
//                           "tirx.use_dyn_shared_memory"
//                           flags have no argument; the shared-memory tag is the last one
//
// The order of the tags differs between kernels. A kernel with several stages may name an axis once
// for each stage (convolutions of v0.12 name threadIdx.x three times); all of these arguments must
// have the same value.
#pragma once

#include <gantry/value.h>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

namespace detail {
constexpr std::string_view rank_names[] = {"blockIdx.", "threadIdx.", "clusterCtaIdx.",
                                           "preferredClusterCtaIdx."};
}  // namespace detail

// The extents of a launch. An axis is 1 if it has no tag or its argument is 0.
struct LaunchExtents {
  // An argument of grid or block is 0, as for a tensor without elements: the launch has no threads,
  // and must be left out, because a kernel does not always compare its index with the extent.
  bool is_empty = false;
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> block = {1, 1, 1};
  std::array<std::uint32_t, 3> cluster = {1, 1, 1};
  std::array<std::uint32_t, 3> preferred_cluster = {1, 1, 1};
  std::uint64_t dynamic_shared_bytes = 0;
};

struct LaunchTags {
  // One element for each axis argument, in order: 3 * rank + dimension, where rank 0 is the grid, 1
  // the block, 2 the cluster, and 3 the preferred cluster.
  std::vector<std::uint8_t> axes;
  bool has_dynamic_shared_memory = false;
  bool is_programmatic_dependent = false;
  bool is_cooperative = false;

  // Number of arguments after the kernel's parameters.
  std::size_t argument_count() const { return axes.size() + (has_dynamic_shared_memory ? 1 : 0); }
  bool has_cluster() const { return has_rank(2); }
  bool has_preferred_cluster() const { return has_rank(3); }
  // Returns the number of dimensions that the tags of grid and block use: 1 to 3.
  std::uint32_t work_dimensions() const {
    std::uint32_t highest = 0;
    for (const std::uint8_t axis : axes) highest = std::max(highest, axis < 6 ? axis % 3u : 0u);
    return highest + 1;
  }

  // Reads the extents from the arguments of a call.
  //
  // arguments  [in]   argument_count() arguments, those after the kernel's parameters
  // returns    INVALID  an argument is not an integer (ARGUMENT_KIND) or is negative, an extent is
  //                     above INT32_MAX, or two extents of one axis differ (LAUNCH_EXTENT)
  // costs      O(arguments), no allocation
  Result<LaunchExtents> extents(std::span<const gantry_value> arguments) const {
    LaunchExtents out;
    std::array<std::uint32_t, 3>* const ranks[] = {&out.grid, &out.block, &out.cluster,
                                                   &out.preferred_cluster};
    // One bit for each axis.
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const gantry_value& argument = arguments[i];
      const std::size_t rank = axes[i] / 3u;
      const std::size_t dimension = axes[i] % 3u;
      const auto refuse = [&](const auto&... why) {
        return invalid("extent of ", detail::rank_names[rank], "xyz"[dimension], why...)
            .with_reason("LAUNCH_EXTENT");
      };
      if (argument.kind != GANTRY_INT) {
        return refuse(" has kind ", argument.kind, ", expected an integer")
            .with_reason("ARGUMENT_KIND");
      }
      if (argument.i < 0 || argument.i > INT32_MAX)
        return refuse(" is ", argument.i, ", range is 0 to ", INT32_MAX);
      const auto extent = static_cast<std::uint32_t>(argument.i != 0 ? argument.i : 1);
      out.is_empty = out.is_empty || (argument.i == 0 && rank < 2);
      std::uint32_t& location = (*ranks[rank])[dimension];
      if ((seen >> axes[i] & 1u) != 0 && location != extent)
        return refuse(" is ", location, " and ", extent, ", expected one");
      seen |= 1u << axes[i];
      location = extent;
    }
    if (!has_dynamic_shared_memory) return out;
    const gantry_value& bytes = arguments[axes.size()];
    if (bytes.kind != GANTRY_INT) {
      return invalid("dynamic shared memory has kind ", bytes.kind, ", expected an integer")
          .with_reason("ARGUMENT_KIND");
    }
    if (bytes.i < 0) {
      return invalid("dynamic shared memory is ", bytes.i, " bytes, minimum is 0")
          .with_reason("LAUNCH_EXTENT");
    }
    out.dynamic_shared_bytes = static_cast<std::uint64_t>(bytes.i);
    return out;
  }

 private:
  bool has_rank(std::uint32_t rank) const {
    return std::ranges::any_of(axes, [&](std::uint8_t axis) { return axis / 3u == rank; });
  }
};

namespace detail {

// Returns 3 * rank + dimension, or -1 if the tag does not name an axis.
inline int launch_axis(std::string_view tag) {
  for (int rank = 0; rank < 4; ++rank) {
    const std::string_view name = rank_names[rank];
    if (tag.size() != name.size() + 1 || !tag.starts_with(name)) continue;
    const std::size_t dimension = std::string_view("xyz").find(tag.back());
    if (dimension != std::string_view::npos) return 3 * rank + static_cast<int>(dimension);
  }
  return -1;
}

// Returns the name of a flag without its prefix, which is "tir." up to v0.23 and "tirx." later.
// Empty: the tag is not a flag.
inline std::string_view launch_flag(std::string_view tag) {
  for (const std::string_view prefix : {"tir.", "tirx."}) {
    if (tag.starts_with(prefix)) return tag.substr(prefix.size());
  }
  return {};
}

}  // namespace detail

// Parses the tags of one kernel.
//
// tags     [in]   in the order of the payload
// kernel   [in]   name of the kernel, for messages
// returns  MALFORMED    a tag follows the shared-memory tag
//          UNSUPPORTED  the tag is unknown: it might have an argument
// source   apache/tvm src/runtime/thread_storage_scope.h, which spells "programtic"
inline Result<LaunchTags> parse_launch_tags(std::span<const std::string> tags,
                                            std::string_view kernel) {
  LaunchTags out;
  for (const std::string& tag : tags) {
    if (out.has_dynamic_shared_memory) {
      return malformed(no_offset, "kernel ", quoted(kernel), ": launch tag ", quoted(tag),
                       " follows the shared-memory tag, which is the last")
          .with_reason("LAUNCH_TAG");
    }
    const int axis = detail::launch_axis(tag);
    const std::string_view flag = detail::launch_flag(tag);
    if (axis >= 0) {
      out.axes.push_back(static_cast<std::uint8_t>(axis));
    } else if (flag == "use_dyn_shared_memory") {
      out.has_dynamic_shared_memory = true;
    } else if (flag == "use_programtic_dependent_launch") {
      out.is_programmatic_dependent = true;
    } else if (flag == "use_cooperative_launch") {
      out.is_cooperative = true;
    } else if (!tag.starts_with("paramWriteAccess:")) {
      // The tag paramWriteAccess of webgpu does not affect the launch. All others are unknown.
      return unsupported("kernel ", quoted(kernel), ": launch tag ", quoted(tag), " is unknown")
          .with_reason("LAUNCH_TAG");
    }
  }
  return out;
}

}  // namespace gantry
