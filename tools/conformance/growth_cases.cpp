// SPDX-License-Identifier: Apache-2.0
//
// Cases 30 to 36: hosts and structs of other versions.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/subject.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace gantry::kit {
namespace {

constexpr std::uint8_t kPoison = 0xa5;

// 30
Status accepts_the_first_host(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  ForwardingHost host(bench->host(), {.abi_minor = bench->plugin().table.abi.min_minor});
  const auto instance = Instance::create(bench->plugin(), host.table());
  if (instance.ok()) {
    make_failing_calls(*instance, bench->state());
    return {};
  }
  const Error& error = instance.error();
  if (error.reason == "EXCEPTION") return error;
  if (error.code == Code::unsupported || error.code == Code::unavailable) return {};
  return bug("create fails as ", name_of(error.code),
             ", expected success or unsupported: ", first_line(error));
}

// 31
Status accepts_longer_hosts(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  ForwardingHost host(bench->host(), {.abi_minor = bench->plugin().abi_minor, .junk_bytes = 256});
  GANTRY_TRY(const Instance instance, created(bench->plugin(), host.table()));
  make_failing_calls(instance, bench->state());
  return {};
}

// A status between poisoned bytes.
class PoisonedStatus {
 public:
  PoisonedStatus() {
    std::memset(image_, kPoison, sizeof image_);
    gantry_status& status = *get();
    status.struct_size = sizeof status;
    status.code = GANTRY_OK;
    status.text = text_;
    status.text_capacity = sizeof text_;
    status.text_size = 0;
    status.error = nullptr;
  }
  ~PoisonedStatus() {
    if (get()->error != nullptr) gantry_release(get()->error);
  }
  PoisonedStatus(const PoisonedStatus&) = delete;
  PoisonedStatus& operator=(const PoisonedStatus&) = delete;

  gantry_status* get() { return reinterpret_cast<gantry_status*>(image_); }
  bool is_intact() const {
    for (std::size_t i = sizeof(gantry_status); i < sizeof image_; ++i) {
      if (image_[i] != kPoison) return false;
    }
    return true;
  }

 private:
  alignas(gantry_status) std::uint8_t image_[sizeof(gantry_status) + 64];
  char text_[512];
};

// 32
Status keeps_to_struct_size(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
  bool any = false;
  for (const FailingCall& each : failing_calls(instance, bench->state())) {
    PoisonedStatus status;
    const gantry_code code = each(status.get());
    any = any || (code != GANTRY_OK && status.get()->code != GANTRY_OK);
    if (!status.is_intact())
      return bug(each.name, " writes behind the struct_size of its status, ",
                 sizeof(gantry_status));
  }
  return any ? Status() : skipped("no call of the plugin fails with a status");
}

// 36
Status refuses_unknown_extensions(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
  std::vector<std::string> unknown{"", "vendor.unknown/1", std::string(65536, 'x')};
  for (const std::string known : {GANTRY_GLOBALS_1, GANTRY_GENERATOR_1}) {
    for (const std::string& id :
         {known + "x", known + "/1", known + " ", known.substr(0, known.size() - 1)}) {
      unknown.push_back(id);
    }
  }
  for (const std::string& id : unknown) {
    if (instance.plugin().table.get_extension(instance.self(), id.c_str()) != nullptr)
      return bug("get_extension(", quoted(id), ") returns a table, expected NULL");
  }
  return {};
}

constexpr Case kGrowthCases[] = {
    {30, Level::L, Weight::must, "accepts-the-first-host",
     "a host table of ABI 1.0 without extensions, followed by an unmapped page, is enough, or "
     "create is UNSUPPORTED",
     "use a newer member of the host, or an extension, only after GANTRY_HAS() or a NULL check",
     accepts_the_first_host, "create"},
    {31, Level::L, Weight::must, "accepts-longer-hosts",
     "a host table with unknown members works; they are not used",
     "read only members that your header declares; compare struct_size with >=",
     accepts_longer_hosts, "create"},
    {32, Level::L, Weight::must, "keeps-to-struct-size",
     "a status that fails is not written behind its struct_size",
     "fill the status with gantry_fail() or gantry::to_status()", keeps_to_struct_size},
    {36, Level::L, Weight::must, "refuses-unknown-extensions",
     "get_extension returns NULL for names that it does not have, empty and long ones",
     "compare the whole name, and return NULL for every other", refuses_unknown_extensions},
};

}  // namespace

std::span<const Case> growth_cases() { return kGrowthCases; }

}  // namespace gantry::kit
