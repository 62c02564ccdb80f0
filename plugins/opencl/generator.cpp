// SPDX-License-Identifier: Apache-2.0
//
// Builds a payload of OpenCL C: the texts, which the host that loads the payload compiles, or a
// binary, compiled by the driver for a device of this host.
#include "plugin.hpp"

#include "core/formats/opencl_text.hpp"

#include <gantry/generator.hpp>
#include <gantry/payload_writer.hpp>
#include <gantry/progress.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::opencl {
namespace {

// Bytes of a compiler's log in an error text, of which a status holds about 2,000. The rest is
// reported as a diagnostic.
constexpr std::size_t max_log_in_status = 1400;

struct Output {
  CodeForm form = CodeForm::source;
  // Of a binary.
  std::int32_t device = 0;
};

Result<Output> output_of(const Build& what) {
  GANTRY_TRY(const JsonTree target, what.target());
  Output output{what.requires_code() ? CodeForm::binary : CodeForm::source, 0};
  if (const auto format = target.root().find("format")) {
    const std::string_view name = format->is(JsonKind::text) ? format->text() : "";
    if (name != "cl" && name != "clbin") {
      return invalid("format of the target is ", quoted(name), ", expected cl or clbin")
          .with_reason("CONFIG");
    }
    if (name == "cl" && what.requires_code()) {
      return invalid(
                 "format of the target is \"cl\", which is source, and compiled code is required; "
                 "expected clbin or no format")
          .with_reason("CONFIG");
    }
    output.form = name == "clbin" ? CodeForm::binary : CodeForm::source;
  }
  if (const auto device = target.root().find("binary_device")) {
    constexpr auto max = std::uint64_t{std::numeric_limits<std::int32_t>::max()};
    if (!device->is(JsonKind::count) || device->count() > max) {
      return invalid("binary_device of the target is no index of a device, expected 0 to ", max)
          .with_reason("CONFIG");
    }
    output.device = static_cast<std::int32_t>(device->count());
  }
  return output;
}

Status check_sources(const std::vector<BuildSource>& sources) {
  if (sources.empty()) return invalid("there is no source, expected one at least");
  for (const BuildSource& source : sources) {
    if (source.language != "opencl") {
      return unsupported("source ", quoted(source.name), " is ", quoted(source.language),
                         ", gantry.opencl builds opencl")
          .with_reason("KERNEL_BUILD");
    }
    if (const std::size_t nul = source.text.find('\0'); nul != source.text.npos) {
      return malformed(nul, "source ", quoted(source.name), " contains a NUL, expected text");
    }
  }
  return {};
}

// Checks what the loader checks.
Status check_record(const KernelInfo& kernel) {
  GANTRY_TRY(const KernelCall call, KernelCall::parse(kernel));
  return call.needs_grid_and_block_only("opencl");
}

Status check_records(const Build& what, const KernelTable& kernels) {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Status checked = check_record(kernels.kernels()[i]);
    if (checked.ok()) continue;
    what.at_kernel(i);
    return checked;
  }
  return {};
}

// The source of each kernel as a program of its own.
Result<std::string> marked_text(const Build& what, const std::vector<BuildSource>& sources,
                                const KernelTable& kernels) {
  std::string text;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelInfo& kernel = kernels.kernels()[i];
    const BuildSource& source = sources[what.source_of(i)];
    Status added = append_opencl_program(text, kernel.name, source.name, source.text);
    if (added.ok()) continue;
    what.at_kernel(i);
    return std::move(added).error();
  }
  return text;
}

// All sources are one program; #line keeps the files and lines of diagnostics.
std::string joined(const std::vector<BuildSource>& sources) {
  std::string text;
  for (const BuildSource& source : sources) {
    text += concat("#line 1 ", quoted(source.name), "\n", source.text, "\n");
  }
  return text;
}

// Returns the error of a compilation, and reports what does not fit into its text.
Failure build_failure(const Build& what, const Device& device, std::string_view log, cl_int error) {
  std::size_t shown = log.size();
  if (shown > max_log_in_status) {
    const std::size_t line_end = log.rfind('\n', max_log_in_status);
    shown = line_end == log.npos ? max_log_in_status : line_end + 1;
    what.diagnostic(GANTRY_LOG_ERROR, log.substr(shown));
  }
  Message text("OpenCL C does not compile for ", device.described(), ": ", error_name(error));
  text.at_lines(log.substr(0, shown));
  if (log.empty()) text.at("the compiler's log is empty");
  return unsupported(text).with_reason("KERNEL_BUILD").native("OPENCL", error);
}

// Checks that the program has the kernels of the payload, as a loader does.
Status check_kernels(const Build& what, const std::vector<BuildSource>& sources,
                     const KernelTable& kernels, cl_program program) {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelInfo& kernel = kernels.kernels()[i];
    const BuildSource& source = sources[what.source_of(i)];
    cl_int error = CL_SUCCESS;
    const OwnedKernel made(clCreateKernel(program, kernel.name.c_str(), &error));
    if (error != CL_SUCCESS) what.at_kernel(i);
    if (error == CL_INVALID_KERNEL_NAME) {
      return no_kernel(source.name, kernel.name, opencl_kernel_declaration);
    }
    if (error != CL_SUCCESS) {
      return driver_error(error, concat("clCreateKernel of ", quoted(kernel.name)));
    }
    cl_uint count = 0;
    error = clGetKernelInfo(made.get(), CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
    if (error == CL_SUCCESS && count != kernel.parameters.size()) {
      what.at_kernel(i);
      return invalid("kernel ", quoted(kernel.name), " has ", count, " parameters in ",
                     quoted(source.name), ", the recipe lists ", kernel.parameters.size())
          .with_reason("KERNEL_TABLE");
    }
  }
  return {};
}

}  // namespace

Status Plugin::check(const Build& what) {
  GANTRY_TRY(const Output output, output_of(what));
  if (output.form == CodeForm::source) return {};
  GANTRY_TRY(Device* const device, driver.device(output.device));
  GANTRY_CHECK(driver.context(*device));
  return {};
}

Status Plugin::build(const Build& what, const Sink& sink) {
  GANTRY_TRY(const Output output, output_of(what));
  GANTRY_TRY(const KernelTable kernels, what.kernels());
  const std::vector<BuildSource> sources = what.sources();
  GANTRY_CHECK(check_sources(sources));
  GANTRY_CHECK(check_records(what, kernels));
  PayloadWriter out;
  out.Write(output.form == CodeForm::source ? "cl" : "clbin");
  write_kernel_table(out, kernels);
  if (output.form == CodeForm::source) {
    GANTRY_TRY(const std::string text, marked_text(what, sources, kernels));
    out.Write(text);
    return sink.write(out.bytes());
  }

  GANTRY_TRY(Device* const device, driver.device(output.device));
  GANTRY_TRY(const cl_context context, driver.context(*device));
  const AnnouncedWork work(host, concat("compiling OpenCL C for ", device->described()));
  const std::string text = joined(sources);
  const char* begin = text.data();
  const std::size_t size = text.size();
  cl_int error = CL_SUCCESS;
  const OwnedProgram program(clCreateProgramWithSource(context, 1, &begin, &size, &error));
  if (error != CL_SUCCESS) return driver_error(error, "clCreateProgramWithSource");
  error =
      clBuildProgram(program.get(), 1, &device->id, programs.options().c_str(), nullptr, nullptr);
  const std::string log = build_log(program.get(), device->id);
  // The driver has no compiler, only binaries run.
  if (error == CL_COMPILER_NOT_AVAILABLE) return driver_error(error, "clBuildProgram");
  if (error != CL_SUCCESS) return build_failure(what, *device, log, error);
  if (log.find_first_not_of(" \n") != log.npos) what.diagnostic(GANTRY_LOG_WARNING, log);
  GANTRY_CHECK(check_kernels(what, sources, kernels, program.get()));
  const std::vector<std::uint8_t> binary = binary_of(program.get(), device->id);
  if (binary.empty()) {
    return unavailable(device->described(), " has no binary of a program that it compiled")
        .with_reason("DRIVER_CALL");
  }
  const std::string made_for = device->identity();
  out.Write(
      std::uint64_t{clbin_mark.size() + sizeof(std::uint64_t) + made_for.size() + binary.size()});
  out.append(clbin_mark);
  out.Write(made_for);
  out.append({reinterpret_cast<const char*>(binary.data()), binary.size()});
  return sink.write(out.bytes());
}

}  // namespace gantry::opencl
