// SPDX-License-Identifier: Apache-2.0
//
// The plugin's code generator, with the installed driver.
#include "world.hpp"

#include <gantry/generator.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::opencl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

using Bytes = std::vector<std::uint8_t>;

class OpenclGenerator : public OpenclTest {
 protected:
  // The kernels axpy and fill, each in a file of its own.
  struct Job {
    std::string target = "{}";
    std::uint32_t flags = 0;
    std::string first = std::string(axpy_body), second = std::string(fill_body);
    std::string language = "opencl";
    std::vector<KernelRecord> kernels = {axpy, fill};
  };
  Result<Bytes> build(const Job& job) {
    const gantry_source sources[] = {
        {gantry_text("axpy.cl"), gantry::bytes_of(job.language), gantry::bytes_of(job.first)},
        {gantry_text("fill.cl"), gantry_text("opencl"), gantry::bytes_of(job.second)}};
    std::vector<std::vector<gantry_bytes>> tags;
    std::vector<gantry_kernel_record> records;
    for (const KernelRecord& kernel : job.kernels) {
      tags.emplace_back();
      for (const std::string& tag : kernel.tags) tags.back().push_back(gantry::bytes_of(tag));
      records.push_back({gantry::bytes_of(kernel.name), records.size(), kernel.parameters.data(),
                         kernel.parameters.size(), tags.back().data(), tags.back().size()});
    }
    gantry_build what = without_sources(job);
    what.sources = sources;
    what.source_count = job.kernels.empty() ? 0 : std::size(sources);
    what.kernels = records.data();
    what.kernel_count = records.size();
    what.argument_tags = GANTRY_ARGUMENT_TAGS_NO;
    Bytes written;
    gantry_sink sink{};
    sink.struct_size = sizeof sink;
    sink.self = &written;
    sink.write = [](void* self, const void* data, std::uint64_t size,
                    gantry_status*) -> gantry_code {
      const auto* from = static_cast<const std::uint8_t*>(data);
      static_cast<Bytes*>(self)->insert(static_cast<Bytes*>(self)->end(), from, from + size);
      return GANTRY_OK;
    };
    StatusBuffer status;
    const gantry_code code = table()->build(self_, &what, &sink, status.get());
    if (code == GANTRY_OK) return written;
    EXPECT_THAT(written, IsEmpty());
    return status.error(code, "build");
  }
  Status check(const Job& job) {
    const gantry_build what = without_sources(job);
    StatusBuffer status;
    const gantry_code code = table()->check(self_, &what, status.get());
    return code == GANTRY_OK ? Status() : Status(status.error(code, "check"));
  }
  Error refused(const Job& job) {
    const Result<Bytes> built = build(job);
    EXPECT_FALSE(built.ok());
    return built.ok() ? Error() : built.error();
  }
  const gantry_generator* table() {
    return static_cast<const gantry_generator*>(plugin_->get_extension(self_, GANTRY_GENERATOR_1));
  }
  gantry_build without_sources(const Job& job) {
    gantry_build what{};
    what.struct_size = sizeof what;
    what.flags = job.flags;
    what.kind = gantry_text("opencl");
    what.target = gantry::bytes_of(job.target);
    what.self = this;
    what.diagnostic = [](void* self, std::int32_t level, gantry_bytes text) {
      static_cast<OpenclGenerator*>(self)->diagnostics_.push_back(
          concat(level, ": ", view_of(text)));
    };
    what.at_kernel = [](void* self, std::uint64_t kernel) {
      static_cast<OpenclGenerator*>(self)->at_kernels_.push_back(kernel);
    };
    return what;
  }
  static Job binary_job() { return {.target = R"({"kind":"opencl","format":"clbin"})"}; }

  std::vector<std::string> diagnostics_;
  std::vector<std::uint64_t> at_kernels_;
};

TEST_F(OpenclGenerator, StoresTheSourceOfEachKernel) {
  for (const char* target : {"{}", R"({"format":"cl"})"}) {
    const Result<Bytes> built = build({.target = target});

    ASSERT_TRUE(built.ok()) << built.error().message;
    EXPECT_EQ(*built,
              payload_bytes("cl", {axpy, fill},
                            marked("axpy", axpy_body) + "\n" + marked("fill", fill_body) + "\n"));
  }
  EXPECT_EQ(between.source_programs, 0);
}

// The sources are one program, of which each kernel is called.
TEST_F(OpenclGenerator, BuildsABinaryThatItsLoaderRuns) {
  Job compiled{.flags = GANTRY_BUILD_COMPILED};
  for (const Job& job : {binary_job(), compiled}) {
    const Result<Bytes> built = build(job);

    ASSERT_TRUE(built.ok()) << built.error().message;
    ASSERT_THAT(std::string(built->begin(), built->begin() + 13), ::testing::EndsWith("clbin"));
    const int compiled_before = between.source_programs;
    const auto module = load(*built);
    void* const x = floats({1, 2, 3, 4});
    void* const y = floats({10, 20, 30, 40});
    ASSERT_TRUE(module
                    ->call("axpy", {pointer_value(x), pointer_value(y), float_value(2),
                                    int_value(4), int_value(1), int_value(4)})
                    .ok());
    ASSERT_TRUE(
        module->call("fill", {pointer_value(x), float_value(7), int_value(1), int_value(4)}).ok());
    EXPECT_THAT(floats_in(y, 4), ElementsAre(12, 24, 36, 48));
    EXPECT_THAT(floats_in(x, 4), ElementsAre(7, 7, 7, 7));
    EXPECT_EQ(between.source_programs, compiled_before);
  }
  EXPECT_THAT(diagnostics_, IsEmpty());
}

TEST_F(OpenclGenerator, NamesBothDevicesOfAForeignBinary) {
  Bytes built = build(binary_job()).value();
  const std::string device = plugin().driver.device(0).value()->identity();
  const std::string mark(clbin_mark);
  const auto name =
      std::search(built.begin(), built.end(), mark.begin(), mark.end()) + mark.size() + 8;
  ASSERT_EQ(std::string(name, name + device.size()), device);
  const std::string other = "Q" + device.substr(1);
  std::copy(other.begin(), other.end(), name);
  // The driver's own header, which has a digest of the device.
  std::fill(name + device.size(), name + device.size() + 32, std::uint8_t{0x5a});
  const auto module = load(built);
  void* const x = floats({1, 2, 3, 4});

  const Error error = error_of(
      module->call("fill", {pointer_value(x), float_value(7), int_value(1), int_value(4)}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "BLOB_ARCH");
  EXPECT_EQ(error.message, concat("kernel \"fill\" is a binary for another device than ",
                                  plugin().driver.device(0).value()->described(),
                                  ": CL_INVALID_BINARY; the binary is for ", quoted(other, 200),
                                  ", the device is ", quoted(device, 200),
                                  "; pack the kernel on a host with this device, or as OpenCL C"));
}

TEST_F(OpenclGenerator, ReportsFileAndLineOfAnError) {
  Job job = binary_job();
  job.second = "// fills\n__kernel void fill(__global float* out, float v) { out[0] = no_such; }\n";

  const Error error = refused(job);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "KERNEL_BUILD");
  EXPECT_EQ(error.native_domain, "OPENCL");
  EXPECT_THAT(error.message.text(), StartsWith("OpenCL C does not compile for opencl:0 ("));
  EXPECT_THAT(error.message.text(), HasSubstr("fill.cl:2:"));
  EXPECT_THAT(error.message.text(), HasSubstr("no_such"));
  EXPECT_THAT(diagnostics_, IsEmpty());
}

TEST_F(OpenclGenerator, ReportsTheRestOfALongLog) {
  Job job = binary_job();
  job.second.clear();
  const std::string long_name(200, 'n');
  for (int i = 0; i < 15; ++i) {
    job.second += concat("int f", i, "() { return ", long_name, i, "; }\n");
  }

  const Error error = refused(job);

  ASSERT_EQ(diagnostics_.size(), 1u);
  EXPECT_THAT(diagnostics_[0], StartsWith(concat(int{GANTRY_LOG_ERROR}, ": ")));
  EXPECT_THAT(error.message.text(), HasSubstr("nn0"));
  EXPECT_THAT(error.message.text(), Not(HasSubstr("nn14")));
  EXPECT_THAT(diagnostics_[0], HasSubstr("nn14"));
}

TEST_F(OpenclGenerator, RefusesWrongOptions) {
  struct Wrong {
    std::string target, message;
    std::uint32_t flags = 0;
  };
  for (const Wrong& wrong : {
           Wrong{R"({"format":"spirv"})",
                 "format of the target is \"spirv\", expected cl or clbin"},
           Wrong{R"({"format":1})", "format of the target is \"\", expected cl or clbin"},
           Wrong{R"({"format":"cl"})",
                 "format of the target is \"cl\", which is source, and compiled code is required; "
                 "expected clbin or no format",
                 GANTRY_BUILD_COMPILED},
           Wrong{R"({"binary_device":-1})",
                 "binary_device of the target is no index of a device, expected 0 to 2147483647"},
           Wrong{R"({"binary_device":2147483648})",
                 "binary_device of the target is no index of a device, expected 0 to 2147483647"},
       }) {
    const Error error = refused({.target = wrong.target, .flags = wrong.flags});

    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_EQ(error.reason, "CONFIG");
    EXPECT_EQ(error.message, wrong.message);
  }
  const Error absent = refused({.target = R"({"format":"clbin","binary_device":77})"});
  EXPECT_EQ(absent.code, Code::invalid);
  EXPECT_EQ(absent.reason, "DEVICE_INDEX");
}

TEST_F(OpenclGenerator, RefusesWrongSources) {
  Job other;
  other.language = "glsl";
  EXPECT_EQ(refused(other).message, "source \"axpy.cl\" is \"glsl\", gantry.opencl builds opencl");
  Job nul;
  nul.second[5] = '\0';
  const Error error = refused(nul);
  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, 5u);
  EXPECT_EQ(error.message, "source \"fill.cl\" contains a NUL, expected text");
  Job marker;
  marker.first += "// Function: axpy\n";
  EXPECT_EQ(refused(marker).message,
            "source \"axpy.cl\" has a line that begins with \"// Function: \", which loaders "
            "interpret as the start of the next kernel");
  EXPECT_THAT(at_kernels_, ElementsAre(0));
  Job none;
  none.kernels.clear();
  EXPECT_EQ(refused(none).message, "there is no source, expected one at least");
}

TEST_F(OpenclGenerator, RefusesWrongKernels) {
  for (Job job : {Job(), binary_job()}) {
    job.second = "__kernel void fil(__global float* out, float value) { out[0] = value; }\n";
    // A source lists its kernels, a program that was compiled does not.
    const std::string near = job.target == "{}" ? ", did you mean \"fil\"" : "";
    const Error missing = refused(job);
    EXPECT_EQ(missing.code, Code::unsupported);
    EXPECT_EQ(missing.message, concat("source \"fill.cl\" has no kernel \"fill\"", near,
                                      ", expected: __kernel void fill(...)"));
    job.second = fill_body;
    job.kernels[1].tags.push_back("tir.use_dyn_shared_memory");
    EXPECT_EQ(refused(job).reason, "LAUNCH_TAG");
    job.kernels[1] = fill;
    job.kernels[1].parameters[1] = {2, 16, 1};
    EXPECT_EQ(refused(job).reason, "PARAMETER_TYPE");
    EXPECT_THAT(at_kernels_, ElementsAre(1, 1, 1));
    at_kernels_.clear();
  }
  Job job = binary_job();
  job.kernels[1].parameters.push_back(int32);
  const Error error = refused(job);
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.message, "kernel \"fill\" has 2 parameters in \"fill.cl\", the recipe lists 3");
  EXPECT_THAT(at_kernels_, ElementsAre(1));
}

TEST_F(OpenclGenerator, RequiresADriverForABinaryOnly) {
  restart();
  between.no_platform = true;

  EXPECT_TRUE(build({}).ok());
  EXPECT_TRUE(check({}).ok());
  const Error error = refused(binary_job());
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "DRIVER_MISSING");
  const Status checked = check(binary_job());
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().reason, "DRIVER_MISSING");
  EXPECT_EQ(check({.target = R"({"format":"spirv"})"}).error().reason, "CONFIG");
}

}  // namespace
}  // namespace gantry::opencl::test
