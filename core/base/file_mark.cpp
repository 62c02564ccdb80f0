// SPDX-License-Identifier: Apache-2.0
#include "core/base/file_mark.hpp"

#include "core/base/text.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <cstddef>

namespace gantry {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view compile_model =
    "compile it to a shared library, for example with Apache TVM in Python (tvm.compile, "
    "export_library)";
constexpr std::string_view compile_onnx =
    "compile it to a shared library, for example with Apache TVM in Python "
    "(tvm.relax.frontend.onnx.from_onnx, tvm.compile, export_library)";
constexpr std::string_view compile_torch =
    "compile it to a shared library, for example with Apache TVM in Python "
    "(tvm.relax.frontend.torch.from_exported_program, tvm.compile, export_library)";
constexpr std::string_view unpack_archive = "unpack it and use one of the files in it";

struct Mark {
  std::size_t at;
  std::string_view bytes;
  FileMark mark;
};

constexpr Mark marks[] = {
    {0,
     "version https://git-lfs.github.com/spec/"sv,
     {"a Git LFS pointer", "fetch the file itself (git lfs pull)"}},
    {0, "\x93NUMPY"sv, {"a NumPy array", "it can be an input (--input)"}},
    {0, "GGUF"sv, {"a GGUF model", compile_model}},
    {4, "TFL3"sv, {"a TensorFlow Lite model", compile_model}},
    {0, "\x89HDF"sv, {"an HDF5 file, for example a Keras model", compile_model}},
    {0, "\x80\x02\x8a\x0al\xfc\x9c"sv, {"a PyTorch file", compile_torch}},
    {0, "\x1f\x8b"sv, {"a gzip file", "decompress it (gunzip) and use the file in it"}},
    {0, "BZh"sv, {"a bzip2 file", "decompress it (bunzip2) and use the file in it"}},
    {0,
     "\xfd"
     "7zXZ"sv,
     {"an xz file", "decompress it (unxz) and use the file in it"}},
    {0, "\x28\xb5\x2f\xfd"sv, {"a zstd file", "decompress it (unzstd) and use the file in it"}},
    {257, "ustar"sv, {"a tar archive", unpack_archive}},
    {0, "!<arch>\n"sv, {"an ar archive", "link it to a shared library"}},
    {0, "MZ"sv, {"a Windows program or library", "compile it for Linux"}},
    {0, "\xcf\xfa\xed\xfe"sv, {"a Mach-O file", "compile it for Linux"}},
    {0, "\xca\xfe\xba\xbe"sv, {"a Mach-O or Java file", "compile it for Linux"}},
    {0, "\0asm"sv, {"a WebAssembly file", "compile it for Linux"}},
    {0, "#!"sv, {"a script", ""}},
};

// The name of the first member of a ZIP archive, after the local header of 30 bytes.
std::string_view first_zip_member(std::string_view text) {
  constexpr std::size_t header = 30, name_bytes_at = 26;
  if (!text.starts_with("PK\3\4") || text.size() < header) return {};
  const auto low = static_cast<unsigned char>(text[name_bytes_at]);
  const auto high = static_cast<unsigned char>(text[name_bytes_at + 1]);
  return text.substr(header, std::size_t{low} | std::size_t{high} << 8);
}

// ONNX and SavedModel are messages of protocol buffers, which have no magic: field 1 is a small
// version number, and a field of known number and wire type follows it.
//
// source   onnx/onnx.proto, ModelProto: ir_version is 3 or more in files of all releases;
//          tensorflow/core/protobuf/saved_model.proto
std::optional<FileMark> mark_of_message(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x08') return std::nullopt;
  constexpr std::string_view after_version = "\x12\x1a\x22\x28\x32\x3a\x42\x72";
  if (text[1] == '\x01' && text[2] == '\x12') {
    return FileMark{"a TensorFlow SavedModel", compile_model};
  }
  if (text[1] < '\x03' || text[1] > '\x1f' ||
      after_version.find(text[2]) == std::string_view::npos) {
    return std::nullopt;
  }
  return FileMark{"an ONNX model", compile_onnx};
}

// The length of a JSON text as a 64-bit number, then the text.
bool is_safetensors(std::string_view text) {
  constexpr std::size_t length_bytes = 8;
  return text.size() > length_bytes && text[length_bytes] == '{' &&
         text.substr(4, 4) == "\0\0\0\0"sv && text.substr(0, 4) != "\0\0\0\0"sv;
}

bool is_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 0x20 && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

std::optional<FileMark> find_file_mark(std::span<const std::uint8_t> bytes) {
  const std::string_view text = as_text(bytes.first(std::min<std::size_t>(bytes.size(), 512)));
  for (const Mark& mark : marks) {
    if (text.size() >= mark.at && text.substr(mark.at).starts_with(mark.bytes)) return mark.mark;
  }
  if (is_pytorch_archive(bytes)) return FileMark{"a PyTorch file", compile_torch};
  if (text.starts_with("PK\3\4")) {
    return first_zip_member(text).ends_with(".npy")
               ? FileMark{"an archive of NumPy arrays", "it can contain the inputs (--input)"}
               : FileMark{"a ZIP archive", unpack_archive};
  }
  if (is_safetensors(text)) {
    return FileMark{"a safetensors file", "it has only weights; use a compiled model"};
  }
  if (const auto message = mark_of_message(text)) return message;
  if (is_text(text)) return FileMark{text_file_words, ""};
  return std::nullopt;
}

bool is_pytorch_archive(std::span<const std::uint8_t> bytes) {
  return first_zip_member(as_text(bytes)).ends_with("data.pkl");
}

std::string file_mark_text(std::span<const std::uint8_t> bytes) {
  const auto mark = find_file_mark(bytes);
  if (!mark) return {};
  return concat("; this is ", mark->what, mark->advice.empty() ? "" : "; ", mark->advice);
}

}  // namespace gantry
