// SPDX-License-Identifier: Apache-2.0
//
// gantry/call_devices.hpp - devices that calls of TVM's protocol pass as numbers.
#pragma once

#include <gantry/call.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <vector>

namespace gantry {

// Returns the device of arguments i and i + 1: its type by the number that the module's artifact
// has for it, and its index.
//
// node     [in]   of the module
// returns  INVALID  not integers, or integers of more than 32 bits (ARGUMENT); codes of
//                   device_type_in()
inline Result<gantry_device_id> device_of_numbers(const Host& host, gantry_object* node,
                                                  const Call& call, std::size_t i) {
  GANTRY_TRY(const std::int32_t number, call.integer32(i));
  GANTRY_TRY(const std::int32_t index, call.integer32(i + 1));
  GANTRY_TRY(const std::int32_t type, host.device_type_in(node, number));
  return gantry_device_id{type, index};
}

// Returns the devices of a call whose arguments are three integers for each: type, index, and the
// kind of its allocator, which is ignored.
//
// returns  INVALID  no argument, or a list that is not of triples (ARGUMENT); as above
inline Result<std::vector<gantry_device_id>> devices_of_triples(const Host& host,
                                                                gantry_object* node,
                                                                const Call& call) {
  if (call.args.empty() || call.args.size() % 3 != 0) {
    return call.refuse("argument count is ", call.args.size(),
                       ", expected three numbers for each device");
  }
  std::vector<gantry_device_id> devices;
  for (std::size_t i = 0; i < call.args.size(); i += 3) {
    GANTRY_TRY(const gantry_device_id device, device_of_numbers(host, node, call, i));
    GANTRY_CHECK(call.integer(i + 2));
    devices.push_back(device);
  }
  return devices;
}

}  // namespace gantry
