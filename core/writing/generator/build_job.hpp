// SPDX-License-Identifier: Apache-2.0
//
// One payload to build: sources, kernels, and what the code is for.
#pragma once

#include <gantry/generator.hpp>
#include <gantry/kernel_table.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// What a payload contains: compiled code if this host has a compiler, else the source (of OpenCL C
// the source, or what is built for the target that is stated); the source; compiled code.
enum class KernelCode { automatic, source, compiled };

// Texts and kernels are borrowed.
struct BuildJob {
  // of the payload; library_key: CPU code
  std::string_view type_key;
  // as parse_target() reads it; empty: the kind of the type key, with defaults
  std::string_view target = {};
  KernelCode code = KernelCode::automatic;
  std::vector<BuildSource> sources = {};
  // with the types and launch tags of the payload's generation
  std::span<const KernelInfo> kernels = {};
  // index in `sources`, for each kernel
  std::vector<std::size_t> source_of = {};
  // the form of kernel records
  ArgumentTags argument_tags = ArgumentTags::no;
  // lines of errors, of the module, the target and each kernel: "r.yaml:3:1: device_modules[0]"; may
  // be empty
  std::string_view location = {}, target_location = {};
  std::vector<std::string_view> kernel_locations = {};
};

}  // namespace gantry
