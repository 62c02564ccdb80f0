// SPDX-License-Identifier: Apache-2.0
#include "frame.hpp"

#include "failure_of.hpp"

#include <gantry/quoted.hpp>

#include <cstring>
#include <utility>

namespace gantry::dnnl_plugin {

Result<std::unique_ptr<Frame>> Frame::create(const Plan& plan) {
  std::unique_ptr<Frame> frame(new Frame(plan));
  GANTRY_TRY(frame->arena_, new_aligned_bytes(plan.arena_bytes));
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::zeroed)
      std::memset(frame->arena_.get() + buffer.offset, 0, buffer.bytes);
  }
  try {
    frame->stream_ = ::dnnl::stream(plan.engine);
    for (std::uint32_t i = 0; i < plan.views.size(); ++i) {
      const View& view = plan.views[i];
      const Buffer& buffer = plan.buffers[view.buffer];
      void* address = nullptr;
      if (buffer.kind == BufferKind::constant) {
        // Primitives only read it.
        address = const_cast<std::byte*>(buffer.data) + view.offset;
      } else if (buffer.kind == BufferKind::argument) {
        frame->bound_.push_back({i, buffer.argument, view.offset, nullptr});
      } else {
        address = frame->arena_.get() + buffer.offset + view.offset;
      }
      // oneDNN would allocate memory for a null address of its own.
      frame->memories_.emplace_back(view.desc, plan.engine,
                                    address == nullptr ? DNNL_MEMORY_NONE : address);
    }
  } catch (const ::dnnl::error& error) {
    return failure_of(error.status, "memory objects");
  }
  frame->first_.push_back(0);
  for (const Step& step : plan.steps) {
    for (const StepArgument& argument : step.arguments)
      frame->arguments_.push_back({argument.role, frame->memories_[argument.view].get()});
    frame->first_.push_back(frame->arguments_.size());
  }
  return frame;
}

Status Frame::bind(std::span<const gantry_tensor* const> arguments) {
  for (Bound& bound : bound_) {
    const gantry_tensor& tensor = *arguments[bound.argument];
    void* const address = static_cast<std::byte*>(tensor.data) + tensor.byte_offset + bound.offset;
    if (address == bound.address) continue;
    const dnnl_status_t status = dnnl_memory_set_data_handle(memories_[bound.view].get(), address);
    if (status != dnnl_success) return failure_of(status, "address of an argument");
    bound.address = address;
  }
  return {};
}

Status Frame::run(std::size_t step) {
  if (plan_.steps[step].loop) {
    tensors_.clear();
    for (std::size_t i = first_[step]; i < first_[step + 1]; ++i) {
      void* address = nullptr;
      const dnnl_status_t status = dnnl_memory_get_data_handle(arguments_[i].memory, &address);
      if (status != dnnl_success) return failure_of(status, "address of a tensor");
      tensors_.push_back(address);
    }
    plan_.steps[step].loop(tensors_.data());
    return {};
  }
  const dnnl_status_t status = dnnl_primitive_execute(
      plan_.steps[step].primitive.get(), stream_.get(),
      static_cast<int>(first_[step + 1] - first_[step]), arguments_.data() + first_[step]);
  if (status == dnnl_success) return {};
  return failure_of(status, concat("operator ", quoted(plan_.steps[step].name)));
}

Status Frame::wait() {
  const dnnl_status_t status = dnnl_stream_wait(stream_.get());
  if (status == dnnl_success) return {};
  return failure_of(status, "stream");
}

Result<std::unique_ptr<Frame>> FramePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Frame> frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
    free_.reserve(++count_);
  }
  auto made = Frame::create(plan_);
  if (!made.ok()) {
    const std::lock_guard lock(mutex_);
    --count_;
  }
  return made;
}

void FramePool::return_frame(std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(frame));
}

}  // namespace gantry::dnnl_plugin
