// SPDX-License-Identifier: Apache-2.0
#include "core/base/file_mark.hpp"

#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gantry {
namespace {

using namespace std::string_literals;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string zip_with(const std::string& member) {
  return "PK\3\4"s + std::string(22, '\0') + static_cast<char>(member.size() % 256) +
         static_cast<char>(member.size() / 256) + "\0\0"s + member;
}

struct Marked {
  std::string name, bytes, what;
};

class FileMarkOf : public ::testing::TestWithParam<Marked> {};

TEST_P(FileMarkOf, TheFirstBytes) {
  const auto mark = find_file_mark(bytes_of(GetParam().bytes));

  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->what, GetParam().what);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, FileMarkOf,
    ::testing::Values(
        Marked{"GitLfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
               "a Git LFS pointer"},
        // of torch.onnx.export and of skl2onnx
        Marked{"Onnx",
               "\x08\x07\x12\x07pytorch\x1a\x05"
               "2.1.0:"s,
               "an ONNX model"},
        Marked{"OnnxWithoutProducer", "\x08\x0a\x3a\xff\x01"s, "an ONNX model"},
        Marked{"OnnxOfTheFirstVersion", "\x08\x03\x12"s, "an ONNX model"},
        Marked{"OnnxOfTheLastVersion", "\x08\x1f\x12"s, "an ONNX model"},
        Marked{"ShortestSafetensors", "\x01\0\0\0\0\0\0\0{"s, "a safetensors file"},
        Marked{"SavedModel", "\x08\x01\x12\xa0\x1f"s, "a TensorFlow SavedModel"},
        Marked{"Gguf", "GGUF\3\0\0\0"s, "a GGUF model"},
        Marked{"TfLite", "\x1c\0\0\0TFL3"s, "a TensorFlow Lite model"},
        Marked{"Hdf5", "\x89HDF\r\n\x1a\n"s, "an HDF5 file, for example a Keras model"},
        Marked{"PyTorchArchive", zip_with("archive/data.pkl"), "a PyTorch file"},
        Marked{"PyTorchArchiveWithALongName",
               zip_with(std::string(300, 'a') + "/data.pkl") + "data", "a PyTorch file"},
        Marked{"PyTorchPickle", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9"s, "a PyTorch file"},
        Marked{"Safetensors", "\x40\0\0\0\0\0\0\0{\"a\":"s, "a safetensors file"},
        Marked{"Npz", zip_with("x.npy"), "an archive of NumPy arrays"},
        Marked{"Npy", "\x93NUMPY\1"s, "a NumPy array"},
        Marked{"Zip", zip_with("x.txt"), "a ZIP archive"},
        Marked{"Gzip", "\x1f\x8b\x08"s, "a gzip file"}, Marked{"Bzip2", "BZh9"s, "a bzip2 file"},
        Marked{"Xz",
               "\xfd"
               "7zXZ\0"s,
               "an xz file"},
        Marked{"Zstd", "\x28\xb5\x2f\xfd"s, "a zstd file"},
        Marked{"Tar", std::string(257, 'x') + "ustar", "a tar archive"},
        Marked{"Ar", "!<arch>\n"s, "an ar archive"},
        Marked{"Windows", "MZ\x90"s, "a Windows program or library"},
        Marked{"MachO", "\xcf\xfa\xed\xfe"s, "a Mach-O file"},
        Marked{"FatMachO", "\xca\xfe\xba\xbe"s, "a Mach-O or Java file"},
        Marked{"Wasm", "\0asm"s, "a WebAssembly file"},
        Marked{"Script", "#!/bin/sh\n"s, "a script"},
        Marked{"TextOfTheFirstAndLastCharacters", " ~\t\r\n"s, "a text file"},
        Marked{"Text", "schema: \"1.0\"\n"s, "a text file"}),
    [](const auto& test) { return test.param.name; });

TEST(FileMark, IsAbsentForOtherBytes) {
  for (const std::string& bytes :
       {""s,
        "\x7f"
        "ELF\2\1"s,
        "\x01\xff"s, "\x08\x02\x12"s, "\x08\x20\x12"s, "\x08\x01\x1a"s, "\x0a\x07\x12"s,
        "\x08\x07"s, "\x40\0\0\0\0\0\0\0"s, std::string(256, '\0'), "a\x1f"s, "a\x7f"s,
        "\x08\x07\x09"s, "\0\0\0\0\0\0\0\0{"s, "\x40\0\0\0\1\0\0\0{"s, "\x40\0\0\0\0\0\0\0["s,
        "PK\5\6"s}) {
    EXPECT_FALSE(find_file_mark(bytes_of(bytes)).has_value()) << bytes;
    EXPECT_EQ(file_mark_text(bytes_of(bytes)), "");
  }
  EXPECT_FALSE(find_file_mark(test::read_file(test::golden("tvm-0.12/axpy2_c.so"))).has_value());
}

TEST(FileMark, HasNoMarkInTruncatedArchives) {
  const std::string zip = zip_with("archive/data.pkl");
  for (std::size_t size = 0; size < zip.size(); ++size) {
    EXPECT_FALSE(is_pytorch_archive(bytes_of(zip.substr(0, size)))) << size;
  }
}

TEST(FileMark, OfAnArchiveRequiresItsFirstBytes) {
  std::string zip = zip_with("archive/data.pkl");
  ASSERT_TRUE(is_pytorch_archive(bytes_of(zip)));
  zip[0] = 'Q';

  EXPECT_FALSE(is_pytorch_archive(bytes_of(zip)));
}

TEST(FileMark, TextIsTheEndOfAnError) {
  EXPECT_EQ(
      file_mark_text(bytes_of("GGUF\3")),
      "; this is a GGUF model; compile it to a shared library, for example with Apache TVM in "
      "Python (tvm.compile, export_library)");
  EXPECT_EQ(file_mark_text(bytes_of("hello")), "; this is a text file");
}

// tvmc is in no release of TVM after 0.18.
TEST(FileMark, OfAnOnnxModelNamesFunctionsOfTodaysTvm) {
  EXPECT_EQ(find_file_mark(bytes_of("\x08\x07\x12"))->advice,
            "compile it to a shared library, for example with Apache TVM in Python "
            "(tvm.relax.frontend.onnx.from_onnx, tvm.compile, export_library)");
}

TEST(FileMark, DistinguishesAFileThatIsCompressedFromAnArchiveOfSeveral) {
  const auto advice = [](const std::string& bytes) {
    return std::string(find_file_mark(bytes_of(bytes))->advice);
  };
  EXPECT_EQ(advice("\xfd"
                   "7zXZ\0"s),
            "decompress it (unxz) and use the file in it");
  EXPECT_EQ(advice("\x28\xb5\x2f\xfd"s), "decompress it (unzstd) and use the file in it");
  EXPECT_EQ(advice(std::string(257, 'x') + "ustar"), "unpack it and use one of the files in it");
  EXPECT_EQ(advice(zip_with("x.txt")), "unpack it and use one of the files in it");
}

}  // namespace
}  // namespace gantry
