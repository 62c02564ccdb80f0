// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel: arguments are checked here, the work is done by the stream.
#include "plugin.hpp"

#include <gantry/trace.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace abacus {
namespace {

// A parameter as the steps use it.
struct Bound {
  // NULL: a number.
  std::shared_ptr<Buffer> buffer;
  std::uint64_t byte_offset = 0;
  float number = 0;
  // The same number, for `below`.
  std::int64_t limit = 0;
};

double number_of(const gantry::KernelArgument& argument) {
  const auto read = [&](auto value) {
    std::memcpy(&value, argument.bytes.data(), sizeof value);
    return static_cast<double>(value);
  };
  switch (argument.kind) {
    case gantry::ParameterKind::int32:
      return read(std::int32_t{});
    case gantry::ParameterKind::int64:
      return read(std::int64_t{});
    case gantry::ParameterKind::uint32:
      return read(std::uint32_t{});
    case gantry::ParameterKind::float32:
      return read(float{});
    default:
      return read(double{});
  }
}

std::int64_t limit_of(double number) {
  constexpr double max = 9e18;
  return static_cast<std::int64_t>(std::clamp(std::isnan(number) ? 0.0 : number, -max, max));
}

float* element(const Bound& bound, std::uint64_t i) {
  const std::uint64_t room = (bound.buffer->size() - bound.byte_offset) / sizeof(float);
  if (i >= room) return nullptr;
  return reinterpret_cast<float*>(bound.buffer->data() + bound.byte_offset) + i;
}

float combine(Word word, float a, float b) {
  switch (word) {
    case Word::add:
      return a + b;
    case Word::sub:
      return a - b;
    case Word::mul:
      return a * b;
    case Word::div:
      return a / b;
    case Word::max:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

float change(Word word, float a) {
  switch (word) {
    case Word::neg:
      return -a;
    case Word::abs:
      return std::fabs(a);
    case Word::sqrt:
      return std::sqrt(a);
    default:
      return std::exp(a);
  }
}

// The work of one launch, with everything that it needs: the module may be destroyed before it
// runs.
struct Run {
  std::string name;
  std::shared_ptr<const std::vector<Step>> steps;
  gantry::Trace trace;
  std::uint64_t track;
  std::vector<Bound> parameters;
  std::uint64_t items;
  // Of the device, which its streams do not outlive.
  gantry::DeviceLoss* loss;

  // The stream has done the work when this has returned, so that a wait for the stream finds the
  // span in the trace.
  gantry::Status operator()() const {
    GANTRY_CHECK(loss->check());
    const std::int64_t begun = trace.now();
    for (std::uint64_t i = 0; i < items; ++i) GANTRY_CHECK(run_item(i));
    if (begun >= 0) trace.span(track, begun, trace.now(), name, "kernel");
    return {};
  }

  // read_programs() has checked the stack.
  gantry::Status run_item(std::uint64_t i) const {
    std::array<float, max_stack> stack;
    std::size_t depth = 0;
    for (const Step& step : *steps) {
      switch (step.word) {
        case Word::get:
        case Word::put: {
          float* const at = element(parameters[step.parameter], i);
          if (at == nullptr) return fault(step, i);
          if (step.word == Word::get) {
            stack[depth++] = *at;
          } else {
            *at = stack[--depth];
          }
          break;
        }
        case Word::scalar:
          stack[depth++] = parameters[step.parameter].number;
          break;
        case Word::below:
          if (static_cast<std::int64_t>(i) >= parameters[step.parameter].limit) return {};
          break;
        case Word::constant:
          stack[depth++] = step.number;
          break;
        case Word::neg:
        case Word::abs:
        case Word::sqrt:
        case Word::exp:
          stack[depth - 1] = change(step.word, stack[depth - 1]);
          break;
        case Word::lose:
          return loss->recorded(lost());
        default:
          --depth;
          stack[depth - 1] = combine(step.word, stack[depth - 1], stack[depth]);
      }
    }
    return {};
  }

  gantry::Status lost() const {
    return gantry::lost("abacus: the device has stopped in kernel ", gantry::quoted(name),
                        "; a new runtime can use it again")
        .with_reason("DEVICE_LOST");
  }

  gantry::Status fault(const Step& step, std::uint64_t i) const {
    const Bound& bound = parameters[step.parameter];
    return gantry::invalid("kernel ", gantry::quoted(name), ": item ", i, " reads element ", i,
                           " of parameter ", step.parameter, ", which has ",
                           (bound.buffer->size() - bound.byte_offset) / sizeof(float))
        .with_reason("DEVICE_FAULT");
  }
};

}  // namespace

gantry::Status KernelFunction::call(const gantry::Call& given) const {
  const gantry_env& env = *given.env;
  const gantry::KernelCall& call = kernel->call;
  GANTRY_TRY(Device* const device, plugin->device(env.device.index));
  GANTRY_CHECK(device->loss.check());
  GANTRY_CHECK(call.check_count(given.args.size()));
  Stream& stream = device->stream_of(static_cast<Stream*>(env.stream));
  const gantry::Trace trace(plugin->host());
  const std::uint64_t track =
      trace.is_recording() ? trace.track(gantry::concat("abacus:", env.device.index), stream.name)
                           : GANTRY_TRACK_THREAD;
  Run run{call.name(), loaded(env.device.index), trace, track, {}, 0, &device->loss};
  for (std::size_t i = 0; i < call.parameter_count(); ++i) {
    GANTRY_TRY(const gantry::KernelArgument argument, call.argument(i, given.args[i], env.device));
    Bound bound;
    if (argument.is_pointer()) {
      auto found = device->memory.find(argument.data, argument.byte_offset, 0);
      if (!found.ok()) {
        return std::move(found).error().at("in argument ", i, " of kernel ",
                                           gantry::quoted(call.name()));
      }
      bound.buffer = std::move(found).value();
      if (argument.byte_offset % sizeof(float) != 0) {
        return gantry::invalid("argument ", i, " of kernel ", gantry::quoted(call.name()),
                               " begins ", argument.byte_offset,
                               " bytes into its memory, expected a multiple of ", sizeof(float))
            .with_reason("ARGUMENT_ALIGNMENT");
      }
      bound.byte_offset = argument.byte_offset;
    } else {
      const double number = number_of(argument);
      bound.number = static_cast<float>(number);
      bound.limit = limit_of(number);
    }
    run.parameters.push_back(std::move(bound));
  }
  GANTRY_TRY(const gantry::LaunchExtents extents, call.extents(given.args));
  if (extents.is_empty) return {};
  run.items = std::uint64_t{extents.grid[0]} * extents.block[0];
  return stream.push(std::move(run));
}

}  // namespace abacus
