// SPDX-License-Identifier: Apache-2.0
//
// Cases 51 to 60 and 62: payloads, valid and damaged, at any address.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/process_counts.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

namespace gantry::kit {
namespace {

constexpr std::size_t kTruncations = 64;
constexpr int kLoads = 100;
constexpr int kLoadThreads = 16;

// 51
Status gives_golden_results(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    GANTRY_TRY(const auto device, stage.device_for(payload));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    if (module.consumed != payload.bytes.size())
      return bug("load_binary consumes ", module.consumed, " of ", payload.bytes.size(), " bytes");
    return check_calls(stage, *device, module, payload);
  });
}

// The first bytes of a payload, as many as the cases on truncation use.
std::vector<std::size_t> truncations_of(std::size_t size) {
  std::vector<std::size_t> all{0, 1};
  for (std::size_t k = 1; k < kTruncations; ++k) all.push_back(k * size / kTruncations);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [&](std::size_t cut) { return cut >= size; });
  return all;
}

// A failure of a damaged payload: a code other than BUG, with a text.
Status check_refusal(const Error& error) {
  if (error.code == Code::bug)
    return bug("load_binary returns BUG for a damaged payload: ", first_line(error));
  return {};
}

// 52
Status refuses_truncations(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    for (const std::size_t size : truncations_of(payload.bytes.size())) {
      const PinnedBytes given = pinned({payload.bytes.data(), size});
      const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
      const std::string what = concat("the first ", size, " of ", payload.bytes.size(), " bytes");
      if (module.ok()) {
        // It may be read later, by a look-up or a call.
        const auto device = stage.device_for(payload);
        if (!device.ok() || payload.calls.empty() ||
            check_calls(stage, **device, *module, payload).ok())
          return bug("load_binary accepts ", what);
        continue;
      }
      const Code code = module.error().code;
      if (code != Code::malformed && code != Code::unsupported) {
        return bug("load_binary refuses ", what, " as ", name_of(code),
                   ", expected malformed: ", first_line(module.error()));
      }
    }
    return {};
  });
}

// 53
Status survives_mutations(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  const int count = subject.options().mutations;
  return for_each_payload(subject, [=](Stage& stage, const Payload& payload) -> Status {
    if (payload.bytes.empty()) return skipped("the payload is empty");
    std::mt19937_64 random(seed);
    for (int k = 0; k < count; ++k) {
      std::vector<std::uint8_t> damaged = payload.bytes;
      for (std::uint64_t n = 1 + random() % 4; n != 0; --n) {
        // The payload's structure is at its start.
        const std::size_t range =
            k % 2 == 0 ? damaged.size() : std::min<std::size_t>(damaged.size(), 256);
        damaged[random() % range] = k % 3 == 0 ? 0xff : static_cast<std::uint8_t>(random());
      }
      const PinnedBytes given = pinned(damaged);
      const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
      if (module.ok()) continue;
      Status judged = check_refusal(module.error());
      if (!judged.ok()) return std::move(judged).error().at("of mutation ", k, " with seed ", seed);
    }
    return {};
  });
}

// 54
Status refuses_trailing_bytes(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    std::vector<std::uint8_t> longer = payload.bytes;
    longer.push_back(0);
    const PinnedBytes given = pinned(longer);
    const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
    if (module.ok() && module->consumed == longer.size())
      return bug("load_binary accepts a byte after the payload");
    if (module.ok()) return {};
    return check_refusal(module.error());
  });
}

// 56
Status loads_from_every_address(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    for (std::size_t offset = 0; offset < 64; ++offset) {
      const PinnedBytes given = pinned(payload.bytes, offset);
      const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
      if (module.ok()) continue;
      const auto address = reinterpret_cast<std::uintptr_t>(given.bytes->bytes().data());
      return bug("load_binary fails at an address that is ", address % 64,
                 " modulo 64: ", first_line(module.error()));
    }
    return {};
  });
}

// 57
Status leaves_payloads_unchanged(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    const auto device = stage.device_for(payload);
    if (device.ok()) GANTRY_CHECK(check_golden(stage, **device, payload));
    const PinnedBytes given = pinned(payload.bytes, 0, GuardedBytes::Access::read_only);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    return device.ok() ? check_calls(stage, **device, module, payload) : Status();
  });
}

Status look_up_all(const Stage& stage, const LoadedModule& module, const Payload& payload) {
  for (const GoldenCall& call : payload.calls) {
    GANTRY_TRY(const LoadedFunction function, stage.function(module, call.function));
  }
  return {};
}

// 58
Status pins_what_it_keeps(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    const auto device = stage.device_for(payload);
    if (device.ok()) GANTRY_CHECK(check_golden(stage, **device, payload));
    PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    // Unmaps the bytes, unless the module has retained the pin.
    given = {};
    if (device.ok()) return check_calls(stage, **device, module, payload);
    return look_up_all(stage, module, payload);
  });
}

// 59
Status releases_its_pin(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    PinnedBytes given = pinned(payload.bytes);
    const std::weak_ptr<GuardedBytes> alive = given.bytes;
    {
      GANTRY_TRY(const LoadedModule module,
                 stage.load(payload, given.bytes->bytes(), given.pin.get()));
      GANTRY_CHECK(look_up_all(stage, module, payload));
      given = {};
    }
    if (alive.expired()) return {};
    return bug("the payload's pin is retained after the module is destroyed");
  });
}

// 60
Status loads_repeatedly(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    const PinnedBytes given = pinned(payload.bytes);
    std::atomic<int> failed{0};
    std::mutex mutex;
    std::string why;
    const auto load_often = [&] {
      for (int k = 0; k < kLoads; ++k) {
        const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
        if (module.ok()) continue;
        ++failed;
        const std::lock_guard lock(mutex);
        why = first_line(module.error());
      }
    };
    // Creates what is kept until the process ends.
    load_often();
    const std::uint64_t before = process_counts().heap_bytes;
    load_often();
    const std::uint64_t after = process_counts().heap_bytes;
    if (failed != 0) return bug(failed.load(), " of ", 2 * kLoads, " loads fail: ", why);
    if (after > before + kLoads * 16)
      return bug(kLoads, " modules leave ", after - before, " bytes allocated");
    if ((stage.loader_for(payload).flags & GANTRY_LOADER_PARALLEL) == 0) return {};
    std::vector<std::thread> threads;
    for (int t = 0; t < kLoadThreads; ++t) threads.emplace_back(load_often);
    for (std::thread& thread : threads) thread.join();
    if (failed != 0) return bug(failed.load(), " loads on ", kLoadThreads, " threads fail: ", why);
    return {};
  });
}

// 62
Status checks_as_it_loads(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    const std::size_t whole = payload.bytes.size();
    for (const std::size_t size : {whole, whole / 2, std::min<std::size_t>(whole, 3)}) {
      const std::span<const std::uint8_t> bytes(payload.bytes.data(), size);
      const auto verdict = stage.verdict(payload, bytes);
      if (verdict.ok() && !*verdict) return skipped("the loader has no check_binary");
      const auto module = stage.load(payload, bytes, empty_pin().get());
      const std::string what = concat(size, " of ", whole, " bytes");
      const bool runs = verdict.ok() && **verdict != GANTRY_VERDICT_NO;
      if (verdict.ok() && (**verdict < GANTRY_VERDICT_NO || **verdict > GANTRY_VERDICT_OPTIMAL))
        return bug("check_binary returns verdict ", **verdict, ", which is none");
      if (module.ok() == runs) continue;
      // A device that is absent makes the check fail, but not the load.
      if (!verdict.ok() && verdict.error().code == Code::unavailable) continue;
      return bug("check_binary ", runs ? "accepts " : "refuses ", what, ", load_binary ",
                 module.ok() ? "accepts them" : "refuses them: ",
                 module.ok() ? "" : first_line(module.error()));
    }
    return {};
  });
}

constexpr Case kBlobCases[] = {
    {51, Level::D, Weight::must, "golden-results",
     "each golden payload loads and its calls give the expected results",
     "correct the kernel, or the payload file", gives_golden_results},
    {52, Level::D, Weight::must, "refuses-truncations",
     "a payload that is cut at 66 offsets is malformed and not read past its end",
     "compare every number with the remaining bytes before using it; gantry::ByteReader does",
     refuses_truncations, "*"},
    {53, Level::D, Weight::must, "survives-mutations",
     "10,000 damaged payloads load or fail with a code other than BUG and a text",
     "treat payloads as untrusted; the seed and the number of the mutation repeat the failure",
     survives_mutations, "*"},
    {54, Level::D, Weight::must, "refuses-trailing-bytes",
     "an EXACT payload with one more byte is refused or not consumed completely",
     "report as consumed what the format describes, and refuse the rest of an EXACT payload",
     refuses_trailing_bytes},
    {56, Level::D, Weight::must, "loads-from-every-address",
     "a payload loads from 64 addresses, one for each alignment",
     "read numbers with memcpy; copy data for a driver that requires an alignment",
     loads_from_every_address, "*"},
    {57, Level::D, Weight::must, "leaves-payloads-unchanged",
     "a payload in read-only memory loads and runs", "copy the payload before changing it",
     leaves_payloads_unchanged, "*"},
    {58, Level::D, Weight::must, "pins-what-it-keeps",
     "a module works after the host has released the payload",
     "retain blob->pin as long as the bytes are used, or copy them", pins_what_it_keeps, "*"},
    {59, Level::D, Weight::must, "releases-its-pin",
     "the payload's pin is released with the module", "release the pin once in destroy()",
     releases_its_pin},
    {60, Level::D, Weight::must, "loads-repeatedly",
     "100 loads leave no memory; with GANTRY_LOADER_PARALLEL also loads on 16 threads succeed",
     "free the module in destroy(); guard what loads share", loads_repeatedly},
    {62, Level::D, Weight::must, "checks-as-it-loads",
     "check_binary accepts a payload if and only if load_binary does",
     "parse the payload with the same function in both", checks_as_it_loads},
};

}  // namespace

std::span<const Case> blob_cases() { return kBlobCases; }

}  // namespace gantry::kit
