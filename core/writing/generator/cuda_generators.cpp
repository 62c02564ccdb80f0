// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.hpp"
#include "core/base/new_file.hpp"
#include "core/base/text.hpp"
#include "core/writing/generator/built_in_builds.hpp"

#include <gantry/cuda_architecture.hpp>
#include <gantry/payload_writer.hpp>
#include <gantry/quoted.hpp>

#include <filesystem>
#include <system_error>

namespace gantry {
namespace {

// A line that includes a file. In the name of a file, it has no escapes.
Result<std::string> include_of(const std::filesystem::path& file) {
  if (file.native().find_first_of("\"\\\n") == std::string::npos) {
    return concat("#include \"", file.native(), "\"\n");
  }
  return invalid("path ", quoted(file.native()),
                 " of a source has a quote, a backslash or the end of a line, which the path of a "
                 "source for nvcc must not have");
}

// Compiles all sources together. The files of another module would be taken for this one's.
Result<std::string> nvcc_ptx(const GeneratorTools& tools, const Build& what) {
  const std::filesystem::path all = tools.scratch / "kernels.cu";
  const std::filesystem::path ptx = tools.scratch / "kernels.ptx";
  GANTRY_TRY(const JsonTree target, what.target());
  const auto arch = target.root().find("arch");
  GANTRY_TRY(const std::string_view number,
             cuda_architecture(arch && arch->is(JsonKind::text) ? arch->text() : ""));
  std::string includes;
  for (const BuildSource& source : what.sources()) {
    GANTRY_TRY(const std::string line, include_of(tools.directory / source.name));
    includes += line;
  }
  for (const std::filesystem::path& old : {all, ptx}) {
    std::error_code ignored;
    std::filesystem::remove(old, ignored);
  }
  GANTRY_CHECK(write_new_file(all, as_bytes(includes)));
  std::vector<std::string> words = tools.programs.nvcc;
  words.insert(words.end(),
               {"-ptx", concat("-arch=compute_", number), "-o", ptx.native(), all.native()});
  GANTRY_CHECK(run_for(what, "CUDA compiler", words, tools));
  GANTRY_TRY(const auto file, MappedFile::open(ptx));
  return std::string(as_text(file->bytes()));
}

Status write_text_payload(std::string_view format, const KernelTable& kernels,
                          std::string_view text, const Sink& sink) {
  PayloadWriter out;
  out.Write(format);
  write_kernel_table(out, kernels);
  out.Write(text);
  return sink.write(out.bytes());
}

}  // namespace

Status build_ptx(const GeneratorTools& tools, const Build& what, const Sink& sink) {
  GANTRY_TRY(const KernelTable kernels, what.kernels());
  GANTRY_TRY(const std::string ptx, nvcc_ptx(tools, what));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string& name = kernels.kernels()[i].name;
    if (ptx.find(concat(".entry ", name, "(")) != ptx.npos) continue;
    what.at_kernel(i);
    return no_kernel(what.sources()[what.source_of(i)].name, name, cuda_kernel_declaration);
  }
  return write_text_payload("ptx", kernels, ptx, sink);
}

Status build_cuda_source(const GeneratorTools&, const Build& what, const Sink& sink) {
  GANTRY_TRY(const KernelTable kernels, what.kernels());
  std::string text;
  for (const BuildSource& source : what.sources()) {
    text += concat("#line 1 ", quoted(source.name), "\n", source.text, "\n");
  }
  return write_text_payload("cuda", kernels, text, sink);
}

}  // namespace gantry
