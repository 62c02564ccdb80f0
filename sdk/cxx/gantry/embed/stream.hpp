// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/stream.hpp - a stream of a device. Runtime::stream() creates one.
#pragma once

#include <gantry/embed/object.hpp>
#include <gantry/embed/table.hpp>

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
};

}  // namespace embed_api
}  // namespace gantry
