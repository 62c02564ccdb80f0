// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "plugin.hpp"

#include <gantry/progress.hpp>
#include <gantry/quoted.hpp>
#include <gantry/trace.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace quasar {
namespace {

constexpr std::uint32_t architecture = 1;
constexpr std::size_t max_buffers = 3, max_numbers = 2;

// The parameters of a kernel: buffers, then extents.
struct Form {
  std::size_t buffers, numbers;
};
constexpr Form form_of(Operation operation) {
  constexpr Form forms[] = {{3, 1}, {3, 1}, {2, 1}, {2, 1}, {3, 2}, {0, 0}};
  return forms[static_cast<std::size_t>(operation) - 1];
}

// The elements of a buffer; x[n], or the matrix [n, m], the vector [m] and the result [n].
std::uint64_t elements_of(Operation operation, std::size_t buffer,
                          const std::array<std::uint64_t, max_numbers>& extents) {
  if (operation != Operation::matvec || buffer == 2) return extents[0];
  return buffer == 0 ? extents[0] * extents[1] : extents[1];
}

// ---- payload

struct Image {
  std::vector<gantry::KernelCall> kernels;
  std::vector<Instruction> instructions;
};

gantry::Status check_parameters(const gantry::KernelCall& kernel, Operation operation,
                                std::uint64_t at) {
  GANTRY_CHECK(kernel.needs_grid_and_block_only("quasar"));
  const Form form = form_of(operation);
  const auto refuse = [&](const auto&... parts) {
    return gantry::malformed(at, "kernel ", gantry::quoted(kernel.name()), ": ", parts...)
        .with_reason("KERNEL_TABLE");
  };
  if (kernel.parameter_count() != form.buffers + form.numbers) {
    return refuse("parameter count is ", kernel.parameter_count(), ", its operation has ",
                  form.buffers + form.numbers);
  }
  for (std::size_t i = 0; i < kernel.parameter_count(); ++i) {
    const bool is_buffer = i < form.buffers;
    if (kernel.parameter(i) !=
        (is_buffer ? gantry::ParameterKind::pointer : gantry::ParameterKind::int32))
      return refuse("parameter ", i, " is no ", is_buffer ? "buffer" : "int32");
  }
  return {};
}

gantry::Result<Image> read_image(gantry::ByteReader& in, const gantry::KernelTable& table) {
  Image image;
  GANTRY_TRY(const std::uint32_t arch, in.read_u32("architecture"));
  if (arch != architecture) {
    return gantry::unsupported("quasar: image is for architecture ", arch, ", the devices have ",
                               architecture)
        .with_reason("BLOB_ARCH");
  }
  GANTRY_TRY(const std::uint32_t count, in.read_u32("count"));
  if (count != table.size()) {
    return gantry::malformed(in.offset(), "image has ", count, " kernels, the table ", table.size())
        .with_reason("KERNEL_TABLE");
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t at = in.offset();
    GANTRY_TRY(const std::string_view name, in.read_string("kernel"));
    GANTRY_TRY(const std::uint32_t operation, in.read_u32("operation"));
    GANTRY_TRY(const std::uint32_t immediate, in.read_u32("immediate"));
    const gantry::KernelInfo* const info = table.find(name);
    const bool is_second = std::ranges::count(image.kernels, name, &gantry::KernelCall::name) != 0;
    if (info == nullptr || is_second) {
      return gantry::malformed(at, "kernel ", gantry::quoted(name), " of the image ",
                               is_second ? "occurs twice" : "is not in the table")
          .with_reason("KERNEL_TABLE");
    }
    if (operation < 1 || operation > static_cast<std::uint32_t>(Operation::halt)) {
      return gantry::malformed(at, "kernel ", gantry::quoted(name), ": operation is ", operation,
                               ", range is 1 to 6")
          .with_reason("BLOB_FORMAT");
    }
    GANTRY_TRY(gantry::KernelCall kernel, gantry::KernelCall::parse(*info));
    GANTRY_CHECK(check_parameters(kernel, static_cast<Operation>(operation), at));
    image.kernels.push_back(std::move(kernel));
    image.instructions.push_back(
        {static_cast<Operation>(operation), std::bit_cast<float>(immediate)});
  }
  if (in.at_end()) return image;
  return gantry::malformed(in.offset(), "image has bytes after its last kernel")
      .with_reason("BLOB_TRAILING");
}

gantry::Result<Image> read_payload(gantry::Blob& blob) {
  gantry::ByteReader& in = blob.reader();
  GANTRY_TRY(const std::string_view format, in.read_string("quasar format"));
  if (format != "qx") {
    return gantry::unsupported("quasar: format is ", gantry::quoted(format), ", expected \"qx\"")
        .with_reason("BLOB_FORMAT");
  }
  GANTRY_TRY(const gantry::KernelTable table,
             gantry::read_kernel_table(blob, [](gantry::ByteReader& behind) {
               return behind.read_string("quasar image");
             }));
  GANTRY_TRY(const std::string_view bytes, in.read_string("quasar image"));
  gantry::ByteReader image = gantry::ByteReader::of_text(bytes, in.offset() - bytes.size());
  return read_image(image, table);
}

// ---- execution

// One launch with everything that it needs: the module may be destroyed before it runs.
struct Launch {
  std::string name;
  BlockPtr code;
  std::size_t index;
  std::array<Device::Range, max_buffers> buffers;
  std::array<std::uint64_t, max_numbers> extents;
  gantry::Trace trace;
  std::uint64_t track;
  // Of the device, which its queues do not outlive.
  gantry::DeviceLoss* loss;

  // The span is in the trace before a wait for the queue returns.
  gantry::Status operator()() const {
    Instruction instruction;
    std::memcpy(&instruction, code->bytes() + index * sizeof instruction, sizeof instruction);
    if (instruction.operation == Operation::halt) return loss->recorded(lost());
    const std::int64_t begun = trace.now();
    execute(instruction);
    if (begun >= 0) trace.span(track, begun, trace.now(), name, "kernel");
    return {};
  }

  gantry::Status lost() const {
    return gantry::lost("quasar: the device has stopped in kernel ", gantry::quoted(name),
                        "; a new runtime can use it again")
        .with_reason("DEVICE_LOST");
  }

  float* elements(std::size_t buffer) const {
    return reinterpret_cast<float*>(buffers[buffer].bytes);
  }

  void execute(Instruction instruction) const {
    if (instruction.operation == Operation::matvec) return multiply();
    // Whole vectors: the padding is read and written.
    const std::uint64_t count = round_up(extents[0] * sizeof(float), vector_bytes) / sizeof(float);
    const float* const x = elements(0);
    float* const y = elements(form_of(instruction.operation).buffers - 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      switch (instruction.operation) {
        case Operation::add:
          y[i] = x[i] + elements(1)[i];
          break;
        case Operation::mul:
          y[i] = x[i] * elements(1)[i];
          break;
        case Operation::relu:
          y[i] = std::max(x[i], 0.0f);
          break;
        default:
          y[i] = x[i] * instruction.immediate;
      }
    }
  }

  void multiply() const {
    for (std::uint64_t row = 0; row < extents[0]; ++row) {
      float sum = 0;
      for (std::uint64_t i = 0; i < extents[1]; ++i)
        sum += elements(0)[row * extents[1] + i] * elements(1)[i];
      elements(2)[row] = sum;
    }
  }
};

}  // namespace

gantry::Result<BlockPtr> Code::on(Device& device, std::int32_t index) {
  const std::lock_guard lock(mutex_);
  BlockPtr& block = loaded_[index];
  if (block == nullptr) {
    const gantry::AnnouncedWork work(
        plugin_.host(),
        gantry::concat("loading ", instructions_.size(), " kernels onto quasar:", index));
    GANTRY_TRY(block, device.load(std::as_bytes(std::span(instructions_))));
  }
  return block;
}

gantry::Status Kernel::call(const gantry::Call& call) const {
  const gantry_device_id id = call.env->device;
  GANTRY_TRY(Device* const device, plugin->device(id.index));
  GANTRY_CHECK(device->loss.check());
  GANTRY_CHECK(signature.check_count(call.args.size()));
  const Operation operation = (*code)[index].operation;
  const Form form = form_of(operation);
  std::array<std::uint64_t, max_numbers> extents{};
  const auto title = [&](std::size_t i) {
    return gantry::concat("kernel ", gantry::quoted(signature.name()), ": argument ", i);
  };
  for (std::size_t i = 0; i < form.numbers; ++i) {
    const std::size_t at = form.buffers + i;
    GANTRY_TRY(const gantry::KernelArgument number, signature.argument(at, call.args[at], id));
    std::int32_t value;
    std::memcpy(&value, number.bytes.data(), sizeof value);
    if (value < 0) {
      return gantry::invalid(title(at), " is ", value, ", minimum is 0")
          .with_reason("ARGUMENT_RANGE");
    }
    extents[i] = static_cast<std::uint64_t>(value);
  }
  std::array<Device::Range, max_buffers> buffers;
  for (std::size_t i = 0; i < form.buffers; ++i) {
    GANTRY_TRY(const gantry::KernelArgument buffer, signature.argument(i, call.args[i], id));
    const std::uint64_t address =
        reinterpret_cast<std::uintptr_t>(buffer.data) + buffer.byte_offset;
    if (address % vector_bytes != 0) {
      return gantry::invalid(title(i), " is at ", gantry::Hex{address}, ", expected a multiple of ",
                             vector_bytes)
          .with_reason("ARGUMENT_ALIGNMENT");
    }
    const std::uint64_t elements = elements_of(operation, i, extents);
    const std::uint64_t bytes =
        elements > UINT64_MAX / sizeof(float) ? UINT64_MAX : elements * sizeof(float);
    auto found = device->find(buffer.data, buffer.byte_offset, round_up(bytes, vector_bytes));
    if (!found.ok()) return std::move(found).error().at("in ", title(i));
    buffers[i] = std::move(found).value();
  }
  GANTRY_TRY(const gantry::LaunchExtents launched, signature.extents(call.args));
  if (launched.is_empty) return {};
  GANTRY_TRY(BlockPtr loaded, code->on(*device, id.index));
  Stream& stream = device->stream_of(static_cast<Stream*>(call.env->stream));
  const gantry::Trace trace(plugin->host());
  const std::uint64_t track = trace.is_recording()
                                  ? trace.track(gantry::concat("quasar:", id.index), stream.track)
                                  : GANTRY_TRACK_THREAD;
  return stream.queue->push({Launch{signature.name(), std::move(loaded), index, std::move(buffers),
                                    extents, trace, track, &device->loss}});
}

gantry::Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, gantry::Blob& blob) {
  GANTRY_TRY(Image image, read_payload(blob));
  auto made = std::make_unique<Module>(plugin, std::move(image.instructions));
  for (gantry::KernelCall& kernel : image.kernels) {
    std::string name(kernel.name());
    made->kernels_.emplace(std::move(name),
                           Kernel{&plugin, std::move(kernel), made->kernels_.size(), &made->code_});
  }
  made->kept_ = blob.keep();
  return made;
}

gantry::Result<std::int32_t> Module::check(Plugin& plugin, gantry::Blob& blob,
                                           std::int32_t device_index) {
  GANTRY_CHECK(read_payload(blob));
  GANTRY_CHECK(plugin.device(device_index));
  return GANTRY_VERDICT_OPTIMAL;
}

gantry::Status Module::prepare(const gantry_env& env, std::span<const gantry_device_id> devices) {
  for (const gantry_device_id id : devices) {
    GANTRY_CHECK(plugin_.host().check_task(&env));
    GANTRY_TRY(Device* const device, plugin_.device(id.index));
    GANTRY_CHECK(code_.on(*device, id.index));
  }
  return {};
}

}  // namespace quasar
