// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda_libraries/find_library.hpp"
#include "plugins/cuda_libraries/function.hpp"
#include "tests/support/globals_of.hpp"

#include <gmock/gmock.h>

namespace gantry::cuda_libraries::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* sonames[] = {"libgantry_none.so.13", "libgantry_none.so.12"};
constexpr LibraryNames names{"cuNONE", sonames, "none", "none", "nvidia-none-cu12", "libnone12"};

TEST(CudaLibraryNames, AreThoseOfTheLinkerTheToolkitAndPythonsPackages) {
  const std::vector<std::string> directories{"/venv/lib/python3.11/site-packages"};

  EXPECT_THAT(
      candidates_of(names, directories),
      ElementsAre("libgantry_none.so.13", "libgantry_none.so.12",
                  "/usr/local/cuda/lib64/libgantry_none.so.13",
                  "/usr/local/cuda/lib64/libgantry_none.so.12",
                  "/venv/lib/python3.11/site-packages/nvidia/none/lib/libgantry_none.so.13",
                  "/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libgantry_none.so.13",
                  "/venv/lib/python3.11/site-packages/nvidia/none/lib/libgantry_none.so.12"));
}

TEST(CudaLibraryNames, AreListedWithTheReasonOfEach) {
  LibraryNames other = names;
  other.product = "NVIDIA's archive";

  const auto library = open_library(names, "");

  ASSERT_FALSE(library.ok());
  const std::string text(library.error().message.text());
  EXPECT_EQ(library.error().reason, "DRIVER_MISSING");
  EXPECT_THAT(text, HasSubstr("cuNONE is missing, tried 4 names"));
  EXPECT_THAT(text, HasSubstr("    libgantry_none.so.12: "));
  EXPECT_THAT(text, HasSubstr("it comes with the CUDA Toolkit, with the Python package "
                              "nvidia-none-cu12 and with Debian's libnone12; the plugin's "
                              "option none names a file in another directory"));
  EXPECT_THAT(std::string(open_library(other, "").error().message.text()),
              HasSubstr("it comes with NVIDIA's archive, with the Python package"));
}

// `gantry inspect` and `gantry plugins doctor` know from it which functions a host has.
TEST(CudaLibrariesManifest, ListsTheFunctionsOfThePlugin) {
  std::vector<std::string> functions;
  for (const auto rows : function_tables()) {
    for (const FunctionRow& row : rows) functions.emplace_back(row.name);
  }

  EXPECT_THAT(gantry::test::globals_of("plugins/cuda_libraries/cuda_libraries.yaml.in"),
              ::testing::UnorderedElementsAreArray(functions));
}

}  // namespace
}  // namespace gantry::cuda_libraries::test
