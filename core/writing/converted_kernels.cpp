// SPDX-License-Identifier: Apache-2.0
#include "core/writing/converted_kernels.hpp"

#include "core/formats/type_key.hpp"
#include "core/writing/converted_dtype.hpp"

#include <gantry/launch_tags.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace gantry {
namespace {

// Launch tags that not every generation has, by the begin of their names without "tir." or "tirx.".
constexpr struct {
  std::string_view begin;
  Generation first;
  std::string_view release;
} new_tags[] = {
    {"use_dyn_shared_memory", Generation::g3, "v0.8"},
    {"use_programtic_dependent_launch", Generation::g5, "v0.23"},
    {"use_cooperative_launch", Generation::g5, "v0.23"},
    {"clusterCtaIdx.", Generation::g5, "v0.25"},
    {"preferredClusterCtaIdx.", Generation::g5, "v0.25"},
    {"paramWriteAccess:", Generation::g3, "v0.16"},
};

Result<std::string> converted_tag(const std::string& tag, const GenerationFacts& to) {
  const std::string_view flag = detail::launch_flag(tag);
  const std::string_view name = flag.empty() ? std::string_view(tag) : flag;
  for (const auto& row : new_tags) {
    if (name.starts_with(row.begin) && to.generation < row.first) {
      return unsupported("launch tag ", quoted(tag), " exists since ", row.release, ", ", to.name,
                         " is ", to.releases);
    }
  }
  return flag.empty() ? tag : concat(to.flag_prefix, flag);
}

}  // namespace

Status convert_kernel(KernelInfo& kernel, const KernelTableForm& from, const GenerationFacts& to) {
  const bool is_named = conversion_of(from.type_key) == PayloadConversion::webgpu_kernels
                            ? to.has_webgpu_kernel_names
                            : to.has_kernel_names;
  if (is_named && kernel.stored_name.empty()) kernel.stored_name = kernel.name;
  if (!is_named && kernel.stored_name == kernel.name) kernel.stored_name.clear();
  for (gantry_dtype& parameter : kernel.parameters) {
    GANTRY_TRY(parameter, converted_dtype(parameter, from.has_private_float_codes, to));
  }
  for (std::string& tag : kernel.launch_tags) {
    GANTRY_TRY(tag, converted_tag(tag, to));
  }
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
    if (to.argument_tags >= ArgumentTags::yes || !kernel.is_tensor_map(p)) continue;
    return unsupported("parameter ", p, " is a tensor map, which ", to.name, " (", to.releases,
                       ") cannot express");
  }
  set_kernel_form(kernel, to.argument_tags);
  return {};
}

Status write_converted_kernels(ByteReader in, const KernelTableForm& from,
                               const GenerationFacts& to, dmlc::Stream& out) {
  GANTRY_TRY(const KernelTable table,
             read_kernel_table(in, from.argument_tags, [](ByteReader&) { return Status(); }));
  KernelTable converted;
  for (KernelInfo kernel : table.kernels()) {
    Status done = convert_kernel(kernel, from, to);
    if (!done.ok()) return std::move(done).error().at("in kernel ", quoted(kernel.name));
    converted.add(std::move(kernel));
  }
  write_kernel_table(out, converted);
  return {};
}

}  // namespace gantry
