// SPDX-License-Identifier: Apache-2.0
#include "core/formats/kind/file_kind.hpp"

#include "core/base/file_mark.hpp"
#include "core/base/text.hpp"
#include "core/formats/archive/tar_files.hpp"
#include "core/formats/arrays/array_file.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_types.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

struct KindName {
  FileKind kind;
  std::string_view name;
  std::string_view words;
};
constexpr KindName kind_names[] = {
    {FileKind::shared_library, "shared-library", "a shared library"},
    {FileKind::program, "program", "a program"},
    {FileKind::object, "object", "an object file"},
    {FileKind::elf, "elf", "an ELF file"},
    {FileKind::archive, "archive", "an ar archive"},
    {FileKind::tar, "tar", "a tar archive"},
    {FileKind::model_library, "model-library", "a model library archive"},
    {FileKind::parameters, "parameters", "a parameter file"},
    {FileKind::npy, "npy", "a NumPy array"},
    {FileKind::npz, "npz", "an archive of NumPy arrays"},
    {FileKind::container, "container", "a bare container"},
    {FileKind::weights, "weights", "a directory of weights"},
    {FileKind::unknown, "unknown", "of unknown kind"},
};

constexpr std::size_t elf_type_at = 16;

FileKind kind_of_elf(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < elf_type_at + 2) return FileKind::elf;
  const bool big_endian = bytes[5] == 2;
  const int type = bytes[elf_type_at + (big_endian ? 1 : 0)];
  switch (static_cast<ElfType>(type)) {
    case ElfType::shared:
      return FileKind::shared_library;
    case ElfType::executable:
      return FileKind::program;
    case ElfType::relocatable:
      return FileKind::object;
    default:
      return FileKind::elf;
  }
}

FileKind kind_of_array(ArrayFormat format) {
  switch (format) {
    case ArrayFormat::npy:
      return FileKind::npy;
    case ArrayFormat::npz:
      return FileKind::npz;
    case ArrayFormat::params:
      break;
  }
  return FileKind::parameters;
}

}  // namespace

std::string_view name_of(FileKind kind) { return kind_names[static_cast<std::size_t>(kind)].name; }
std::string_view words_for(FileKind kind) {
  return kind_names[static_cast<std::size_t>(kind)].words;
}

FileKind kind_of(std::span<const std::uint8_t> bytes) {
  if (has_elf_magic(bytes)) return kind_of_elf(bytes);
  if (as_text(bytes).starts_with("!<arch>\n")) return FileKind::archive;
  if (is_tar(bytes)) {
    return TarFiles::contain(bytes, "metadata.json") ? FileKind::model_library : FileKind::tar;
  }
  if (const auto format = array_format(bytes)) return kind_of_array(*format);
  return looks_like_container(bytes) ? FileKind::container : FileKind::unknown;
}

std::string first_bytes_text(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t max_text = 64;
  const std::string_view text = as_text(bytes.first(std::min(bytes.size(), max_text)));
  const auto mark = find_file_mark(bytes);
  if (mark && mark->what != text_file_words) {
    return concat(mark->what, mark->advice.empty() ? "" : " (", mark->advice,
                  mark->advice.empty() ? "" : ")");
  }
  if (mark) {
    const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const std::string_view line = text.substr(first, text.find_first_of("\r\n", first) - first);
    return concat("text that begins with ", quoted(line));
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string shown = "bytes that begin with";
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    shown.append({' ', digits[byte >> 4], digits[byte & 15]});
  }
  return shown;
}

Failure not_an_artifact(std::string_view name, std::span<const std::uint8_t> bytes,
                        std::string_view expected) {
  const FileKind kind = kind_of(bytes);
  return unsupported(
             quoted(name), " is ",
             kind == FileKind::parameters ? std::string(words_for(kind)) : first_bytes_text(bytes),
             "; expected ", expected)
      .with_reason("FILE_KIND");
}

}  // namespace gantry
