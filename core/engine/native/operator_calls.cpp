// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/operator_calls.hpp"

#include "core/engine/native/cpu_code.hpp"
#include "core/engine/native/packed/tvm_abi.hpp"
#include "core/formats/aot_metadata.hpp"
#include "core/formats/elf/elf_symbol_uses.hpp"

#include <gantry/concat.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct RecordedOperator {
  // NULL: the place is free
  TraceRecorder* recorder = nullptr;
  PackedCall code = nullptr;
  std::string name;
};

namespace {

// One place for each function that compiled code can call instead of an operator.
std::array<RecordedOperator, OperatorCalls::max_recorded> operators;

std::mutex& operators_mutex() {
  static std::mutex mutex;
  return mutex;
}

// As trace_arguments().
std::vector<TraceArgument> packed_arguments(const PackedValue* args, const int* codes,
                                            int count) noexcept try {
  std::vector<TraceArgument> all;
  constexpr int max = static_cast<int>(TraceLimits{}.arguments) - 2;
  for (int i = 0; i < std::min(count, max); ++i) {
    const bool is_tensor = codes[i] == kPackedTensor || codes[i] == kPackedNdArray;
    if (is_tensor && args[i].p != nullptr) {
      all.push_back(
          {concat("arg", i), TraceTensor::of(*static_cast<const gantry_tensor*>(args[i].p))});
    } else if (codes[i] == kPackedInt) {
      all.push_back({concat("arg", i), args[i].i});
    } else if (codes[i] == kPackedFloat) {
      all.push_back({concat("arg", i), args[i].f});
    }
  }
  return all;
} catch (const std::bad_alloc&) {
  return {};
}

// The place comes last, so that the other parameters stay in their registers.
[[gnu::noinline]] int call_recorded(PackedValue* args, int* codes, int count, PackedValue* result,
                                    int* result_code, void* resource, std::size_t place) {
  const RecordedOperator& called = operators[place];
  std::vector<TraceArgument> arguments = packed_arguments(args, codes, count);
  Span span(called.recorder, called.name, "call");
  span.set_arguments(std::move(arguments));
  return called.code(args, codes, count, result, result_code, resource);
}

template <std::size_t place>
int call_recorded_at(PackedValue* args, int* codes, int count, PackedValue* result,
                     int* result_code, void* resource) {
  return call_recorded(args, codes, count, result, result_code, resource, place);
}

template <std::size_t... i>
constexpr std::array<PackedCall, sizeof...(i)> callers_of(std::index_sequence<i...>) {
  return {&call_recorded_at<i>...};
}
constexpr std::array callers = callers_of(std::make_index_sequence<OperatorCalls::max_recorded>());

OperatorCalls::Place take_place(TraceRecorder& recorder, const ElfSymbol& symbol,
                                std::uintptr_t base) {
  const std::lock_guard lock(operators_mutex());
  const auto free = std::ranges::find(operators, nullptr, &RecordedOperator::recorder);
  if (free == operators.end()) return nullptr;
  free->name = symbol.name;
  free->code = reinterpret_cast<PackedCall>(base + symbol.value);
  free->recorder = &recorder;
  return OperatorCalls::Place(&*free);
}

// Returns the beginnings of the operators' names: "tvmgen_default_".
std::vector<std::string_view> operator_prefixes(const ElfFile& elf) {
  std::vector<std::string_view> prefixes;
  const ElfSymbol* const description = elf.find(aot_metadata_function);
  if (description == nullptr || !description->exported()) return prefixes;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (!symbol.exported() || !symbol.name.ends_with(main_symbol)) continue;
    const std::string_view prefix = symbol.name.substr(0, symbol.name.size() - main_symbol.size());
    if (prefix.size() > 1 && prefix.ends_with('_')) prefixes.push_back(prefix);
  }
  return prefixes;
}

// Writes a word, which the linker may have made read-only. Returns false if the system refuses.
bool write_word(const ElfFile& elf, std::uintptr_t base, std::uint64_t address, PackedCall value) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const bool is_protected = elf.image().is_protected(address, sizeof value, page);
  auto* const first = reinterpret_cast<void*>(base + address / page * page);
  if (is_protected && ::mprotect(first, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref(*reinterpret_cast<PackedCall*>(base + address))
      .store(value, std::memory_order_release);
  if (is_protected) ::mprotect(first, page, PROT_READ);
  return true;
}

}  // namespace

void OperatorCalls::Release::operator()(RecordedOperator* place) const {
  const std::lock_guard lock(operators_mutex());
  *place = {};
}

Result<OperatorCalls> OperatorCalls::record(const ElfFile& elf, std::uintptr_t base,
                                            TraceRecorder& recorder) {
  OperatorCalls calls;
  const std::vector<std::string_view> prefixes = operator_prefixes(elf);
  if (prefixes.empty()) return calls;
  const auto is_operator = [&](const ElfSymbol& symbol) {
    return symbol.exported() && symbol.type == SymbolType::function &&
           !symbol.name.ends_with(main_symbol) &&
           std::ranges::any_of(
               prefixes, [&](std::string_view prefix) { return symbol.name.starts_with(prefix); });
  };
  std::vector<std::size_t> symbols;
  for (std::size_t i = 0; i < elf.symbols().size(); ++i) {
    if (is_operator(elf.symbols()[i])) symbols.push_back(i);
  }
  GANTRY_TRY(const SymbolUses uses, uses_of(elf, symbols));
  for (const JumpSlot& slot : uses.slots) {
    Place place = take_place(recorder, elf.symbols()[slot.symbol], base);
    if (!place) break;
    const auto at = static_cast<std::size_t>(place.get() - operators.data());
    if (write_word(elf, base, slot.address, callers[at])) calls.places_.push_back(std::move(place));
  }
  return calls;
}

}  // namespace gantry
