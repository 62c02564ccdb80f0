// SPDX-License-Identifier: Apache-2.0
#include "core/base/toolchain/link.hpp"

#include "core/base/process.hpp"

#include <gantry/quoted.hpp>

namespace gantry {
namespace {

constexpr std::size_t max_diagnostics = 16 * 1024;

// Appends the compiler's diagnostics to the log, or without one to the error.
Error with_diagnostics(Error error, const ProgramEnd& end, std::string* log) {
  std::string text = end.output;
  if (end.dropped_bytes != 0) {
    text += concat("\n(", end.dropped_bytes, " more bytes of diagnostics)\n");
  }
  if (log != nullptr) {
    *log = std::move(text);
  } else {
    error.message.at_lines(text);
  }
  return error;
}

}  // namespace

Status run_compiler(std::string_view what, const std::vector<std::string>& words,
                    const CompilerRun& run, std::string* log) {
  GANTRY_TRY(const ProgramEnd end,
             run_program(words, run.directory, max_diagnostics, run.search, run.scratch));
  if (end.signal != 0) {
    return with_diagnostics(
        unavailable(what, " ", quoted(words.front()), " is terminated by signal ", end.signal), end,
        log);
  }
  if (end.exit_status != 0) {
    return with_diagnostics(invalid(what, " ", quoted(words.front()), " exits with status ",
                                    end.exit_status, ", expected 0")
                                .with_reason("COMPILE_FAILED"),
                            end, log);
  }
  return {};
}

Status link_library(const LinkJob& job, std::string* log) {
  std::vector<std::string> words = job.compiler;
  words.insert(words.end(), {"-shared", "-fPIC", "-O2", "-Wl,-z,noexecstack"});
  for (const std::filesystem::path& directory : {job.directory, job.scratch}) {
    words.push_back(concat("-ffile-prefix-map=", directory.native(), "=."));
  }
  words.insert(words.end(), job.flags.begin(), job.flags.end());
  words.insert(words.end(), {"-o", job.output.native()});
  words.insert(words.end(), job.sources.begin(), job.sources.end());
  words.insert(words.end(), job.libraries.begin(), job.libraries.end());

  return run_compiler("C compiler", words, {job.directory, job.scratch, job.search}, log);
}

}  // namespace gantry
