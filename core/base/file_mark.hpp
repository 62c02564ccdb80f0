// SPDX-License-Identifier: Apache-2.0
//
// Recognizes files of other formats by their first bytes, for errors about files that gantry cannot
// read: "this is an ONNX model; compile it ...".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// FileMark::what of any text.
constexpr std::string_view text_file_words = "a text file";

struct FileMark {
  // "an ONNX model"
  std::string_view what;
  // what to do instead; may be empty
  std::string_view advice;
};

// Returns nullopt for bytes without a known mark, among them ELF files.
//
// costs    O(1)
std::optional<FileMark> find_file_mark(std::span<const std::uint8_t> bytes);

// True for a ZIP archive that PyTorch wrote.
bool is_pytorch_archive(std::span<const std::uint8_t> bytes);

// "; this is an ONNX model; compile it ..." for the end of an error; empty without a mark.
std::string file_mark_text(std::span<const std::uint8_t> bytes);

}  // namespace gantry
