// SPDX-License-Identifier: Apache-2.0
//
// gantry/payload_writer.hpp - builds the bytes of a payload, little-endian: numbers, and texts and
// lists with their sizes as u64.
//
//     PayloadWriter out;
//     out.Write("ptx");
//     write_kernel_table(out, kernels);
//     out.Write(code);
//     return sink.write(out.bytes());
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The functions have the name that dmlc::Stream gives them, so that write_kernel_table() accepts
// both.
class PayloadWriter {
 public:
  template <std::integral Number>
  void Write(Number number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    bytes_.append(bytes, sizeof bytes);
  }
  void Write(std::string_view text) {
    Write(std::uint64_t{text.size()});
    bytes_.append(text);
  }
  void Write(const std::string& text) { Write(std::string_view(text)); }
  void Write(const char* text) { Write(std::string_view(text)); }
  template <class T>
  void Write(const std::vector<T>& list) {
    Write(std::uint64_t{list.size()});
    for (const T& item : list) Write(item);
  }
  // Appends bytes without their size.
  void append(std::string_view bytes) { bytes_.append(bytes); }

  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::string bytes_;
};

}  // namespace gantry
