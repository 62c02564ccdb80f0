// SPDX-License-Identifier: Apache-2.0
#include "core/writing/carrying_stream.hpp"

#include <functional>

namespace gantry {

void CarryingStream::put(std::span<const std::uint8_t> bytes) {
  const std::uint8_t* const from = bytes.data();
  if (file_ != nullptr && bytes.size() >= min_range_bytes) {
    const std::span<const std::uint8_t> mapped = file_->bytes();
    // Defined for pointers into different arrays, unlike the operators.
    const std::less<const std::uint8_t*> before;
    const std::uint8_t* const end = mapped.data() + mapped.size();
    if (!before(from, mapped.data()) && before(from, end) &&
        bytes.size() <= static_cast<std::size_t>(end - from)) {
      out_->append(
          FileRange{file_, static_cast<std::uint64_t>(from - mapped.data()), bytes.size()});
      return;
    }
  }
  out_->write(bytes);
}

}  // namespace gantry
