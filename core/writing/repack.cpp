// SPDX-License-Identifier: Apache-2.0
#include "core/writing/repack.hpp"

#include "core/base/near_name.hpp"
#include "core/base/passed_pages.hpp"
#include "core/base/replace_file.hpp"
#include "core/base/temp_directory.hpp"
#include "core/formats/aligned_payload.hpp"
#include "core/formats/container_symbols.hpp"
#include "core/formats/kind/file_kind.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/appended_container.hpp"
#include "core/writing/carrying_stream.hpp"
#include "core/writing/container_source.hpp"
#include "core/writing/converted_container.hpp"
#include "core/writing/converted_payload.hpp"
#include "core/writing/elf_object.hpp"
#include "core/writing/index.hpp"
#include "core/writing/saved_container.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Compares what is written to it with bytes of a file.
class ComparingStream : public OutputStream {
 public:
  ComparingStream(const MappedFile& file, std::span<const std::uint8_t> expected)
      : left_(expected), pages_(&file) {}

  bool equal() const { return equal_ && left_.empty(); }

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    if (!equal_ || bytes.size() > left_.size() ||
        std::memcmp(bytes.data(), left_.data(), bytes.size()) != 0) {
      equal_ = false;
      return;
    }
    pages_.pass(left_.first(bytes.size()));
    left_ = left_.subspan(bytes.size());
  }

 private:
  std::span<const std::uint8_t> left_;
  PassedPages pages_;
  bool equal_ = true;
};

// Writes a new file with the permissions of another one.
Status write_like(const fs::path& path, int like,
                  const std::function<Status(dmlc::Stream&)>& write) {
  struct stat known {};
  if (::fstat(like, &known) != 0) return cannot_write(path, errno);
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, known.st_mode & 0777));
  if (file.get() < 0) return cannot_write(path, errno);
  DescriptorStream stream(file.get(), path.native());
  GANTRY_CHECK(write(stream));
  return stream.status();
}

// Writes a file to an output, whose pages are released as they are written.
Status write_by_parts(const MappedFile& from, OutputFile& to) {
  constexpr std::size_t part_bytes = std::size_t{1} << 20;
  GANTRY_CHECK(to.start());
  PassedPages pages(&from);
  for (auto left = from.bytes(); !left.empty();) {
    const auto part = left.first(std::min(part_bytes, left.size()));
    if (std::fwrite(part.data(), 1, part.size(), to.stream()) != part.size())
      return cannot_write(to.path(), errno);
    pages.pass(part);
    left = left.subspan(part.size());
  }
  return to.commit();
}

Failure no_prefix(const ElfFile& elf, std::string_view prefix) {
  std::vector<std::string_view> found;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.defined() && is_blob_symbol(symbol.name)) found.push_back(symbol.name);
  }
  return not_found("container with the prefix ", quoted(prefix), " not found; containers: ",
                   found.empty() ? "none" : join(found, ", ", std::identity(), max_listed_names));
}

class Repacking {
 public:
  Repacking(const ContainerFile& source, const PayloadLayouts& layouts,
            const RepackOptions& options)
      : source_(source), layouts_(layouts), options_(options) {}

  Status build() {
    report_.warnings = source_.container.warnings;
    GANTRY_CHECK(find_forms());
    GANTRY_TRY(auto listed, listed_modules(source_.container, source_.file));
    GANTRY_TRY(std::vector<EditedModule> edited, edit_modules(std::move(listed), options_.edits));
    GANTRY_CHECK(check_cpu_code(edited));
    for (const EditedModule& each : edited) GANTRY_CHECK(check_given(each));
    if (options_.generation) {
      GANTRY_TRY(edited, converted_modules(std::move(edited), source_.container, source_.file,
                                           layouts_, report_.to, report_.warnings));
    }
    GANTRY_CHECK(check_output_form());
    for (EditedModule& each : edited) {
      if (options_.is_aligned) align(each);
      const std::string& key = each.module.type_key;
      report_.modules.push_back({key.empty() ? std::string(library_key) : key, each.entry, 0});
      modules_.push_back(std::move(each.module));
    }
    GANTRY_TRY(container_, write_listed_container(modules_, report_.to));
    report_.bytes = container_.size();
    return {};
  }

  // Whether the form can be read again; else the bare container is.
  bool is_read_again() const {
    return options_.form == PackForm::library || options_.form == PackForm::container;
  }

  // Writes the bare container.
  Status write_container_to(const fs::path& path) const {
    return write_like(path, source_.file->descriptor(),
                      [&](dmlc::Stream& out) -> Status { return container_.write_to(out); });
  }

  // Writes the form, the last function that uses the container.
  Status write(const fs::path& path) {
    const std::string symbol =
        concat(source_.container.prefix, generation_facts(report_.to).symbol);
    const auto write_form = [&](dmlc::Stream& out) -> Status {
      switch (options_.form) {
        case PackForm::library:
          return append_container(source_.file, source_.container.blob_symbol, container_, out);
        case PackForm::source:
          return write_container_source({symbol, {}}, container_, out);
        case PackForm::object: {
          ElfObject object;
          if (source_.elf) object.machine = source_.elf->machine();
          object.symbol = symbol;
          GANTRY_TRY(const Pieces bytes, write_elf_object(object, std::move(container_)));
          return bytes.write_to(out);
        }
        case PackForm::container:
          return container_.write_to(out);
      }
      return bug("form ", static_cast<int>(options_.form));
    };
    return write_like(path, source_.file->descriptor(), write_form);
  }

  // Reads the file again.
  Status check(const fs::path& path) {
    auto checked = compare(path);
    if (!checked.ok()) return std::move(checked).error().at("while reading the result again");
    return {};
  }

  RepackReport report() && { return std::move(report_); }

 private:
  Status find_forms() {
    auto form = form_of(source_.container);
    if (!form.ok()) {
      return std::move(form).error().at("in ", quoted(source_.file->path().native()));
    }
    report_.from = *form;
    report_.to = options_.generation.value_or(*form);
    if (options_.is_aligned && !have_same_payloads(report_.from, report_.to)) {
      return invalid("payloads are not converted from ", name_of(report_.from), " to ",
                     name_of(report_.to),
                     " and aligned at once; align the result in a second step");
    }
    return {};
  }

  // A payload of another length than its layout's would move the modules after it in layout one.
  Status check_given(const EditedModule& edited) const {
    const std::string& key = edited.module.type_key;
    if (edited.given == nullptr || !layouts_.contains(key)) return {};
    auto measured = layouts_.measure(key, ByteReader(edited.given->bytes()), PayloadEnd::known,
                                     source_.container.facts.argument_tags);
    if (measured.ok()) return {};
    return std::move(measured).error().at("in ", quoted(edited.given->path().native()),
                                          ", the payload of a module ", quoted(key));
  }

  Status check_output_form() const {
    if (options_.form != PackForm::library) return {};
    if (!source_.is_library()) {
      const std::string name = quoted(source_.file->path().native());
      return unsupported(
          source_.elf ? no_library_text(name, *source_.elf) : concat(name, " has no library"),
          ", so that only its container can be written: --form container");
    }
    if (generation_facts(report_.from).symbol == generation_facts(report_.to).symbol) return {};
    return unsupported("the library has its container at ", source_.container.blob_symbol,
                       ", where ", name_of(report_.to),
                       " does not read it, so that only the container can be written: --form "
                       "container");
  }

  void align(EditedModule& edited) const {
    // Kernels have no arrays, and their payload may already be a converted one.
    if (edited.module.type_key.empty() ||
        content_of(edited.module.type_key) == PayloadContent::kernels) {
      return;
    }
    const auto file = edited.given != nullptr ? edited.given : source_.file;
    const std::span<const std::uint8_t> payload =
        edited.given != nullptr ? file->bytes() : source_.container.entries[*edited.entry].payload;
    edited.module.write_payload = [file, payload, key = edited.module.type_key,
                                   facts = source_.container.facts](Pieces& out) -> Status {
      CarryingStream stream(file, out);
      return write_aligned_payload(key, payload, facts, {stream, out.offset()});
    };
  }

  Status check_cpu_code(const std::vector<EditedModule>& edited) const {
    const auto is_cpu_code = [](const EditedModule& each) { return each.module.type_key.empty(); };
    const auto was_cpu_code = [](const Entry& entry) { return entry.is_library(); };
    const auto kept = std::ranges::count_if(edited, is_cpu_code);
    const auto all = std::ranges::count_if(source_.container.entries, was_cpu_code);
    if (options_.form != PackForm::library || kept == all) return {};
    return invalid(
        "CPU code cannot be dropped from a library; write only its container with "
        "--form container");
  }

  Status compare(const fs::path& path) {
    const bool has_symbols = options_.form == PackForm::library;
    GANTRY_TRY(const ContainerFile found,
               ContainerFile::open(path, layouts_,
                                   has_symbols ? source_.container.prefix : std::string_view()));
    const std::vector<Entry>& entries = found.container.entries;
    if (entries.size() != modules_.size()) {
      return bug("container is read with ", entries.size(), " modules, written were ",
                 modules_.size());
    }
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      GANTRY_CHECK(compare_module(m, found.container));
      report_.modules[m].bytes = entries[m].payload.size();
    }
    ComparingStream bytes(*found.file, found.container.bytes);
    GANTRY_CHECK(container_.write_to(bytes));
    if (bytes.equal()) return {};
    return unavailable(quoted(source_.file->path().native()), " changes while it is read");
  }

  // The reader divides the bytes as those that load the file will.
  Status compare_module(std::size_t m, const Container& found) const {
    const Entry& entry = found.entries[m];
    const ContainerModule& module = modules_[m];
    if (entry.boundary == Boundary::guessed || entry.boundary == Boundary::unknown) {
      return malformed(entry.at, "payload of module ", name_of_module(m, module.type_key),
                       " has no known length; the manifest of its plugin must declare its layout");
    }
    const std::string_view key = entry.is_library() ? std::string_view() : entry.type_key;
    if (key == module.type_key && std::ranges::equal(found.tree.children_of(m), module.imports)) {
      return {};
    }
    return bug("module ", name_of_module(m, module.type_key), " is read as ",
               quoted(entry.type_key));
  }

  const ContainerFile& source_;
  const PayloadLayouts& layouts_;
  const RepackOptions& options_;
  std::vector<ContainerModule> modules_;
  Pieces container_;
  RepackReport report_;
};

}  // namespace

Status ContainerFile::read_elf() {
  GANTRY_TRY(elf, ElfFile::parse(file));
  return elf->check_complete();
}

Result<ContainerFile> ContainerFile::open(const fs::path& path, const PayloadLayouts& layouts,
                                          std::string_view prefix) {
  ContainerFile opened;
  GANTRY_TRY(opened.file, MappedFile::open(path));
  const std::span<const std::uint8_t> bytes = opened.file->bytes();
  if (has_elf_magic(bytes)) {
    if (Status read = opened.read_elf(); !read.ok())
      return std::move(read).error().at("in ", quoted(path.native()));
    GANTRY_TRY(const ContainerLocation location, locate_container(*opened.elf, prefix));
    if (!prefix.empty() && !location.room) return no_prefix(*opened.elf, prefix);
    GANTRY_TRY(opened.container, read_container(location, layouts));
    return opened;
  }
  if (!looks_like_container(bytes)) {
    return not_an_artifact(path.native(), bytes,
                           "a shared library, an object file or a bare container");
  }
  if (!prefix.empty()) {
    return invalid("prefix ", quoted(prefix), " selects a container by its symbol, ",
                   quoted(path.native()), " is a container without symbols");
  }
  GANTRY_TRY(opened.container, read_container_bytes(bytes, layouts));
  return opened;
}

Result<RepackReport> repack(const ContainerFile& source, const PayloadLayouts& layouts,
                            OutputFile& file, const RepackOptions& options) {
  return guard([&]() -> Result<RepackReport> {
    const fs::path& output = file.path();
    const auto report = [&](std::string_view line) {
      if (options.progress) options.progress(line);
    };
    GANTRY_CHECK(check_replaced(file, options.form));
    Repacking repacking(source, layouts, options);
    GANTRY_CHECK(repacking.build());

    const fs::path name = file.is_stream() ? source.file->path().filename() : output.filename();
    const bool is_beside = !file.is_stream() && TempDirectory::is_safe_beside(output);
    GANTRY_TRY(TempDirectory directory, is_beside
                                            ? TempDirectory::beside(output)
                                            : TempDirectory::in(options.temporary, name.native()));
    // Errors of loading it have the name of the output.
    const fs::path written = directory / name.native();
    const bool is_read_again = repacking.is_read_again();
    const fs::path checked = is_read_again ? written : fs::path(written.native() + ".container");
    report("writing the container");
    GANTRY_CHECK(is_read_again ? repacking.write(checked) : repacking.write_container_to(checked));
    report("checking the result");
    GANTRY_CHECK(repacking.check(checked));
    if (options.verify) GANTRY_CHECK(options.verify(checked));
    if (!is_read_again) GANTRY_CHECK(repacking.write(written));
    if (is_beside) {
      GANTRY_CHECK(move_into_place(written, output, options.inputs));
      return std::move(repacking).report();
    }
    GANTRY_TRY(const auto mapped, MappedFile::open(written));
    // Before the first byte is written, because SIGPIPE may end the process then.
    { const TempDirectory removed = std::move(directory); }
    GANTRY_CHECK(write_by_parts(*mapped, file));
    return std::move(repacking).report();
  });
}

}  // namespace gantry
