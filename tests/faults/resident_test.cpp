// SPDX-License-Identifier: Apache-2.0
//
// The memory of programs that copy parameters from file to file: it does not grow with them.
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gantry/concat.hpp>

#include <gtest/gtest.h>

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// An array of zeros, float32[array_side, array_side]: larger than the memory that the program and
// the compiler may have.
constexpr std::uint64_t array_side = 5120;
constexpr std::uint64_t array_bytes = array_side * array_side * 4;
constexpr std::uint64_t npy_bytes = 128 + array_bytes;
constexpr long max_resident_kib = 64 * 1024;

std::string npy_header() {
  std::string header = concat("{'descr': '<f4', 'fortran_order': False, 'shape': (", array_side,
                              ", ", array_side, "), }");
  header.resize(128 - 10 - 1, ' ');
  return concat(std::string_view("\x93NUMPY\1\0\x76\0", 10), header, "\n");
}

// A file of holes.
void write_npy(const fs::path& path) {
  test::write_file(path, npy_header());
  fs::resize_file(path, npy_bytes);
}

std::uint32_t npy_checksum() {
  const std::string header = npy_header();
  const std::vector<Bytef> zeros(1 << 20);
  auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
  for (std::uint64_t left = array_bytes; left != 0;) {
    const std::uint64_t step = std::min<std::uint64_t>(left, zeros.size());
    sum = crc32_z(sum, zeros.data(), step);
    left -= step;
  }
  return static_cast<std::uint32_t>(sum);
}

// The .npy file as blocks of deflate that are not compressed, so that they are as large.
//
// source   RFC 1951, 3.2.4
void write_blocks(std::ofstream& out) {
  constexpr std::uint64_t max_block = 65535;
  std::string content = npy_header();
  for (std::uint64_t left = npy_bytes; left != 0;) {
    const std::uint64_t size = std::min(left, max_block);
    left -= size;
    content.resize(size);
    const auto length = static_cast<std::uint16_t>(size);
    test::Words head;
    head.u8(left == 0 ? 1 : 0).u16(length).u16(static_cast<std::uint16_t>(~length));
    out.write(reinterpret_cast<const char*>(head.bytes().data()),
              static_cast<std::streamsize>(head.size()));
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    content.clear();
  }
}

// An archive of one member, w.npy.
//
// method   [in]   0: stored, a hole; 8: deflated
void write_npz(const fs::path& path, std::uint16_t method) {
  constexpr std::uint64_t block_count = (npy_bytes + 65534) / 65535;
  const std::uint64_t packed = method == 0 ? npy_bytes : npy_bytes + 5 * block_count;
  const std::uint32_t checksum = npy_checksum();
  const auto fields = [&](test::Words& out) {
    out.u16(20).u16(0).u16(method).u32(0x00210000).u32(checksum);
    out.u32(static_cast<std::uint32_t>(packed)).u32(static_cast<std::uint32_t>(npy_bytes));
    out.u16(5).u16(0);
  };
  test::Words local, end;
  local.u32(0x04034b50);
  fields(local);
  local.text("w.npy");
  end.u32(0x02014b50).u16(20);
  fields(end);
  end.u16(0).u16(0).u16(0).u32(0).u32(0).text("w.npy");
  const auto directory_bytes = static_cast<std::uint32_t>(end.size());
  end.u32(0x06054b50).u16(0).u16(0).u16(1).u16(1).u32(directory_bytes);
  end.u32(static_cast<std::uint32_t>(local.size() + packed)).u16(0);

  std::ofstream out(path, std::ios::binary);
  const auto write = [&](std::span<const std::uint8_t> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  };
  write(local.bytes());
  if (method == 0) {
    const std::string header = npy_header();
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    out.seekp(static_cast<std::streamoff>(local.size() + packed));
  } else {
    write_blocks(out);
  }
  write(end.bytes());
}

struct Ended {
  int status = -1;
  // of the program and of all programs that it waits for
  long max_resident_kib = 0;
};

Ended run_command(const std::vector<std::string>& arguments) {
  const std::string program = (test::build_tree() / "bin/gantry").string();
  std::vector<const char*> words = {program.c_str()};
  for (const std::string& word : arguments) words.push_back(word.c_str());
  words.push_back(nullptr);
  Ended ended;
  ::pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr,
                          const_cast<char* const*>(words.data()), ::environ),
            0);
  ::rusage used{};
  EXPECT_EQ(::wait4(child, &ended.status, 0, &used), child);
  ended.max_resident_kib = used.ru_maxrss;
  return ended;
}

// A recipe whose only parameter is in one file.
class ResidentMemory : public ::testing::Test {
 protected:
  // source   [in]   of the parameter: "w.npy"
  void pack(std::string_view source) {
    test::write_file(directory_ / "f.c", "int f(void) { return 0; }\n");
    test::write_file(directory_ / "r.yaml",
                     concat("schema: \"1.0\"\nsources: [f.c]\ngraph:\n  operators:\n    - "
                            "{function: f, inputs: [w], outputs: {out: \"float32[1]\"}}\n  "
                            "outputs: [out]\nparameters:\n  w: {file: ",
                            source, "}\n"));
    run_to("out.so", {"pack", directory_ / "r.yaml"});
  }

  // Runs a command that copies the parameter to a file.
  void run_to(const char* output, std::vector<std::string> words) {
    const fs::path path = directory_ / output;
    words.insert(words.end(), {"-o", path});

    const Ended ended = run_command(words);

    EXPECT_EQ(ended.status, 0);
    EXPECT_GT(fs::file_size(path), array_bytes);
    EXPECT_LT(ended.max_resident_kib, max_resident_kib) << words.front();
  }

  const test::TempDir directory_;
};

TEST_F(ResidentMemory, OfCopiesDoesNotGrowWithTheParameters) {
  write_npy(directory_ / "w.npy");
  pack("w.npy");

  run_to("again.so", {"repack", directory_ / "out.so"});
  fs::remove(directory_ / "again.so");
  run_to("out.tar", {"mlf", "export", directory_ / "out.so"});
  run_to("again.tar", {"mlf", "export", directory_ / "out.tar"});
}

TEST_F(ResidentMemory, OfPackDoesNotGrowWithStoredMembers) {
  write_npz(directory_ / "w.npz", 0);

  pack("w.npz, member: w");
}

TEST_F(ResidentMemory, OfPackDoesNotGrowWithDeflatedMembers) {
  write_npz(directory_ / "w.npz", 8);

  pack("w.npz, member: w");
}

}  // namespace
}  // namespace gantry
