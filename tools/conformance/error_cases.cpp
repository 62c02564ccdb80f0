// SPDX-License-Identifier: Apache-2.0
//
// Cases 37 to 41: failures of the plugin's functions.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/subject.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/utf8.hpp>

#include <cstring>
#include <optional>

namespace gantry::kit {
namespace {

constexpr char kPaint = '\x5a';

// A status with a text buffer of a chosen capacity in a larger painted buffer.
struct PaintedStatus {
  explicit PaintedStatus(std::uint32_t capacity) {
    std::memset(buffer, kPaint, sizeof buffer);
    status.struct_size = sizeof status;
    status.text = buffer;
    status.text_capacity = capacity;
  }
  ~PaintedStatus() {
    if (status.error != nullptr) gantry_release(status.error);
  }
  PaintedStatus(const PaintedStatus&) = delete;
  PaintedStatus& operator=(const PaintedStatus&) = delete;

  std::string_view text() const { return {buffer, status.text_size}; }
  // Empty: the contract is observed.
  //
  // is_utf8_whole  [in]  the text is UTF-8 in a buffer that is large enough
  std::string breach(bool is_utf8_whole) const {
    for (std::size_t i = status.text_capacity; i < sizeof buffer; ++i) {
      if (buffer[i] != kPaint)
        return concat("writes byte ", i, " of a text buffer of ", status.text_capacity);
    }
    if (status.code == GANTRY_OK || status.text_capacity == 0) return {};
    if (status.text_size >= status.text_capacity)
      return concat("sets text_size to ", status.text_size, " in a buffer of ",
                    status.text_capacity);
    if (buffer[status.text_size] != 0) return "does not terminate the text";
    if (is_utf8_whole && !is_utf8(text())) return "cuts the text within a character";
    return {};
  }

  gantry_status status{};
  char buffer[4096];
};

// 37
Status reports_every_failure(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
  bool any = false;
  for (const FailingCall& each : failing_calls(instance, bench->state())) {
    PaintedStatus painted(2048);
    const gantry_code code = each(&painted.status);
    if (code == GANTRY_OK) continue;
    any = true;
    if (code != GANTRY_OK && !is_failure_code(code))
      return bug(each.name, " returns ", code, ", which is not a code");
    if (code == GANTRY_BUG) return bug(each.name, " returns BUG: ", painted.text());
    if (code == GANTRY_NOT_FOUND) continue;
    if (painted.status.code == GANTRY_OK || painted.status.text_size == 0)
      return bug(each.name, " fails as ", name_of(static_cast<Code>(code)), " without a text");
    if (painted.status.code != code)
      return bug(each.name, " returns code ", code, ", its status has ", painted.status.code);
    if (!is_utf8(painted.text())) return bug(each.name, " fails with a text that is not UTF-8");
  }
  return any ? Status() : skipped("no call of the plugin fails");
}

// 38
Status respects_the_buffer(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
  for (const FailingCall& each : failing_calls(instance, bench->state())) {
    const gantry_code without = each(nullptr);
    PaintedStatus whole(2048);
    const bool is_utf8_whole = each(&whole.status) != GANTRY_OK && is_utf8(whole.text());
    for (const std::uint32_t capacity : {0u, 1u, 2u, 16u, 17u, 18u, 19u}) {
      PaintedStatus painted(capacity);
      const gantry_code with = each(&painted.status);
      if (with != without) {
        return bug(each.name, " returns ", with, " with a text buffer of ", capacity, " bytes and ",
                   without, " without a status");
      }
      if (const std::string breach = painted.breach(is_utf8_whole); !breach.empty())
        return bug(each.name, " ", breach);
    }
  }
  return {};
}

// A value that occurs in no other text; nullopt: the option has none.
std::optional<std::string> secret_value(const ConfigOption& option) {
  constexpr std::int64_t number = 815'471'163;
  switch (option.type) {
    case OptionType::text:
      return "secret-of-the-kit-815471163";
    case OptionType::path:
      return "/secret-of-the-kit/815471163";
    case OptionType::integer:
      if (option.min.value_or(0) > number || option.max.value_or(number) < number) return {};
      return std::to_string(number);
    default:
      return {};
  }
}

// 40
Status keeps_secrets(Subject& subject) {
  std::vector<ConfigText> values;
  for (const ConfigOption& option : subject.manifest().config_schema) {
    auto value = option.secret ? secret_value(option) : std::nullopt;
    if (value) values.push_back({option.name, *std::move(value), Spelling::raw});
  }
  if (values.empty()) return skipped("no option has `secret: true` and a type with free values");
  const auto check = [&](std::string_view what, std::string_view text) -> Status {
    for (const ConfigText& value : values) {
      if (text.find(value.text) != std::string_view::npos)
        return bug(what, " contains the value of option ", value.key, ", which is secret");
    }
    return {};
  };
  GANTRY_TRY(const auto bench, Bench::open(subject, values));
  ForwardingHost host(bench->host(), {.abi_minor = bench->plugin().abi_minor, .slack_bytes = 64});
  {
    const auto instance = Instance::create(bench->plugin(), host.table());
    if (!instance.ok())
      GANTRY_CHECK(check("the error of create", instance.error().message.text()));
    else
      for (const FailingCall& each : failing_calls(*instance, bench->state())) {
        PaintedStatus painted(2048);
        if (each(&painted.status) == GANTRY_OK) continue;
        GANTRY_CHECK(check("the error of " + each.name, painted.text()));
      }
  }
  for (const std::string& text : host.logged_texts()) GANTRY_CHECK(check("the log", text));
  return {};
}

// 41
Status throws_nothing(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  ForwardingHost host(bench->host(), {.abi_minor = bench->plugin().abi_minor, .slack_bytes = 64});
  StatusBuffer status;
  const auto check = [&](const Error& error) -> Status {
    if (error.reason != "EXCEPTION") return {};
    return error;
  };
  for (int allowed = 0; allowed < 4; ++allowed) {
    host.fail_after(allowed);
    const auto instance = Instance::create(bench->plugin(), host.table());
    if (!instance.ok()) {
      GANTRY_CHECK(check(instance.error()));
      continue;
    }
    for (const FailingCall& each : failing_calls(*instance, bench->state())) {
      host.fail_after(allowed);
      const gantry_code code =
          status.call([&](gantry_status* failure) { return each.make(failure); });
      if (code != GANTRY_OK) GANTRY_CHECK(check(status.error(code, each.name)));
    }
    host.fail_never();
  }
  return {};
}

constexpr Case kErrorCases[] = {
    {37, Level::L, Weight::must, "reports-every-failure",
     "a call that fails returns one of the nine codes, not BUG, and a text in UTF-8",
     "return gantry_fail(status, code, reason, text), in C++ an Error", reports_every_failure},
    {38, Level::L, Weight::must, "respects-the-text-buffer",
     "the status may be NULL or have a text buffer of any size; texts are cut at a character and "
     "terminated",
     "fill the status with gantry_fail() and gantry_status_add()", respects_the_buffer, "*"},
    {40, Level::L, Weight::must, "keeps-secrets",
     "texts of errors and of the log do not contain the value of an option with secret: true",
     "name the option instead of its value", keeps_secrets},
    {41, Level::L, Weight::must, "throws-nothing",
     "no exception leaves the plugin, also if functions of the host fail",
     "run every function inside gantry::abi_boundary(); check the results of the host's functions",
     throws_nothing},
};

}  // namespace

std::span<const Case> error_cases() { return kErrorCases; }

}  // namespace gantry::kit
