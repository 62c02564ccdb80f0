// SPDX-License-Identifier: Apache-2.0
//
// gantry/launch_tags.hpp - which call argument of a kernel is which extent of its launch.
//
//     arguments of a call   [parameters][one integer for each axis tag][dynamic shared bytes]
//     tags in the payload   "blockIdx.x" "threadIdx.x" "tirx.use_cooperative_launch"
//                           "tirx.use_dyn_shared_memory"
//                           flags take no argument; the shared-memory tag is the last
//
// The tags are in the compiler's order, which differs between kernels. Kernels with several stages
// name an axis once for each (v0.12's convolutions have threadIdx.x three times), with one extent.
#pragma once

#include <gantry/value.h>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The extents of a launch, from a call's integers. An axis that has no tag, or the value 0, is 1.
struct LaunchExtents {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> block = {1, 1, 1};
  std::array<std::uint32_t, 3> cluster = {1, 1, 1};
  std::array<std::uint32_t, 3> preferred_cluster = {1, 1, 1};
  std::uint64_t dynamic_shared_bytes = 0;
};

struct LaunchTags {
  // For each axis argument, in the order of the arguments: 3 * rank + dimension, where rank 0 is
  // the grid, 1 the block, 2 the cluster, 3 the preferred cluster.
  std::vector<std::uint8_t> axes;
  bool has_dynamic_shared_memory = false;
  bool is_programmatic_dependent = false;
  bool is_cooperative = false;

  // Number of arguments after the kernel's parameters.
  std::size_t argument_count() const { return axes.size() + (has_dynamic_shared_memory ? 1 : 0); }
  bool has_cluster() const { return has_rank(2); }
  bool has_preferred_cluster() const { return has_rank(3); }
  // 1 to 3: the highest dimension of grid and block that has a tag.
  std::uint32_t work_dimensions() const {
    std::uint32_t highest = 0;
    for (const std::uint8_t axis : axes) {
      if (axis < 6 && axis % 3u > highest) highest = axis % 3u;
    }
    return highest + 1;
  }

  // Reads the launch part of a call's arguments.
  //
  // arguments  [in]   those after the kernel's parameters, argument_count() of them
  // returns    INVALID  an argument that is no integer, is negative or, of an extent, does not fit
  //                     in 32 bits; two extents of one axis that differ
  // costs      O(arguments), no allocation
  Result<LaunchExtents> extents(std::span<const gantry_value> arguments) const {
    static constexpr std::string_view names[] = {"blockIdx", "threadIdx", "clusterCtaIdx",
                                                 "preferredClusterCtaIdx"};
    LaunchExtents out;
    std::array<std::uint32_t, 3>* const ranks[] = {&out.grid, &out.block, &out.cluster,
                                                   &out.preferred_cluster};
    // One bit for each axis.
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const gantry_value& argument = arguments[i];
      const std::size_t rank = axes[i] / 3u;
      const std::size_t dimension = axes[i] % 3u;
      if (argument.kind != GANTRY_INT) {
        return invalid("extent of ", names[rank], '.', "xyz"[dimension], " has kind ",
                       argument.kind, ", expected an integer")
            .with_reason("ARGUMENT_KIND");
      }
      if (argument.i < 0 || argument.i > INT32_MAX) {
        return invalid("extent of ", names[rank], '.', "xyz"[dimension], " is ", argument.i,
                       ", range is 0 to ", INT32_MAX)
            .with_reason("LAUNCH_EXTENT");
      }
      const auto extent = static_cast<std::uint32_t>(argument.i != 0 ? argument.i : 1);
      std::uint32_t& location = (*ranks[rank])[dimension];
      if ((seen >> axes[i] & 1u) != 0 && location != extent) {
        return invalid("extent of ", names[rank], '.', "xyz"[dimension], " is ", location, " and ",
                       extent, ", expected one")
            .with_reason("LAUNCH_EXTENT");
      }
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
    for (const std::uint8_t axis : axes) {
      if (axis / 3u == rank) return true;
    }
    return false;
  }
};

namespace detail {

// 3 * rank + dimension, or -1 for a tag that is no axis.
inline int launch_axis(std::string_view tag) {
  constexpr std::string_view names[] = {"blockIdx.", "threadIdx.", "clusterCtaIdx.",
                                        "preferredClusterCtaIdx."};
  for (int rank = 0; rank < 4; ++rank) {
    const std::string_view name = names[rank];
    if (tag.size() != name.size() + 1 || !tag.starts_with(name)) continue;
    const std::size_t dimension = std::string_view("xyz").find(tag.back());
    if (dimension != std::string_view::npos) return 3 * rank + static_cast<int>(dimension);
  }
  return -1;
}

// Returns a flag without its prefix, "tir." up to v0.23 and "tirx." since; empty: no flag.
inline std::string_view launch_flag(std::string_view tag) {
  for (const std::string_view prefix : {"tir.", "tirx."}) {
    if (tag.starts_with(prefix)) return tag.substr(prefix.size());
  }
  return {};
}

}  // namespace detail

// Reads the tags of one kernel.
//
// tags     [in]   in the payload's order
// kernel   [in]   its name, for messages
// returns  MALFORMED    a tag behind the shared-memory tag
//          UNSUPPORTED  a tag that this version does not know: it may take an argument
// source   apache/tvm src/runtime/thread_storage_scope.h; "programtic" is how compilers spell it
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
      // Of webgpu; without effect on the launch.
      return unsupported("kernel ", quoted(kernel), ": launch tag ", quoted(tag), " is unknown")
          .with_reason("LAUNCH_TAG");
    }
  }
  return out;
}

}  // namespace gantry
