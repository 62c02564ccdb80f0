// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.hpp"
#include "core/base/toolchain/link.hpp"
#include "core/writing/generator/built_in_builds.hpp"

#include <gantry/host.h>

namespace gantry {
namespace {

// Diagnostics may be longer than the text of a status.
Status with_log(const Build& what, Status done, std::string_view log) {
  if (!log.empty()) what.diagnostic(GANTRY_LOG_ERROR, log);
  return done;
}

}  // namespace

Status run_for(const Build& what, std::string_view subject, const std::vector<std::string>& words,
               const GeneratorTools& tools) {
  std::string log;
  Status done =
      run_compiler(subject, words, {tools.directory, tools.scratch, tools.programs.search}, &log);
  return with_log(what, std::move(done), log);
}

Status build_library(const GeneratorTools& tools, const Build& what, const Sink& sink) {
  LinkJob job;
  job.compiler = tools.programs.compiler;
  job.directory = tools.directory;
  job.scratch = tools.scratch;
  for (const BuildSource& source : what.sources()) job.sources.emplace_back(source.name);
  job.flags = tools.flags;
  job.libraries = tools.libraries;
  job.output = tools.scratch / "library.so";
  job.search = tools.programs.search;
  std::string log;
  Status done = link_library(job, &log);
  GANTRY_CHECK(with_log(what, std::move(done), log));
  GANTRY_TRY(const auto library, MappedFile::open(job.output));
  return sink.write(library->bytes());
}

}  // namespace gantry
