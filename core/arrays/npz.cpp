// SPDX-License-Identifier: Apache-2.0
#include "core/arrays/npz.hpp"

#include "core/arrays/zip_stream.hpp"

#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unzip.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <set>
#include <system_error>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view kSuffix = ".npy";
// source: zlib's technical notes
constexpr std::uint64_t kMaxDeflateRatio = 1032;
// of one member: its two headers, end record
constexpr std::uint64_t kMinArchive = 98;
// without a name
constexpr std::uint64_t kMinDirectoryEntry = 46;
constexpr unsigned kStored = 0, kDeflated = 8;
// flags: plain, strong, directory
constexpr unsigned kEncrypted = 1u << 0 | 1u << 6 | 1u << 13;
// minizip counts in 32 bits
constexpr unsigned kMaxAtOnce = 1u << 30;

template <class... Parts>
Failure refuse(const Parts&... parts) {
  return malformed(no_offset, parts...).with_reason("NPZ");
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct CloseZip {
  void operator()(unzFile zip) const { unzClose(zip); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;
using Zip = std::unique_ptr<void, CloseZip>;

// Regular files only: a FIFO would block, a device never end.
Result<File> open_file(const std::filesystem::path& path, std::uint64_t& size) {
  const auto failed = [&](int number) {
    const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::unavailable;
    return fail(code, "cannot read ", quoted(path.native()), ": ",
                std::generic_category().message(number))
        .native("errno", number);
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failed(errno);
  File file(fdopen(descriptor, "rb"));
  if (file == nullptr) {
    const int number = errno;
    close(descriptor);
    return failed(number);
  }
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return failed(errno);
  if (!S_ISREG(info.st_mode)) {
    return malformed(no_offset, quoted(path.native()), " is no regular file").with_reason("NPZ");
  }
  size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

// What the directory says about one member, in terms of the archive's size and the limits.
//
// unpacked [in, out]  bytes of all members up to this one
Status check_member(const unz_file_info64& info, std::string_view file_name,
                    std::uint64_t archive_bytes, std::uint64_t& unpacked, const NpzLimits& limits) {
  const std::string shown = quoted(file_name);
  if ((info.flag & kEncrypted) != 0) {
    return unsupported("npz member ", shown, " is encrypted").with_reason("NPZ");
  }
  if (!file_name.ends_with(kSuffix)) {
    return unsupported("npz member ", shown, " is no .npy file").with_reason("NPZ");
  }
  if (info.compression_method != kStored && info.compression_method != kDeflated) {
    return unsupported("npz member ", shown, ": compression is ", info.compression_method,
                       ", known are 0 (stored) and 8 (deflate)")
        .with_reason("NPZ");
  }
  if (info.compressed_size > archive_bytes) {
    return refuse("npz member ", shown, ": packed size is ", info.compressed_size,
                  ", the archive has ", archive_bytes, " bytes");
  }
  if (info.compression_method == kStored && info.uncompressed_size != info.compressed_size) {
    return refuse("npz member ", shown, " is stored: size is ", info.uncompressed_size,
                  ", packed size is ", info.compressed_size);
  }
  if (info.uncompressed_size / kMaxDeflateRatio > info.compressed_size) {
    return refuse("npz member ", shown, ": size is ", info.uncompressed_size, ", deflate gives ",
                  info.compressed_size, " bytes at most ", kMaxDeflateRatio, " times over");
  }
  if (info.uncompressed_size > limits.bytes - unpacked) {
    return exhausted("npz member ", shown, ": size is ", info.uncompressed_size, ", room for ",
                     limits.bytes - unpacked, " of ", limits.bytes)
        .with_reason("NPZ");
  }
  unpacked += info.uncompressed_size;
  return {};
}

}  // namespace

struct NpzReader::Archive {
  // before zip: closed after it
  File file;
  ZipStream stream;
  Zip zip;
  std::uint64_t bytes = 0;
  std::vector<NpzMember> members;
  // of members, same order
  std::vector<unz64_file_pos> locations;
};

NpzReader::NpzReader(std::unique_ptr<Archive> archive) : archive_(std::move(archive)) {}
NpzReader::NpzReader(NpzReader&&) noexcept = default;
NpzReader& NpzReader::operator=(NpzReader&&) noexcept = default;
NpzReader::~NpzReader() = default;

const std::vector<NpzMember>& NpzReader::members() const { return archive_->members; }

Result<NpzReader> NpzReader::open(const std::filesystem::path& path, const NpzLimits& limits) {
  auto archive = std::make_unique<Archive>();
  GANTRY_TRY(archive->file, open_file(path, archive->bytes));
  Result<NpzReader> reader = from(std::move(archive), limits);
  if (!reader.ok()) return std::move(reader).failure().at("while reading ", quoted(path.native()));
  return reader;
}

Result<NpzReader> NpzReader::over(std::span<const std::uint8_t> bytes, const NpzLimits& limits) {
  auto archive = std::make_unique<Archive>();
  archive->bytes = bytes.size();
  if (!bytes.empty()) {
    // Opened for reading only: the bytes stay as they are.
    archive->file.reset(fmemopen(const_cast<std::uint8_t*>(bytes.data()), bytes.size(), "rb"));
    if (archive->file == nullptr) return exhausted("npz: no memory for a stream");
  }
  return from(std::move(archive), limits);
}

Result<NpzReader> NpzReader::from(std::unique_ptr<Archive> archive, const NpzLimits& limits) {
  if (archive->bytes < kMinArchive) {
    return refuse("npz has ", archive->bytes, " bytes, minimum is ", kMinArchive);
  }
  archive->stream.file = archive->file.get();
  zlib_filefunc64_def functions = zip_functions(&archive->stream);
  archive->zip.reset(unzOpen2_64("", &functions));
  unzFile zip = archive->zip.get();
  unz_global_info64 global{};
  if (zip == nullptr || unzGetGlobalInfo64(zip, &global) != UNZ_OK) {
    return refuse("npz is no zip archive: it has no directory at its end");
  }
  const std::uint64_t room = archive->bytes / kMinDirectoryEntry;
  if (global.number_entry > room) {
    return refuse("npz has ", global.number_entry, " members, room for ", room);
  }
  if (global.number_entry > limits.members) {
    return exhausted("npz has ", global.number_entry, " members, maximum is ", limits.members)
        .with_reason("NPZ");
  }

  std::set<std::string> names;
  std::uint64_t unpacked = 0;
  for (std::uint64_t i = 0; i < global.number_entry; ++i) {
    unz_file_info64 info{};
    unz64_file_pos location{};
    if ((i == 0 ? unzGoToFirstFile(zip) : unzGoToNextFile(zip)) != UNZ_OK ||
        unzGetFilePos64(zip, &location) != UNZ_OK ||
        unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) {
      return refuse("npz member ", i, ": the directory is broken, it has ", global.number_entry,
                    " members");
    }
    std::string name(info.size_filename, '\0');
    if (unzGetCurrentFileInfo64(zip, &info, name.data(), info.size_filename, nullptr, 0, nullptr,
                                0) != UNZ_OK) {
      return refuse("npz member ", i, ": the name is cut short");
    }
    GANTRY_CHECK(check_member(info, name, archive->bytes, unpacked, limits));
    name.resize(name.size() - kSuffix.size());
    if (!names.insert(name).second) return refuse("npz member ", quoted(name), " is there twice");
    archive->members.push_back({std::move(name), info.compressed_size, info.uncompressed_size});
    archive->locations.push_back(location);
  }
  return NpzReader(std::move(archive));
}

// One member on its way out, front to back.
class NpzReader::Unpacking {
 public:
  Unpacking(const Archive& archive, const NpzMember& member)
      : zip_(archive.zip.get()),
        member_(member),
        location_(archive.locations[static_cast<std::size_t>(&member - archive.members.data())]) {}
  ~Unpacking() {
    if (open_) unzCloseCurrentFile(zip_);
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;

  Status begin() {
    if (unzGoToFilePos64(zip_, &location_) != UNZ_OK || unzOpenCurrentFile(zip_) != UNZ_OK) {
      return broken("its local header does not agree with the directory");
    }
    open_ = true;
    return {};
  }
  // The next to.size() bytes.
  Status take(std::span<std::uint8_t> to) {
    while (!to.empty()) {
      const auto max = static_cast<unsigned>(std::min<std::uint64_t>(to.size(), kMaxAtOnce));
      const int read = unzReadCurrentFile(zip_, to.data(), max);
      if (read <= 0) {
        return broken(concat("packed data end after ", done_, " bytes, size is ", member_.bytes));
      }
      done_ += static_cast<std::uint64_t>(read);
      to = to.subspan(static_cast<std::size_t>(read));
    }
    return {};
  }
  // Precondition: all is taken. Checks the sum.
  Status end() {
    open_ = false;
    if (unzCloseCurrentFile(zip_) != UNZ_OK) return broken("check sum of the data is wrong");
    return {};
  }

 private:
  Failure broken(std::string_view what) const {
    return refuse("npz member ", quoted(member_.name), ": ", what);
  }

  unzFile zip_;
  const NpzMember& member_;
  unz64_file_pos location_;
  std::uint64_t done_ = 0;
  bool open_ = false;
};

Result<const NpzMember*> NpzReader::find(std::string_view name) const {
  const std::vector<NpzMember>& members = archive_->members;
  const auto member = std::ranges::find(members, name, &NpzMember::name);
  if (member != members.end()) return &*member;
  std::string there;
  for (const NpzMember& one : members) {
    there.append(there.empty() ? "" : ", ").append(quoted(one.name));
  }
  return not_found("npz has no member ", quoted(name),
                   "; members: ", there.empty() ? "none" : there);
}

Result<NpyHeader> NpzReader::header(std::string_view name) {
  GANTRY_TRY(const NpzMember* member, find(name));
  // Nearly all headers fit into the first piece.
  for (std::uint64_t front = 256;; front = max_npy_front) {
    std::vector<std::uint8_t> bytes(std::min(front, member->bytes));
    Unpacking unpacking(*archive_, *member);
    GANTRY_CHECK(unpacking.begin());
    GANTRY_CHECK(unpacking.take(bytes));
    Result<NpyHeader> header = read_npy_header(bytes);
    if (!header.ok()) {
      if (bytes.size() < std::min(max_npy_front, member->bytes)) continue;
      return std::move(header).failure().at("while reading npz member ", quoted(name));
    }
    if (header->data_bytes != member->bytes - header->data_at) {
      return refuse("npz member ", quoted(name), ": data are ", member->bytes - header->data_at,
                    " bytes, dtype and shape say ", header->data_bytes);
    }
    return header;
  }
}

Status NpzReader::read_data(std::string_view name, const NpyHeader& header,
                            std::span<std::uint8_t> to) {
  GANTRY_TRY(const NpzMember* member, find(name));
  if (header.data_at > member->bytes || to.size() != member->bytes - header.data_at) {
    return invalid("npz member ", quoted(name), " is ", member->bytes, " bytes, room is for ",
                   header.data_at, " and ", to.size());
  }
  std::vector<std::uint8_t> front(header.data_at);
  Unpacking unpacking(*archive_, *member);
  GANTRY_CHECK(unpacking.begin());
  GANTRY_CHECK(unpacking.take(front));
  GANTRY_CHECK(unpacking.take(to));
  return unpacking.end();
}

Result<NpzArray> NpzReader::read(std::string_view name) {
  GANTRY_TRY(const NpzMember* member, find(name));
  NpzArray out;
  out.name = name;
  out.storage.reset(new (std::nothrow) std::uint8_t[member->bytes]);
  if (out.storage == nullptr) {
    return exhausted("npz member ", quoted(name), ": no memory for ", member->bytes, " bytes");
  }
  const std::span<std::uint8_t> whole(out.storage.get(), member->bytes);
  Unpacking unpacking(*archive_, *member);
  GANTRY_CHECK(unpacking.begin());
  GANTRY_CHECK(unpacking.take(whole));
  GANTRY_CHECK(unpacking.end());

  Result<NpyArray> array = read_npy(whole);
  if (!array.ok()) return std::move(array).failure().at("while reading npz member ", quoted(name));
  out.array = std::move(array).value();
  return out;
}

}  // namespace gantry
