// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// Appends numbers and texts to bytes that ByteReader reads.
class ByteText {
 public:
  template <class Number>
  ByteText& number(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  ByteText& text(std::string_view value) {
    number(std::uint64_t{value.size()});
    bytes_.append(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace gantry
