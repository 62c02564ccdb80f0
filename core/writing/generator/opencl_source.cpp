// SPDX-License-Identifier: Apache-2.0
#include "core/formats/opencl_text.hpp"
#include "core/writing/generator/built_in_builds.hpp"

#include <gantry/payload_writer.hpp>

namespace gantry {

Status build_opencl_source(const GeneratorTools&, const Build& what, const Sink& sink) {
  GANTRY_TRY(const KernelTable kernels, what.kernels());
  const std::vector<BuildSource> sources = what.sources();
  std::string text;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const BuildSource& source = sources[what.source_of(i)];
    Status added = append_opencl_program(text, kernels.kernels()[i].name, source.name, source.text);
    if (added.ok()) continue;
    what.at_kernel(i);
    return added;
  }
  PayloadWriter out;
  out.Write("cl");
  write_kernel_table(out, kernels);
  out.Write(text);
  return sink.write(out.bytes());
}

}  // namespace gantry
