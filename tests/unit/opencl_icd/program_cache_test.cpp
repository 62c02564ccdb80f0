// SPDX-License-Identifier: Apache-2.0
//
// The key of a cached program and the time at which it is stored, with the fake drivers.
#include "tests/support/cached_file.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/opencl_icd/fake_drivers.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry::opencl::test {
namespace {

using ::testing::SizeIs;
using ::testing::StartsWith;

// A program in the form of the words, with these words.
std::vector<std::uint8_t> spirv_payload(const std::vector<std::uint32_t>& code = words) {
  return spirv_bytes({fill}, {{"fill", code}});
}
// Source with the bytes of the words.
std::vector<std::uint8_t> source_payload() {
  return payload_bytes("cl", {fill},
                       {reinterpret_cast<const char*>(words.data()), 4 * words.size()});
}

class ProgramCache : public FakeDrivers {
 protected:
  void SetUp() override {
    host.options["cache_directory"] = directory_.path().string();
    FakeDrivers::SetUp();
  }

  // Loads a module and enqueues a launch of its kernel. The module lives until finish().
  void launch(const std::vector<std::uint8_t>& payload, void* stream = nullptr) {
    payload_ = payload;
    const gantry_blob blob = gantry::test::payload_blob(payload_);
    std::uint64_t consumed = 0;
    ASSERT_EQ(loader_.load_binary(self, &blob, host.node(), &module_, &consumed, nullptr),
              GANTRY_OK);
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = 16;
    ASSERT_EQ(device_.alloc(self, opencl_2_1, &what, &data_, nullptr), GANTRY_OK);
    call(stream);
  }
  void call(void* stream = nullptr) {
    gantry_value args[4] = {{}, float_value(3), int_value(1), int_value(4)};
    args[0].kind = GANTRY_POINTER;
    args[0].p = data_;
    gantry_function function{};
    ASSERT_EQ(module_.table->get_function(module_.self, gantry_text("fill"), &function, nullptr),
              GANTRY_OK);
    const gantry_env env{{device_type, opencl_2_1}, stream, nullptr, nullptr};
    gantry_value result{};
    ASSERT_EQ(function.table->call(function.self, &env, args, 4, &result, nullptr), GANTRY_OK);
  }
  void finish() {
    device_.free(self, opencl_2_1, data_);
    module_.table->destroy(module_.self);
    stop();
  }
  // Runs the program in a new process, and returns the function that created it.
  std::string created_by(const std::vector<std::uint8_t>& payload) {
    start();
    launch(payload);
    finish();
    return icd->drivers[0].created_by;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    const std::filesystem::path directory = directory_ / "opencl";
    if (!std::filesystem::exists(directory)) return found;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      found.push_back(entry.path());
    return found;
  }

 private:
  gantry::test::TempDir directory_;
  std::vector<std::uint8_t> payload_;
  gantry_module module_{};
  void* data_ = nullptr;
};

TEST_F(ProgramCache, IsUsedByTheSameDriver) {
  EXPECT_EQ(created_by(spirv_payload()), "clCreateProgramWithIL");

  EXPECT_EQ(created_by(spirv_payload()), "clCreateProgramWithBinary");
}

TEST_F(ProgramCache, DistinguishesDriversAndDevices) {
  struct Change {
    const char* what;
    std::string FakeDriver::*field;
    const char* value;
  };
  for (const Change& change :
       {Change{"platform", &FakeDriver::name, "other"},
        Change{"platform version", &FakeDriver::version, "OpenCL 2.1 other"},
        Change{"device", &FakeDriver::device_name, "other device"},
        Change{"device version", &FakeDriver::device_version, "OpenCL 2.1 other"},
        Change{"driver version", &FakeDriver::driver_version, "2"}}) {
    icd->reset();
    created_by(spirv_payload());
    icd->drivers[0].*change.field = change.value;

    EXPECT_EQ(created_by(spirv_payload()), "clCreateProgramWithIL") << "another " << change.what;
  }
}

TEST_F(ProgramCache, DistinguishesPrograms) {
  std::vector<std::uint32_t> others = words;
  others.back() = 1;
  created_by(spirv_payload());

  EXPECT_EQ(created_by(spirv_payload(others)), "clCreateProgramWithIL");
  EXPECT_EQ(created_by(source_payload()), "clCreateProgramWithSource") << "the same bytes";
}

TEST_F(ProgramCache, HasAVersionInItsKeys) {
  created_by(spirv_payload());
  ASSERT_THAT(files(), SizeIs(1));

  EXPECT_THAT(gantry::test::read_cached_file(files()[0]).key,
              StartsWith(DiskCache::key({"opencl program 1"})));
}

// Some drivers finish compiling at the first launch.
TEST_F(ProgramCache, StoresAProgramAfterItsFirstLaunch) {
  void* other = nullptr;
  ASSERT_EQ(device_.stream_create(self, opencl_2_1, 0, &other, nullptr), GANTRY_OK);
  launch(spirv_payload(), other);

  ASSERT_EQ(device_.synchronize(self, opencl_2_1, nullptr, nullptr), GANTRY_OK);
  EXPECT_THAT(files(), SizeIs(0)) << "it runs in another stream";
  ASSERT_EQ(device_.synchronize(self, opencl_2_1, other, nullptr), GANTRY_OK);
  EXPECT_THAT(files(), SizeIs(1));

  device_.stream_destroy(self, opencl_2_1, other);
  finish();
}

TEST_F(ProgramCache, StoresAProgramOnce) {
  launch(spirv_payload());
  ASSERT_EQ(device_.synchronize(self, opencl_2_1, nullptr, nullptr), GANTRY_OK);
  ASSERT_THAT(files(), SizeIs(1));
  std::filesystem::remove(files()[0]);

  call();
  ASSERT_EQ(device_.synchronize(self, opencl_2_1, nullptr, nullptr), GANTRY_OK);

  EXPECT_THAT(files(), SizeIs(0));
  finish();
}

TEST_F(ProgramCache, WaitsForTheFirstLaunchAtTheEnd) {
  launch(spirv_payload());

  finish();

  EXPECT_THAT(files(), SizeIs(1));
}

}  // namespace
}  // namespace gantry::opencl::test
