// SPDX-License-Identifier: Apache-2.0
#include "core/base/running_code.hpp"

#include "core/base/owned_range.hpp"

#include <ucontext.h>
#include <unwind.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <utility>

namespace gantry {
namespace {

thread_local constinit const CallRecord* innermost = nullptr;
constinit std::atomic<const CallRecord*> of_program = nullptr;

// The registers of an interrupted thread that this file reads.
struct Registers {
  std::uintptr_t instruction = 0;
  // where a function that was just entered returns to; 0: that is on the stack
  std::uintptr_t link = 0;
  std::uintptr_t stack = 0;

  // Precondition: a function was just entered.
  std::uintptr_t caller() const noexcept {
    std::uintptr_t address = link;
    if (address == 0 && stack != 0)
      std::memcpy(&address, reinterpret_cast<const void*>(stack), sizeof address);
    return address;
  }

  static Registers of(const void* context) noexcept {
    const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return {static_cast<std::uintptr_t>(machine.gregs[REG_RIP]), 0,
            static_cast<std::uintptr_t>(machine.gregs[REG_RSP])};
#elif defined(__aarch64__)
    return {machine.pc, machine.regs[30], machine.sp};
#else
    (void)machine;
    return {};
#endif
  }
};

bool is_code(const FoundRange& range) { return range.kind != RangeKind::file; }
bool is_plugin(const FoundRange& range) { return range.kind == RangeKind::plugin; }

// Finds the innermost frame of this stack in a library that `accepts`.
struct StackSearch {
  bool (*accepts)(const FoundRange& range);
  FoundRange found;
  // in the range that was found
  std::uintptr_t address = 0;
  bool has_found = false;

  bool try_address(std::uintptr_t candidate) noexcept {
    has_found = candidate != 0 && found.find(candidate) && accepts(found);
    address = candidate;
    return has_found;
  }
  bool walk() noexcept {
    _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* search) {
          return static_cast<StackSearch*>(search)->try_address(_Unwind_GetIP(frame))
                     ? _URC_END_OF_STACK
                     : _URC_NO_REASON;
        },
        this);
    return has_found;
  }
  bool search(const StackOfSignal& stack) noexcept {
    const Registers at = Registers::of(stack.context);
    if (stack.has_no_code) return try_address(at.caller());
    return try_address(at.instruction) || (stack.is_readable && walk());
  }
};

// "acme.npu" of "acme.npu 1.0.0"
std::string_view id_of(std::string_view title) { return title.substr(0, title.find(' ')); }

}  // namespace

CallRecord::CallRecord(std::string_view function) noexcept : function_(function) {
  is_of_program_ = true;
  begin();
  of_program.store(this, std::memory_order_release);
}

void CallRecord::begin() noexcept {
  outer_ = innermost;
  innermost = this;
  is_open_ = true;
}

void CallRecord::end() noexcept {
  innermost = outer_;
  if (is_of_program_)
    of_program.store(outer_ != nullptr && outer_->is_of_program_ ? outer_ : nullptr,
                     std::memory_order_release);
}

const CallRecord* CallRecord::current() noexcept {
  return innermost != nullptr ? innermost : of_program.load(std::memory_order_acquire);
}

SignalLine& SignalLine::add(std::string_view text) noexcept {
  // Room for the line break.
  size_ += text.copy(text_ + size_, sizeof text_ - 1 - size_);
  return *this;
}

SignalLine& SignalLine::add_number(std::uint64_t number) noexcept {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return add({digits, static_cast<std::size_t>(end - digits)});
}

SignalLine& SignalLine::add_address(std::uintptr_t address) noexcept {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, address, 16).ptr;
  return add("0x").add({digits, static_cast<std::size_t>(end - digits)});
}

SignalLine& SignalLine::add_running_code(const RunningCodeWords& words,
                                         const StackOfSignal& stack) noexcept {
  StackSearch search{is_code, {}};
  search.search(stack);
  const CallRecord* const call = stack.has_calls ? CallRecord::current() : nullptr;
  // of the call, if it is not named yet
  std::string_view name = call != nullptr ? call->name() : std::string_view();
  const auto noun = [](bool plugin) { return plugin ? "plugin " : "the code of "; };
  const bool is_of_plugin = call != nullptr && call->owner() == CallRecord::Owner::plugin;
  std::string_view preposition = words.preposition;
  if (search.has_found) {
    const bool found_plugin = is_plugin(search.found);
    const std::string_view title(search.found.title);
    add(noun(found_plugin)).add(title).add(" ").add(words.verb);
    if (found_plugin == is_of_plugin && (found_plugin ? id_of(title) : title) == name) name = {};
  } else if (!name.empty()) {
    add(noun(is_of_plugin)).add(std::exchange(name, {})).add(" ").add(words.verb);
  } else {
    add(words.otherwise);
    preposition = "in";
  }
  if (call != nullptr) add(" ").add(preposition).add(" ").add(call->function());
  if (!name.empty()) add(" of ").add(is_of_plugin ? "plugin " : "").add(name);
  return *this;
}

SignalLine& SignalLine::add_place_in_library(const StackOfSignal& stack) noexcept {
  StackSearch search{is_plugin, {}};
  if (!search.search(stack)) return *this;
  return add(" at ").add_address(search.address - search.found.first).add(" of its library");
}

void SignalLine::write(int descriptor) noexcept {
  text_[size_++] = '\n';
  (void)!::write(descriptor, text_, size_);
}

std::string_view plugin_on_this_stack(char* id) noexcept {
  StackSearch stack{is_plugin, {}};
  if (!stack.walk()) return {};
  const std::string_view found = id_of(stack.found.title);
  return {id, found.copy(id, found.size())};
}

std::uintptr_t StackOfSignal::instruction() const noexcept {
  return Registers::of(context).instruction;
}

}  // namespace gantry
