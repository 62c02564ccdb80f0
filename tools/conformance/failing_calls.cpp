// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/failing_calls.hpp"

#include "tools/conformance/plugin_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/value.hpp>

#include <memory>

namespace gantry::kit {
namespace {

// Unknown in every version so far.
constexpr std::uint32_t kUnknownFlag = 1u << 30;
constexpr std::int32_t kUnknownAttribute = 60'000;
constexpr std::uint64_t kHugeBytes = std::uint64_t{1} << 60;

class Calls {
 public:
  Calls(const Instance& instance, RuntimeState& state) : self_(instance.self()), state_(state) {
    for (const gantry_loader_table& loader : instance.plugin().loaders) add_loads(loader);
    for (const gantry_device_table& device : instance.plugin().devices) add_device(device);
  }
  std::vector<FailingCall> take() { return std::move(calls_); }

 private:
  // The first word of the name is the function's.
  template <class Call>
  void add(std::string name, Call call) {
    std::string function = name.substr(0, name.find(' '));
    calls_.push_back({std::move(name), std::move(function), std::move(call)});
  }

  void add_loads(const gantry_loader_table& loader) {
    const std::vector<std::uint8_t> samples[] = {
        {}, {0xff}, std::vector<std::uint8_t>(64, 0xff), std::vector<std::uint8_t>(4096, 0x7f)};
    for (const std::vector<std::uint8_t>& bytes : samples) {
      const std::string of = concat(bytes.size(), " bytes for key ", loader.type_key);
      add("load_binary of " + of, [self = self_, state = &state_, &loader,
                                   bytes](gantry_status* status) {
        const ObjectPtr pin = empty_pin();
        const gantry_blob blob = blob_of(loader.type_key, bytes, pin.get());
        gantry_module module{};
        std::uint64_t consumed = 0;
        // Borrowed by the module until it is destroyed.
        const auto node = new_module_node(std::make_shared<const Artifact>(state->new_artifact()),
                                          loader.type_key, ModuleNode::kNoIndex)
                              .value();
        const gantry_code code =
            loader.load_binary(self, &blob, &node->header, &module, &consumed, status);
        if (code == GANTRY_OK && module.table != nullptr) module.table->destroy(module.self);
        return code;
      });
      add("check_binary of " + of, [self = self_, &loader, bytes](gantry_status* status) {
        const ObjectPtr pin = empty_pin();
        const gantry_blob blob = blob_of(loader.type_key, bytes, pin.get());
        std::int32_t verdict = 0;
        return loader.check_binary(self, &blob, 0, &verdict, status);
      });
    }
  }

  void add_device(const gantry_device_table& device) {
    const std::string of = concat(" of device ", device.name);
    void* const self = self_;
    add("count" + of, [self, &device](gantry_status* status) {
      std::int32_t count = 0;
      return device.count(self, &count, status);
    });
    for (const std::int32_t index : {-1, 1'000'000}) {
      add(concat("attribute", of, ":", index), [self, &device, index](gantry_status* status) {
        return attribute(device, self, index, GANTRY_ATTRIBUTE_DEVICE_NAME, status);
      });
      add(concat("alloc", of, ":", index), [self, &device, index](gantry_status* status) {
        return alloc(device, self, index, 64, status);
      });
    }
    add("attribute 60000" + of, [self, &device](gantry_status* status) {
      return attribute(device, self, 0, kUnknownAttribute, status);
    });
    add("alloc of 2^60 bytes" + of, [self, &device](gantry_status* status) {
      return alloc(device, self, 0, kHugeBytes, status);
    });
    add("stream_create with an unknown flag" + of, [self, &device](gantry_status* status) {
      void* stream = nullptr;
      const gantry_code code = device.stream_create(self, 0, kUnknownFlag, &stream, status);
      if (code == GANTRY_OK) device.stream_destroy(self, 0, stream);
      return code;
    });
    add("copy with an unknown flag" + of, [self, &device](gantry_status* status) {
      char from[4]{}, to[4]{};
      gantry_copy what{};
      what.struct_size = sizeof what;
      what.flags = GANTRY_COPY_BLOCKING | kUnknownFlag;
      what.from.data = from;
      what.from.device = {1, 0};
      what.to.data = to;
      what.to.device = {1, 0};
      what.size = sizeof from;
      return device.copy(self, 0, &what, nullptr, status);
    });
  }

  static gantry_code attribute(const gantry_device_table& device, void* self, std::int32_t index,
                               std::int32_t kind, gantry_status* status) {
    gantry_value value{};
    const gantry_code code = device.attribute(self, index, kind, &value, status);
    if (code == GANTRY_OK && value.kind >= GANTRY_OBJECT) gantry_release(value.object);
    return code;
  }

  static gantry_code alloc(const gantry_device_table& device, void* self, std::int32_t index,
                           std::uint64_t size, gantry_status* status) {
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = size;
    what.alignment = 64;
    what.dtype = {1, 8, 1};
    void* data = nullptr;
    const gantry_code code = device.alloc(self, index, &what, &data, status);
    if (code == GANTRY_OK) device.free(self, index, data);
    return code;
  }

  void* self_;
  RuntimeState& state_;
  std::vector<FailingCall> calls_;
};

}  // namespace

gantry_code FailingCall::make(gantry_status* status) const {
  const PluginCall record(function);
  return call(status);
}

gantry_code FailingCall::operator()(gantry_status* status) const {
  try {
    return make(status);
  } catch (const std::exception&) {
    return GANTRY_OK;
  }
}

void make_failing_calls(const Instance& instance, RuntimeState& state) {
  StatusBuffer status;
  for (const FailingCall& each : failing_calls(instance, state)) each(status.get());
}

std::vector<FailingCall> failing_calls(const Instance& instance, RuntimeState& state) {
  return Calls(instance, state).take();
}

gantry_blob blob_of(std::string_view key, std::span<const std::uint8_t> bytes, gantry_object* pin) {
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.flags = GANTRY_BLOB_EXACT;
  blob.type_key = bytes_of(key);
  blob.origin = gantry_text("a payload of the conformance kit");
  blob.data = bytes.data();
  blob.size = bytes.size();
  blob.pin = pin;
  return blob;
}

ObjectPtr empty_pin() { return new_pin(std::make_shared<int>(0)).value(); }

}  // namespace gantry::kit
