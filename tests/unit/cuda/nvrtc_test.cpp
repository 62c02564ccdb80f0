// SPDX-License-Identifier: Apache-2.0
//
// NVRTC: the protocol of its library, its errors, and the code that it makes. Tests with NVIDIA's
// library run where it is installed; see plugins/cuda/README.md.
#include "plugins/cuda/nvrtc.hpp"
#include "core/base/digest/digest.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "plugins/cuda/payload.hpp"
#include "tests/support/files.hpp"
#include "tests/support/page.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/unit/cuda/fake_nvrtc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace gantry::cuda::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NvrtcTest : public ::testing::Test {
 protected:
  NvrtcTest() { fake.reset(); }
  ~NvrtcTest() override { EXPECT_EQ(fake.programs, 0); }
  static std::unique_ptr<Nvrtc> open() { return Nvrtc::open(GANTRY_FAKE_NVRTC).value(); }

  FakeNvrtc& fake = fake_nvrtc();
};

TEST_F(NvrtcTest, PassesSourceStandInsDirectoriesAndOptions) {
  const auto nvrtc = open();

  const Result<std::string> ptx = nvrtc->compile({.source = "__global__ void k() {}",
                                                  .name = "dense.cu",
                                                  .architecture = "compute_80",
                                                  .include = {"/a b", "/c"},
                                                  .options = {"-G"}});

  ASSERT_TRUE(ptx.ok()) << ptx.error().message;
  EXPECT_EQ(*ptx, ".version 8.4\n.target sm_80\n.visible .entry k() { ret; }\n");
  ASSERT_EQ(fake.compilations.size(), 1u);
  const FakeCompilation& what = fake.compilations[0];
  EXPECT_EQ(what.source, "__global__ void k() {}");
  EXPECT_EQ(what.name, "dense.cu");
  EXPECT_THAT(what.options,
              ElementsAre("--gpu-architecture=compute_80", "--std=c++17", "--disable-warnings",
                          "--include-path=/a b", "--include-path=/c", "-G"));
  EXPECT_THAT(what.headers, ElementsAre("cuda/std/cstdint", "cuda/std/type_traits"));
  EXPECT_EQ(nvrtc->version(), "12.9");
  EXPECT_EQ(nvrtc->directory(),
            std::filesystem::canonical(GANTRY_FAKE_NVRTC).parent_path().string());
}

TEST_F(NvrtcTest, MakesMachineCodeForAnArchitectureThatItSupports) {
  const Result<std::string> code = open()->compile({.source = "k", .architecture = "sm_90"});

  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(read_image(ByteReader::of_text(*code))->text(), "cubin for sm_90");
}

TEST_F(NvrtcTest, ChoosesTheNearestEarlierArchitecture) {
  const auto nvrtc = open();

  EXPECT_EQ(nvrtc->architecture_for({7, 5}).value(), "sm_75");
  EXPECT_EQ(nvrtc->architecture_for({8, 6}).value(), "compute_80");
  EXPECT_EQ(nvrtc->architecture_for({12, 0}).value(), "compute_90");
  const auto earlier = nvrtc->architecture_for({7, 0});
  ASSERT_FALSE(earlier.ok());
  EXPECT_EQ(earlier.error().code, Code::unsupported);
  EXPECT_EQ(earlier.error().reason, "BLOB_ARCH");
  EXPECT_EQ(earlier.error().message,
            "NVRTC 12.9 compiles for sm_75 and later, the device is sm_70; install NVRTC of an "
            "earlier CUDA version");
}

TEST_F(NvrtcTest, ReportsTheLogWithFileAndLine) {
  fake.failing = {"nvrtcCompileProgram"};
  fake.fail_result = 6;
  fake.log = "dense.cu(3): error: identifier \"y\" is undefined\n\n1 error detected\n";

  const auto code = open()->compile({.source = "k", .architecture = "sm_75"});

  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code, Code::unsupported);
  EXPECT_EQ(code.error().reason, "KERNEL_BUILD");
  EXPECT_EQ(code.error().native_code, 6);
  EXPECT_EQ(code.error().message,
            "CUDA C++ source does not compile with NVRTC 12.9 for sm_75\n"
            "  dense.cu(3): error: identifier \"y\" is undefined\n"
            "  1 error detected");
}

TEST_F(NvrtcTest, CutsALongLog) {
  fake.failing = {"nvrtcCompileProgram"};
  fake.fail_result = 6;
  fake.log = std::string(1400, 'x') + "the rest";

  const auto code = open()->compile({.source = "k", .architecture = "sm_75"});

  ASSERT_FALSE(code.ok());
  EXPECT_THAT(code.error().message.text(), ::testing::EndsWith("xxx\n  (the log has 1408 bytes)"));
}

struct MissingHeader {
  std::string log;
  std::vector<std::string> include;
  std::string message;
};
TEST_F(NvrtcTest, NamesAMissingHeaderAndItsPackage) {
  fake.failing = {"nvrtcCompileProgram"};
  fake.fail_result = 6;
  for (const MissingHeader& missing : {
           MissingHeader{
               "k.cu(1): catastrophic error: could not open source file \"cuda_fp16.h\" (no "
               "directories in search list)\n",
               {},
               "CUDA C++ source includes \"cuda_fp16.h\", which is not in any directory, because "
               "none is searched; install the CUDA runtime's headers (Python package "
               "nvidia-cuda-runtime-cu12, Debian's nvidia-cuda-dev) and set option include of "
               "gantry.cuda to the directory"},
           MissingHeader{
               "k.cu(1): catastrophic error: cannot open source file \"cuda/std/limits\"\n",
               {"/a", "/b"},
               "CUDA C++ source includes \"cuda/std/limits\", which is not in /a, /b; install "
               "NVIDIA's CCCL (Python package nvidia-cuda-cccl-cu12, Debian's libcub-dev) and set "
               "option include of gantry.cuda to the directory"},
       }) {
    fake.log = missing.log;

    const auto code =
        open()->compile({.source = "k", .architecture = "sm_75", .include = missing.include});

    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().code, Code::unavailable);
    EXPECT_EQ(code.error().reason, "HEADER_MISSING");
    EXPECT_EQ(code.error().message, missing.message);
  }
}

TEST(MissingHeaderOfALog, IsTheNameInQuotes) {
  EXPECT_EQ(missing_header("cannot open source file \"a.h\"\n"), "a.h");
  EXPECT_EQ(missing_header("cannot open source file \"a.h"), "");
  EXPECT_EQ(missing_header("cannot open source file \"a\nb\""), "");
  EXPECT_EQ(missing_header("error: x"), "");
  EXPECT_EQ(missing_header(""), "");
}

TEST_F(NvrtcTest, ReportsTheFunctionThatFails) {
  struct Fault {
    std::string function, architecture;
  };
  for (const Fault& fault :
       {Fault{"nvrtcCreateProgram", "sm_75"}, Fault{"nvrtcCompileProgram", "sm_75"},
        Fault{"nvrtcGetCUBINSize", "sm_75"}, Fault{"nvrtcGetCUBIN", "sm_75"},
        Fault{"nvrtcGetPTXSize", "compute_75"}, Fault{"nvrtcGetPTX", "compute_75"}}) {
    fake.reset();
    const auto nvrtc = open();
    fake.failing = {fault.function};
    fake.fail_result = 1;
    const std::string name = fault.function.ends_with("Size")
                                 ? fault.function.substr(0, fault.function.size() - 4)
                                 : fault.function;

    const auto code = nvrtc->compile({.source = "k", .architecture = fault.architecture});

    ASSERT_FALSE(code.ok()) << fault.function;
    EXPECT_EQ(code.error().code, Code::exhausted);
    EXPECT_EQ(code.error().reason, "DRIVER_CALL");
    EXPECT_THAT(code.error().message.text(),
                ::testing::StartsWith(name + ": NVRTC_ERROR_OUT_OF_MEMORY (1)"));
    EXPECT_EQ(fake.programs, 0) << fault.function;
  }
}

TEST_F(NvrtcTest, ReportsALogThatCannotBeRead) {
  const auto nvrtc = open();
  for (const std::string function : {"nvrtcGetProgramLogSize", "nvrtcGetProgramLog"}) {
    fake.failing = {"nvrtcCompileProgram", function};
    fake.fail_result = 6;

    const auto code = nvrtc->compile({.source = "k", .architecture = "sm_75"});

    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().message, "nvrtcGetProgramLog: NVRTC_ERROR_OF_THE_FAKE (6)");
  }
}

TEST_F(NvrtcTest, ReportsAnOptionThatItRejects) {
  const auto nvrtc = open();
  fake.failing = {"nvrtcCompileProgram"};
  fake.fail_result = 5;
  fake.log = "nvrtc: error: invalid value for -G\n";

  const auto code = nvrtc->compile({.source = "k", .architecture = "sm_75", .options = {"-G=2"}});

  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code, Code::unavailable);
  EXPECT_EQ(code.error().message,
            "nvrtcCompileProgram: NVRTC_ERROR_INVALID_OPTION (5)\n"
            "  nvrtc: error: invalid value for -G\n"
            "  options: --gpu-architecture=sm_75 --std=c++17 --disable-warnings -G=2");
}

TEST_F(NvrtcTest, ReportsTheFunctionThatFailsWhileItIsOpened) {
  for (const std::string function :
       {"nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"}) {
    fake.failing = {function};

    const auto nvrtc = Nvrtc::open(GANTRY_FAKE_NVRTC);

    ASSERT_FALSE(nvrtc.ok());
    EXPECT_EQ(
        nvrtc.error().message,
        concat(function, ": NVRTC_ERROR_OF_THE_FAKE (3)\n  while starting ", GANTRY_FAKE_NVRTC));
  }
}

TEST(NvrtcLibrary, ThatIsMissingIsReportedWithWhatToInstall) {
  const auto nvrtc = Nvrtc::open("/nowhere/libnvrtc.so.12");

  ASSERT_FALSE(nvrtc.ok());
  EXPECT_EQ(nvrtc.error().code, Code::unavailable);
  EXPECT_EQ(nvrtc.error().reason, "CUDA_SOURCE");
  EXPECT_THAT(
      nvrtc.error().message.text(),
      ::testing::StartsWith("NVRTC, which compiles CUDA C++ source, is missing, tried 1 name"
                            "\n    /nowhere/libnvrtc.so.12: cannot open shared object file"));
  EXPECT_THAT(nvrtc.error().message.text(),
              HasSubstr("\n  option nvrtc of gantry.cuda names this file"));
}

TEST(NvrtcLibrary, WithoutItsFunctionsIsRefused) {
  const auto nvrtc = Nvrtc::open("libm.so.6");

  ASSERT_FALSE(nvrtc.ok());
  EXPECT_EQ(nvrtc.error().reason, "DRIVER_SYMBOL");
  EXPECT_THAT(nvrtc.error().message.text(), HasSubstr("lacks 13 of 13 functions: nvrtcVersion, "));
}

// NVIDIA's library, if it is installed.
class InstalledNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Nvrtc>> opened = Nvrtc::open("");
    if (!opened.ok() && std::filesystem::exists(GANTRY_FETCHED_NVRTC)) {
      opened = Nvrtc::open(GANTRY_FETCHED_NVRTC);
    }
    if (!opened.ok()) {
      GTEST_SKIP() << opened.error().message << "\n  tools/dev/fetch-nvrtc downloads it (90 MB)";
    }
    nvrtc = std::move(*opened);
  }

  std::unique_ptr<Nvrtc> nvrtc;
};

// The source that TVM's exporter writes on a host without a GPU.
TEST_F(InstalledNvrtc, CompilesTheSourceOfAnArtifactWithoutHeadersOrAGpu) {
  const auto mapped = MappedFile::open(gantry::test::golden("relax/cnn_cuda_source.so"));
  const auto file = ElfFile::parse(*mapped);
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto container = read_container(*file, layouts);
  std::size_t payloads = 0;
  for (const gantry::Entry& entry : container->entries) {
    if (entry.type_key != "cuda") continue;
    ++payloads;
    const Result<Payload> payload =
        gantry::test::read_whole(gantry::test::payload_blob(entry.payload, 5), read_payload);
    ASSERT_TRUE(payload.ok()) << payload.error().message;

    const Result<std::string> ptx =
        nvrtc->compile({.source = payload->source, .architecture = "compute_75"});

    ASSERT_TRUE(ptx.ok()) << ptx.error().message;
    const Result<Image> image = read_image(ByteReader::of_text(*ptx));
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_THAT(image->text(), ::testing::EndsWith(" for sm_75"));
    for (const KernelCall& call : payload->calls) {
      EXPECT_THAT(*ptx, HasSubstr(concat(".entry ", call.name(), "(")));
    }
    EXPECT_EQ(payload->calls.size(), 7u);
  }
  EXPECT_EQ(payloads, 1u);
}

// tools/dev/make-sort-ptx writes the file again after a change of the source.
TEST(SortKernels, HaveThePtxOfTheirSource) {
  const std::vector<std::uint8_t> source =
      gantry::test::read_file(gantry::test::golden("../../../plugins/cuda/kernels/sort_scan.cu"));
  const std::string ptx = gantry::test::read_page("plugins/cuda/kernels/sort_scan.ptx");

  EXPECT_EQ(ptx.substr(0, ptx.find('\n')),
            concat("// sort_scan.cu, sha256 ", gantry::hex_text(gantry::sha256(source))));
  const Result<Image> image = read_image(ByteReader::of_text(ptx));
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->text(), "PTX 7.8 for sm_75");
}

TEST_F(InstalledNvrtc, CompilesTheKernelsThatSort) {
  const std::string source = gantry::test::read_page("plugins/cuda/kernels/sort_scan.cu");
  const std::string kept = gantry::test::read_page("plugins/cuda/kernels/sort_scan.ptx");

  const Result<std::string> ptx = nvrtc->compile({.source = source, .architecture = "compute_75"});

  ASSERT_TRUE(ptx.ok()) << ptx.error().message;
  std::size_t kernels = 0;
  for (std::size_t at = kept.find(".entry "); at != kept.npos; at = kept.find(".entry ", at + 1)) {
    EXPECT_THAT(*ptx, HasSubstr(kept.substr(at, kept.find('(', at) + 1 - at)));
    ++kernels;
  }
  EXPECT_EQ(kernels, 30u);
}

TEST_F(InstalledNvrtc, ReportsFileLineAndHeader) {
  const auto wrong =
      nvrtc->compile({.source = "\n\nint x = y;\n", .name = "a.cu", .architecture = "compute_75"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message.text(), HasSubstr("\n  a.cu(3): error: "));

  const auto header =
      nvrtc->compile({.source = "#include <no_such.h>\n", .architecture = "compute_75"});
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().reason, "HEADER_MISSING");
  EXPECT_THAT(header.error().message.text(), HasSubstr("includes \"no_such.h\""));
}

TEST_F(InstalledNvrtc, HasTheTraitsOfTheStandInHeaders) {
  constexpr std::string_view source = R"(
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
using namespace cuda::std;
static_assert(sizeof(int8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(int32_t) == 4, "");
static_assert(sizeof(int64_t) == 8 && sizeof(uint64_t) == 8 && sizeof(uintptr_t) == 8, "");
static_assert(is_same_v<int, int> && !is_same_v<int, const int>, "");
static_assert(is_integral_v<const bool> && is_integral_v<long> && !is_integral_v<float>, "");
static_assert(is_signed_v<int> && !is_signed_v<unsigned> && is_signed_v<float>, "");
static_assert(is_unsigned<uint8_t>::value && !is_unsigned<double>::value, "");
static_assert(!is_signed<int*>::value && !is_unsigned<int*>::value, "");
static_assert(is_floating_point<const double>::value && !is_floating_point<int>::value, "");
static_assert(is_same_v<enable_if_t<true, int>, int>, "");
static_assert(is_same_v<conditional_t<false, int, char>, char>, "");
static_assert(is_same_v<remove_reference_t<int&&>, int>, "");
)";

  const auto ptx = nvrtc->compile({.source = source, .architecture = "compute_75"});

  EXPECT_TRUE(ptx.ok()) << ptx.error().message;
}

}  // namespace
}  // namespace gantry::cuda::test
