// SPDX-License-Identifier: Apache-2.0
//
// gantry/call_streams.hpp - the streams of a call, for calls that it makes on other devices.
//
//     const CallStreams streams(*call.env);
//     const gantry_env env = streams.on(device);
//
// An env that is copied and gets another device would lose the stream of its own: a function of the
// host that is called with it could not start kernels there.
#pragma once

#include <gantry/function.h>
#include <gantry/device_name.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace gantry {

class CallStreams {
 public:
  CallStreams() = default;
  explicit CallStreams(const gantry_env& env) { reset(env); }
  CallStreams(const CallStreams&) = delete;
  CallStreams& operator=(const CallStreams&) = delete;

  // env      [in]   its streams and task remain valid until the last use of a result of on()
  // costs    allocates for more than 4 streams
  void reset(const gantry_env& env) {
    env_ = env;
    if (env.stream == nullptr) return;
    const std::size_t others = env.streams != nullptr ? env.streams->count : 0;
    gantry_device_stream* items = few_.data();
    if (others >= few_.size()) {
      many_.resize(others + 1);
      items = many_.data();
    }
    items[0] = {env.device, env.stream};
    if (others != 0) std::copy_n(env.streams->items, others, items + 1);
    all_ = {items, others + 1};
    env_.streams = &all_;
  }

  // Returns the env for a call on a device: its stream, the same task, the streams of all devices.
  //
  // lifetime until reset(), or the object is destroyed
  // costs    as gantry_env_stream()
  gantry_env on(gantry_device_id device) const {
    gantry_env env = env_;
    env.device = device;
    env.stream = gantry_env_stream(&env_, device);
    return env;
  }

 private:
  gantry_env env_{};
  gantry_streams all_{};
  std::array<gantry_device_stream, 4> few_{};
  std::vector<gantry_device_stream> many_;
};

}  // namespace gantry
