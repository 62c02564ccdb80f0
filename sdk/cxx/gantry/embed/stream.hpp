// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/stream.hpp - a stream of a device. Runtime::stream() creates one.
#pragma once

#include <gantry/embed/object.hpp>
#include <gantry/embed/table.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace gantry {
inline namespace embed_api {

class Stream : public Object {
 public:
  Stream() = default;
  // Precondition: `object` is a stream.
  explicit Stream(ObjectRef object) : Object(std::move(object)) {}

  // For gantry_env.stream. NULL: the default stream of its device.
  void* handle() const { return embed_table().stream_handle(get()); }
  // Returns the driver's handle: GANTRY_NATIVE_STREAM or GANTRY_NATIVE_CONTEXT.
  Result<void*> native(std::int32_t kind = GANTRY_NATIVE_STREAM) const {
    return embed_detail::native_of(get(), kind);
  }
  // Calls a function once, after the work that is in the stream now, on any thread. The function
  // calls none of a device.
  Status notify(std::function<void()> function) const {
    auto kept = std::make_unique<std::function<void()>>(std::move(function));
    GANTRY_CHECK(embed_detail::checked("stream_notify", [&](gantry_status* status) {
      return embed_table().stream_notify(
          get(),
          [](void* self) {
            const std::unique_ptr<std::function<void()>> called(
                static_cast<std::function<void()>*>(self));
            (*called)();
          },
          kept.get(), status);
    }));
    (void)kept.release();
    return {};
  }
};

}  // namespace embed_api
}  // namespace gantry
