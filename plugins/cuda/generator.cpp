// SPDX-License-Identifier: Apache-2.0
//
// Builds a payload of CUDA C++ sources. Later devices run the PTX, too.
#include "plugin.hpp"

#include <gantry/cuda_architecture.hpp>
#include <gantry/payload_writer.hpp>
#include <gantry/quoted.hpp>

namespace gantry::cuda {
namespace {

// Returns the target's architecture: "sm_90a".
Result<std::string> architecture_of_target(const Build& what) {
  GANTRY_TRY(const JsonTree target, what.target());
  const auto arch = target.root().find("arch");
  GANTRY_TRY(const std::string_view number,
             cuda_architecture(arch && arch->is(JsonKind::text) ? arch->text() : ""));
  return concat("sm_", number);
}

// NVRTC compiles one text; #line keeps the files and lines of diagnostics.
std::string joined(const std::vector<BuildSource>& sources) {
  std::string text;
  for (const BuildSource& source : sources) {
    text += concat("#line 1 ", quoted(source.name), "\n");
    text += source.text;
    text += "\n";
  }
  return text;
}

}  // namespace

Status Plugin::check(const Build& what) {
  GANTRY_CHECK(architecture_of_target(what));
  GANTRY_CHECK(compiler.nvrtc());
  return {};
}

Status Plugin::build(const Build& what, const Sink& sink) {
  GANTRY_TRY(const std::string architecture, architecture_of_target(what));
  GANTRY_TRY(const KernelTable kernels, what.kernels());
  const std::vector<BuildSource> sources = what.sources();
  for (const BuildSource& source : sources) {
    if (source.language != "cuda") {
      return unsupported("source ", quoted(source.name), " is ", quoted(source.language),
                         ", gantry.cuda compiles cuda")
          .with_reason("KERNEL_BUILD");
    }
    if (const std::size_t nul = source.text.find('\0'); nul != source.text.npos) {
      return malformed(nul, "source ", quoted(source.name), " contains a NUL, expected text");
    }
  }
  if (sources.empty()) return invalid("there is no source, expected one at least");
  GANTRY_TRY(const std::string ptx,
             compiler.compile_ptx(joined(sources), sources.front().name, architecture));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string& name = kernels.kernels()[i].name;
    if (ptx.find(concat(".entry ", name, "(")) != ptx.npos) continue;
    what.at_kernel(i);
    return no_kernel(sources[what.source_of(i)].name, name, cuda_kernel_declaration);
  }
  PayloadWriter out;
  out.Write("ptx");
  write_kernel_table(out, kernels);
  out.Write(ptx);
  return sink.write(out.bytes());
}

}  // namespace gantry::cuda
