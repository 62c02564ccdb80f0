// SPDX-License-Identifier: Apache-2.0
//
// gantry/device_call.hpp - calls the object of a device for a function of gantry_device_table.
// device.hpp is the public interface.
#pragma once

#include <gantry/abi_boundary.hpp>
#include <gantry/handle.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gantry::detail {

// A stream, event or graph. Converts to the pointer type that the device's class uses.
struct Handle {
  void* pointer = nullptr;
  template <class T>
  operator T*() const {  // NOLINT: implicit by design
    return static_cast<T*>(pointer);
  }
};

// Converts the result of a device's function to that of the table's.
template <class T>
T released(T made) {
  return made;
}
template <class T>
T* released(std::unique_ptr<T> made) {
  return made.release();
}

template <class P>
Host host_of(const P& plugin) {
  if constexpr (requires { plugin.host(); }) {
    return plugin.host();
  } else {
    return plugin.host;
  }
}

// Calls body with one device.
//
// body     [in]   Status body(D&)
template <class D, class P, class Body>
Status with_device(P& plugin, std::int32_t i, Body&& body) {
  auto found = D::at(plugin, i);
  if (!found.ok()) return std::move(found).failure();
  if constexpr (std::is_pointer_v<typename decltype(found)::value_type>) {
    return body(**found);
  } else {
    return body(*found);
  }
}

// Like with_device(), but not for a device that is lost: see device_loss.hpp.
template <class D, class P, class Body>
Status with_working_device(P& plugin, std::int32_t i, Body&& body) {
  return with_device<D>(plugin, i, [&](D& device) -> Status {
    if constexpr (requires { device.loss.check(); }) {
      GANTRY_CHECK(device.loss.check());
      return device.loss.recorded(body(device));
    } else {
      return body(device);
    }
  });
}

// The same for functions of the table.
template <class P, class D, class Body>
gantry_code on_device(void* self, std::int32_t i, gantry_status* status, Body&& body) {
  return abi_boundary(status,
                      [&] { return with_working_device<D>(*static_cast<P*>(self), i, body); });
}

// Like above, for functions with an output.
//
// body     [in]   Result<T> body(D&)
template <class P, class D, class Out, class Body>
gantry_code on_device(void* self, std::int32_t i, Out* out, gantry_status* status, Body&& body) {
  return on_device<P, D>(self, i, status, [&](D& device) -> Status {
    GANTRY_TRY(auto made, body(device));
    *out = released(std::move(made));
    return {};
  });
}

// Like on_device(), for functions that return nothing. A failure is logged.
//
// body     [in]   void or Status body(D&)
template <class P, class D, class Body>
void release_on_device(void* self, std::int32_t i, std::string_view function, Body&& body) {
  P& plugin = *static_cast<P*>(self);
  abi_boundary(nullptr, [&]() -> Status {
    Status done = guard([&] {
      return with_device<D>(plugin, i, [&](D& device) -> Status {
        if constexpr (std::is_void_v<std::invoke_result_t<Body, D&>>) {
          body(device);
          return {};
        } else {
          return body(device);
        }
      });
    });
    if (!done.ok()) {
      done.error().at("in ", function, " of device ", D::identity.name, ":", i);
      host_of(plugin).log(GANTRY_LOG_WARNING, done.error().message);
    }
    return {};
  });
}

}  // namespace gantry::detail
