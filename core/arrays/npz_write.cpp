// SPDX-License-Identifier: Apache-2.0
#include "core/arrays/npz_write.hpp"

#include "core/arrays/npy.hpp"
#include "core/arrays/zip_stream.hpp"
#include "core/base/atomic_file.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <zip.h>

#include <algorithm>
#include <memory>
#include <set>

namespace gantry {
namespace {

// minizip does not bound what it copies
constexpr std::size_t kMaxName = 1024;
// 1980-01-01 00:00, the first a zip can name
constexpr uLong kFirstDay = 0x00210000;
// flag of a member
constexpr uLong kNamesAreUtf8 = 1u << 11;
// from here on, sizes take 64 bits
constexpr std::uint64_t kSmallMember = 0xffff0000;
// minizip counts in 32 bits
constexpr unsigned kMaxAtOnce = 1u << 30;

struct CloseZip {
  void operator()(zipFile zip) const { zipClose(zip, nullptr); }
};
using Zip = std::unique_ptr<void, CloseZip>;

Status check_items(std::span<const NpzItem> items) {
  if (items.empty()) return invalid("npz of no arrays: not every reader takes an empty archive");
  std::set<std::string_view> names;
  for (const NpzItem& item : items) {
    if (item.name.empty() || item.name.size() > kMaxName ||
        item.name.find('\0') != std::string_view::npos) {
      return invalid("npz name ", quoted(item.name), " has ", item.name.size(),
                     " bytes, expected 1 to ", kMaxName, " and no NUL");
    }
    if (!names.insert(item.name).second) {
      return invalid("npz name ", quoted(item.name), " occurs twice");
    }
    const Result<std::uint64_t> size = tensor_bytes(item.shape, item.dtype);
    if (!size.ok()) return invalid("npz array ", quoted(item.name), ": ", size.error().message);
    if (*size != item.data.size()) {
      return invalid("npz array ", quoted(item.name), ": data are ", item.data.size(),
                     " bytes, dtype and shape require ", *size);
    }
  }
  return {};
}

bool write_all(zipFile zip, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), kMaxAtOnce);
    if (zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(size)) != ZIP_OK) return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

Status write_item(zipFile zip, const NpzItem& item) {
  GANTRY_TRY(const std::vector<std::uint8_t> header, npy_header(item.dtype, item.shape));
  const std::string file_name = concat(item.name, ".npy");
  const bool ascii = std::ranges::all_of(file_name, [](char c) { return (c & 0x80) == 0; });
  zip_fileinfo info{};
  info.dosDate = kFirstDay;
  const int wide = header.size() + item.data.size() >= kSmallMember;
  const bool written =
      zipOpenNewFileInZip4_64(zip, file_name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                              /*method=*/0, /*level=*/0, /*raw=*/0, -MAX_WBITS, DEF_MEM_LEVEL,
                              Z_DEFAULT_STRATEGY, /*password=*/nullptr, /*crcForCrypting=*/0,
                              /*versionMadeBy=*/0, ascii ? 0 : kNamesAreUtf8, wide) == ZIP_OK &&
      write_all(zip, header) && write_all(zip, item.data) && zipCloseFileInZip(zip) == ZIP_OK;
  if (!written) return unavailable("npz member ", quoted(item.name), " cannot be written");
  return {};
}

}  // namespace

Status write_npz(const std::filesystem::path& path, std::span<const NpzItem> items) {
  GANTRY_CHECK(check_items(items));
  GANTRY_TRY(AtomicFile file, AtomicFile::beside(path));
  ZipStream stream{file.stream()};
  zlib_filefunc64_def functions = zip_functions(&stream);
  Zip zip(zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions));
  if (zip == nullptr) return exhausted("npz: no memory for a zip archive");
  for (const NpzItem& item : items) {
    if (Status status = write_item(zip.get(), item); !status.ok()) {
      return std::move(status).failure().at("while writing ", quoted(path.native()));
    }
  }
  if (zipClose(zip.release(), nullptr) != ZIP_OK || stream.failed) {
    return unavailable("npz directory cannot be written")
        .at("while writing ", quoted(path.native()));
  }
  return file.commit();
}

}  // namespace gantry
