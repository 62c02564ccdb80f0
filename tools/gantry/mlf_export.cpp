// SPDX-License-Identifier: Apache-2.0
#include "core/base/output_file.hpp"
#include "core/base/text.hpp"
#include "core/engine/runtime/environment.hpp"
#include "core/formats/archive/archive_members.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/kind/file_kind.hpp"
#include "core/formats/kind/unpacked_file.hpp"
#include "core/formats/mlf/model_library.hpp"
#include "core/writing/mlf_archive.hpp"

#include "tools/gantry/command.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::cli {
namespace {

struct MlfExportCommand {
  // several: libraries
  std::vector<std::string> files;
  std::string output;
  // of the models, in the order of the files; empty: as the files name them
  std::vector<std::string> names;
  MlfExportOptions how;
};

// "2026-11-20 13:35:47Z"
Result<std::string> time_of_epoch(const std::string& text) {
  // of the last second of the year 9999
  constexpr std::int64_t max_seconds = 253402300799;
  const auto seconds = parse_number<std::int64_t>(text);
  if (!seconds || *seconds < 0 || *seconds > max_seconds) {
    return invalid("SOURCE_DATE_EPOCH is ", quoted(text), ", range is 0 to ", max_seconds);
  }
  const std::time_t time = *seconds;
  std::tm parts{};
  char form[32];
  ::gmtime_r(&time, &parts);
  return std::string(form, std::strftime(form, sizeof form, "%Y-%m-%d %H:%M:%SZ", &parts));
}

Failure wrong_kind(const MappedFile& file, std::string_view expected) {
  const FileKind kind = kind_of(file.bytes());
  return invalid(
      quoted(file.path().native()), " is ",
      kind == FileKind::unknown ? first_bytes_text(file.bytes()) : std::string(words_for(kind)),
      ", expected ", expected);
}

// files    [in]   shared libraries
Result<Pieces> export_artifacts(const std::vector<std::shared_ptr<const MappedFile>>& files,
                                const MlfExportCommand& command, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  std::vector<MlfArtifact> artifacts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto read = [&]() -> Result<Container> {
      GANTRY_TRY(const ElfFile elf, ElfFile::parse(files[i]));
      GANTRY_CHECK(elf.check_complete());
      return read_container(elf, runtime->layouts);
    };
    auto container = read();
    if (!container.ok()) return std::move(container).error().at("in ", command.files[i]);
    artifacts.push_back({files[i], std::move(*container),
                         command.names.empty() ? std::string() : command.names[i]});
  }
  MlfExportOptions options = command.how;
  const auto epoch = read_environment().variable("SOURCE_DATE_EPOCH");
  if (options.export_datetime.empty() && epoch) {
    GANTRY_TRY(options.export_datetime, time_of_epoch(*epoch));
  }
  return mlf_of_artifacts(artifacts, options);
}

Result<Pieces> export_archive(const std::shared_ptr<const MappedFile>& file,
                              const MlfExportCommand& command) {
  const auto write = [&]() -> Result<Pieces> {
    GANTRY_TRY(const ModelLibrary archive, open_model_library(file->bytes()));
    MlfExportOptions options = command.how;
    if (!command.names.empty()) options.name = command.names.front();
    return mlf_of_archive(file, archive, options);
  };
  auto archive = write();
  if (!archive.ok()) return std::move(archive).error().at("in ", command.files.front());
  return archive;
}

Result<Pieces> exported(const MlfExportCommand& command, const Globals& globals) {
  if (!command.names.empty() && command.names.size() != command.files.size()) {
    return invalid("--name is given ", command.names.size(), " times, file count is ",
                   command.files.size());
  }
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (const std::string& name : command.files) {
    GANTRY_TRY(auto file, open_unpacked(name));
    const FileKind kind = kind_of(file->bytes());
    if (kind == FileKind::model_library && command.files.size() == 1)
      return export_archive(file, command);
    if (kind != FileKind::shared_library) {
      return wrong_kind(*file, command.files.size() == 1
                                   ? "a shared library or a model library archive"
                                   : "a shared library, as for each of several models");
    }
    files.push_back(std::move(file));
  }
  return export_artifacts(files, command, globals);
}

// An archive with an error is not moved into place. What went to a pipe cannot be read again.
Status check_written(const OutputFile& output) {
  if (output.is_stream()) return {};
  const int copy = ::fcntl(::fileno(output.stream()), F_DUPFD_CLOEXEC, 0);
  GANTRY_TRY(const auto written, MappedFile::adopt(Descriptor(copy), output.path()));
  Findings findings;
  GANTRY_TRY(const ModelLibrary archive, read_model_library(written->bytes(), findings));
  validate(archive, findings, written.get());
  const Finding* error = findings.first_error();
  if (error == nullptr) return {};
  return malformed(no_offset, "archive would have ", findings.errors(),
                   findings.errors() == 1 ? " error: " : " errors, the first: ", error->path, " ",
                   error->text);
}

Result<ExitStatus> export_model(const MlfExportCommand& options, const Globals& globals) {
  InputFiles inputs = input_files(globals, {});
  for (const std::string& file : options.files) inputs.add(file);
  GANTRY_TRY(OutputFile output, OutputFile::open(options.output, inputs));
  GANTRY_CHECK(output.check_replaces("a tar archive", is_tar));
  GANTRY_TRY(const Pieces archive, exported(options, globals));
  GANTRY_CHECK(output.start());
  DescriptorStream stream(::fileno(output.stream()), options.output);
  GANTRY_CHECK(archive.write_to(stream));
  GANTRY_CHECK(stream.status());
  if (Status checked = check_written(output); !checked.ok()) {
    return std::move(checked).error().at("cannot write ", quoted(options.output));
  }
  GANTRY_CHECK(output.commit());
  return kDone;
}

}  // namespace

void add_mlf_export(CLI::App& mlf, Invocation& invocation) {
  auto options = std::make_shared<MlfExportCommand>();
  CLI::App* command = mlf.add_subcommand(
      "export", "write an archive from artifacts with a graph, or from another archive");
  command
      ->add_option("FILE", options->files,
                   "shared library with a graph, several for an archive of several models; or "
                   "archive of any version")
      ->required()
      ->check(not_empty());
  add_text(*command, "-o,--output", "FILE.tar", options->output,
           "write the archive to this file, to a pipe, or to standard output (-)")
      ->required();
  command->add_option("--version", options->how.version, "version of the format: 7 (default) or 5")
      ->type_name("N")
      ->check(CLI::IsMember({5, 7}));
  add_repeatable(*command, "--name", "NAME", options->names,
                 "name of the model, one for each FILE; default: that of the factory function or "
                 "the archive");
  add_repeatable(*command, "--target", "TEXT", options->how.targets,
                 "target of the code; default: as symbols and type keys show, or the archive's");
  add_text(*command, "--time", "TIME", options->how.export_datetime,
           "time of the export: \"2026-11-20 13:35:47Z\"; default: SOURCE_DATE_EPOCH, else 1970, "
           "or the archive's");
  command->footer(
      "The same input and options give the same bytes.\n\n"
      "Examples:\n"
      "  gantry mlf export digits.so --name digits -o digits.tar\n"
      "  gantry mlf export a.so b.so --name a --name b -o two.tar\n"
      "  gantry mlf export old.tar -o new.tar");
  set_action(*command, invocation, options, export_model);
}

}  // namespace gantry::cli
