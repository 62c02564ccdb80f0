// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/forwarding_host.hpp"

#include <gantry/value.hpp>

#include <cstring>

namespace gantry::kit {
namespace {

// Before the table.
struct Front {
  ForwardingHost* owner;
  std::uint64_t unused;
};

}  // namespace

struct ForwardingHost::Entries {
  static ForwardingHost& of(const gantry_host* host) {
    return *reinterpret_cast<const Front*>(reinterpret_cast<const std::uint8_t*>(host) -
                                           sizeof(Front))
                ->owner;
  }

  template <auto Member>
  struct Forward;
  template <class R, class... A, R (*gantry_host::*Member)(const gantry_host*, A...)>
  struct Forward<Member> {
    static R call(const gantry_host* host, A... args) {
      const gantry_host* const real = of(host).real_;
      return (real->*Member)(real, args...);
    }
  };

  // The status is the last argument of every function that creates something.
  template <auto Member>
  struct Create;
  template <class... A, gantry_code (*gantry_host::*Member)(const gantry_host*, A...)>
  struct Create<Member> {
    static gantry_code call(const gantry_host* host, A... args) {
      if (of(host).must_fail()) {
        gantry_status* status = nullptr;
        ((status = last(args)), ...);
        return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "conformance kit: out of memory");
      }
      return Forward<Member>::call(host, args...);
    }
    static gantry_status* last(gantry_status* status) { return status; }
    template <class Other>
    static gantry_status* last(const Other&) {
      return nullptr;
    }
  };

  static const void* get_extension(const gantry_host*, const char*) {
    // The functions of an extension receive a host, too: only the real one has them.
    return nullptr;
  }

  static void log(const gantry_host* host, std::int32_t level, gantry_bytes text) {
    ForwardingHost& own = of(host);
    {
      const std::lock_guard lock(own.mutex_);
      own.logged_.emplace_back(view_of(text));
    }
    Forward<&gantry_host::log>::call(host, level, text);
  }

  static gantry_code config_get(const gantry_host* host, gantry_bytes key, gantry_value* borrowed,
                                gantry_status* status) {
    ForwardingHost& own = of(host);
    {
      const std::lock_guard lock(own.mutex_);
      own.options_.emplace(view_of(key));
    }
    return Forward<&gantry_host::config_get>::call(host, key, borrowed, status);
  }

  static gantry_host table() {
    gantry_host t{};
    t.get_extension = get_extension;
    t.log = log;
    t.config_get = config_get;
    t.is_cancelled = Forward<&gantry_host::is_cancelled>::call;
    t.text_new = Create<&gantry_host::text_new>::call;
    t.shape_new = Create<&gantry_host::shape_new>::call;
    t.items_new = Create<&gantry_host::items_new>::call;
    t.items_get = Forward<&gantry_host::items_get>::call;
    t.error_new = Create<&gantry_host::error_new>::call;
    t.object_new = Create<&gantry_host::object_new>::call;
    t.object_get = Forward<&gantry_host::object_get>::call;
    t.tensor_new = Create<&gantry_host::tensor_new>::call;
    t.tensor_view = Create<&gantry_host::tensor_view>::call;
    t.tensor_copy = Forward<&gantry_host::tensor_copy>::call;
    t.module_new = Create<&gantry_host::module_new>::call;
    t.function_new = Create<&gantry_host::function_new>::call;
    t.module_info = Forward<&gantry_host::module_info>::call;
    t.find = Forward<&gantry_host::find>::call;
    t.call = Forward<&gantry_host::call>::call;
    t.device_type = Forward<&gantry_host::device_type>::call;
    t.device_type_in = Forward<&gantry_host::device_type_in>::call;
    t.device_get = Forward<&gantry_host::device_get>::call;
    return t;
  }
};

namespace {

std::vector<std::uint8_t> image_of(gantry_host table, const ForwardingSettings& settings,
                                   ForwardingHost* owner) {
  table.struct_size = static_cast<std::uint32_t>(sizeof table + settings.junk_bytes);
  table.abi_minor = settings.abi_minor;
  const Front front{owner, 0};
  // A plugin that uses a member that it does not know calls an address that is not mapped.
  std::vector<std::uint8_t> image(
      sizeof front + sizeof table + settings.junk_bytes + settings.slack_bytes, 0x5a);
  std::memcpy(image.data(), &front, sizeof front);
  std::memcpy(image.data() + sizeof front, &table, sizeof table);
  return image;
}

}  // namespace

ForwardingHost::ForwardingHost(const gantry_host* real, const ForwardingSettings& settings)
    : real_(real),
      memory_(image_of(Entries::table(), settings, this)),
      table_(reinterpret_cast<const gantry_host*>(memory_.bytes().data() + sizeof(Front))) {}

std::set<std::string> ForwardingHost::requested_options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

std::vector<std::string> ForwardingHost::logged_texts() const {
  const std::lock_guard lock(mutex_);
  return logged_;
}

}  // namespace gantry::kit
