// SPDX-License-Identifier: Apache-2.0
#include "core/pack/carrying_stream.hpp"

#include <functional>

namespace gantry {

void CarryingStream::Write(const void* data, std::size_t size) {
  const auto* const from = static_cast<const std::uint8_t*>(data);
  if (file_ != nullptr && size >= min_range_bytes) {
    const std::span<const std::uint8_t> mapped = file_->bytes();
    // Defined for pointers into different arrays, unlike the operators.
    const std::less<const std::uint8_t*> before;
    const std::uint8_t* const end = mapped.data() + mapped.size();
    if (!before(from, mapped.data()) && before(from, end) &&
        size <= static_cast<std::size_t>(end - from)) {
      out_->append(FileRange{file_, static_cast<std::uint64_t>(from - mapped.data()), size});
      return;
    }
  }
  out_->Write(data, size);
}

}  // namespace gantry
