// SPDX-License-Identifier: Apache-2.0
#include "core/pack/device_payload.hpp"

#include <set>

namespace gantry {
namespace {

Status check_kernels(const std::vector<KernelSource>& kernels) {
  std::set<std::string_view> names;
  for (const KernelSource& kernel : kernels) {
    if (!names.insert(kernel.name).second) {
      return invalid("kernel ", quoted(kernel.name), " is given twice");
    }
  }
  return {};
}

void write_kernel(const KernelSource& kernel, Pieces& out) {
  out.write_text(kernel.name);
  out.write_text("");  // FunctionInfo's own name
  out.Write<std::uint64_t>(kernel.arguments.size());
  for (const gantry_dtype& dtype : kernel.arguments) {
    out.Write<std::uint8_t>(dtype.code);
    out.Write<std::uint8_t>(dtype.bits);
    out.Write<std::uint16_t>(dtype.lanes);
  }
  out.Write(kernel.launch);
}

}  // namespace

Status write_device_payload(const DeviceModuleSource& module, Pieces& out) {
  GANTRY_CHECK(check_kernels(module.kernels));
  GANTRY_TRY(const auto file, MappedFile::open(module.data));
  const std::uint64_t size = file->bytes().size();
  if (!module.format.empty()) {
    out.write_text(module.format);
    out.Write<std::uint64_t>(module.kernels.size());
    for (const KernelSource& kernel : module.kernels) write_kernel(kernel, out);
    out.Write<std::uint64_t>(size);
  }
  out.append(FileRange{file, 0, size});
  return {};
}

}  // namespace gantry
