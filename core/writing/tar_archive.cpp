// SPDX-License-Identifier: Apache-2.0
#include "core/writing/tar_archive.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace gantry {
namespace {

constexpr std::size_t tar_block_bytes = 512;
constexpr std::size_t tar_name_bytes = 100, tar_prefix_bytes = 155;
constexpr std::uint64_t max_octal_size = std::uint64_t{1} << 33;

// Fields of a header: offset and size in bytes.
struct TarField {
  std::size_t at, bytes;
};
constexpr TarField name_field{0, tar_name_bytes}, mode_field{100, 8}, uid_field{108, 8},
    gid_field{116, 8}, size_field{124, 12}, time_field{136, 12}, sum_field{148, 8},
    type_field{156, 1}, magic_field{257, 8}, prefix_field{345, tar_prefix_bytes};

class TarHeaderBlock {
 public:
  void put(TarField field, std::string_view text) {
    std::memcpy(&bytes_[field.at], text.data(), std::min(text.size(), field.bytes));
  }
  // Octal digits with leading zeros, terminated by a NUL.
  void put_octal(TarField field, std::uint64_t value) {
    for (std::size_t i = field.bytes - 1; i-- > 0; value >>= 3) {
      bytes_[field.at + i] = static_cast<char>('0' + (value & 7));
    }
  }
  void put_size(std::uint64_t size) {
    if (size < max_octal_size) return put_octal(size_field, size);
    bytes_[size_field.at] = static_cast<char>(0x80);
    for (std::size_t i = size_field.bytes; i-- > 1; size >>= 8) {
      bytes_[size_field.at + i] = static_cast<char>(size & 0xff);
    }
  }
  // The checksum field itself is summed as blanks.
  void put_checksum() {
    put(sum_field, "        ");
    std::uint64_t sum = 0;
    for (const char byte : bytes_) sum += static_cast<unsigned char>(byte);
    put_octal({sum_field.at, sum_field.bytes - 1}, sum);
    bytes_[sum_field.at + sum_field.bytes - 2] = '\0';
  }
  std::string_view text() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, tar_block_bytes> bytes_{};
};

// Divides a name at the first '/' after which the rest fits.
Status put_name(std::string_view name, TarHeaderBlock& header) {
  std::size_t slash = std::string_view::npos;
  if (name.size() > tar_name_bytes) slash = name.find('/', name.size() - tar_name_bytes - 1);
  const bool fits = slash == std::string_view::npos ? name.size() <= tar_name_bytes
                                                    : slash != 0 && slash <= tar_prefix_bytes;
  if (!fits || name.empty() || name.ends_with('/')) {
    return invalid("member name ", quoted(name), " does not fit in a tar header: maximum is ",
                   tar_name_bytes, " bytes, or ", tar_prefix_bytes, " and ", tar_name_bytes,
                   " divided by \"/\"");
  }
  if (slash == std::string_view::npos) {
    header.put(name_field, name);
  } else {
    header.put(prefix_field, name.substr(0, slash));
    header.put(name_field, name.substr(slash + 1));
  }
  return {};
}

}  // namespace

Result<Pieces> write_tar(TarContents&& contents) {
  Pieces out;
  for (auto& [name, content] : contents) {
    TarHeaderBlock header;
    GANTRY_CHECK(put_name(name, header));
    header.put_octal(mode_field, 0644);
    for (const TarField field : {uid_field, gid_field, time_field}) header.put_octal(field, 0);
    header.put_size(content.size());
    header.put(type_field, "0");
    header.put(magic_field, std::string_view("ustar\00000", 8));
    header.put_checksum();
    out.write_bytes(header.text());
    const std::size_t over = content.size() % tar_block_bytes;
    out.append(std::move(content));
    if (over != 0) out.write_zeros(tar_block_bytes - over);
  }
  out.write_zeros(2 * tar_block_bytes);
  return out;
}

}  // namespace gantry
