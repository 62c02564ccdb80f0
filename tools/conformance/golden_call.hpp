// SPDX-License-Identifier: Apache-2.0
//
// Makes the golden calls of a payload and compares their results.
#pragma once

#include "tools/conformance/stage.hpp"

#include <gantry/function.h>

#include <functional>
#include <string>
#include <vector>

namespace gantry::kit {

// The arguments of one call, on the device. The destructor frees them.
class CallArguments {
 public:
  enum class Room {
    // more memory than the elements take, for cases that shift them
    ample,
    // an unmapped page follows the elements; in memory of the host only
    exact
  };
  static Result<std::unique_ptr<CallArguments>> make(const Device& device, const GoldenCall& call,
                                                     Room room = Room::ample);
  ~CallArguments();
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;

  // A case may change them between make() and the call.
  std::vector<gantry_value> values;
  std::vector<std::unique_ptr<gantry_tensor>> tensors;

  // Compares the content of tensors and buffers with what the call is to leave in them.
  Status check_after(double tolerance) const;

 private:
  CallArguments(const Device& device, const GoldenCall& call) : device_(device), call_(call) {}

  const Device& device_;
  const GoldenCall& call_;
  std::vector<std::vector<std::int64_t>> shapes_;
  // of argument i; NULL: it has none
  std::vector<void*> data_;
  // of each, as allocated
  std::vector<std::uint64_t> data_bytes_;
  std::vector<std::unique_ptr<GuardedBytes>> guarded_;
};

// The outcome of a call.
struct CallOutcome {
  gantry_code code = GANTRY_OK;
  // of a failure
  Error error;
  // released by the destructor
  Value result;
};
// Where a call runs.
struct CallContext {
  // of the device; NULL: its default stream
  void* stream = nullptr;
  // of gantry_env; NULL: none
  const void* task = nullptr;
  // of gantry_env; NULL: none
  const gantry_streams* streams = nullptr;
  // of the function, for a place where it does not return; valid during the call
  std::string_view name = {};
};
// Calls a function and waits for its work.
CallOutcome call_function(const Device& device, const gantry_function& function,
                          const std::vector<gantry_value>& values, const CallContext& context = {});

// Compares a result with the golden one.
Status compare_result(const Device& device, const gantry_value& found, const GoldenValue& wanted,
                      double tolerance);

// Makes one golden call and compares result and arguments.
Status check_function(const Device& device, const gantry_function& function, const Payload& payload,
                      const GoldenCall& call, const CallContext& context = {});
// Makes all golden calls of a payload.
Status check_calls(const Stage& stage, const Device& device, const LoadedModule& module,
                   const Payload& payload, const CallContext& context = {});

// The same for a case that checks something else: not_run() unless the calls give their results
// under ordinary conditions, which case 51 reports.
Status check_golden(const Stage& stage, const Device& device, const Payload& payload);

// Bytes of a payload that stay mapped as long as a pin is retained.
struct PinnedBytes {
  std::shared_ptr<GuardedBytes> bytes;
  ObjectPtr pin;
};
PinnedBytes pinned(std::span<const std::uint8_t> bytes, std::size_t before_the_end = 0,
                   GuardedBytes::Access access = GuardedBytes::Access::writable);

// Runs a check for each payload of the subject, and adds the payload's name to its error.
Status for_each_payload(Subject& subject,
                        const std::function<Status(Stage& stage, const Payload& payload)>& check,
                        const Observation& observed = {});

}  // namespace gantry::kit
