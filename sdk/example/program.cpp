// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace abacus {
namespace {

enum class Operand : std::uint8_t { none, buffer, scalar, number };

struct Known {
  std::string_view name;
  Word word;
  Operand operand;
  int pops, pushes;
};
constexpr Known words[] = {
    {"get", Word::get, Operand::buffer, 0, 1},        {"put", Word::put, Operand::buffer, 1, 0},
    {"scalar", Word::scalar, Operand::scalar, 0, 1},  {"below", Word::below, Operand::scalar, 0, 0},
    {"const", Word::constant, Operand::number, 0, 1}, {"add", Word::add, Operand::none, 2, 1},
    {"sub", Word::sub, Operand::none, 2, 1},          {"mul", Word::mul, Operand::none, 2, 1},
    {"div", Word::div, Operand::none, 2, 1},          {"max", Word::max, Operand::none, 2, 1},
    {"min", Word::min, Operand::none, 2, 1},          {"neg", Word::neg, Operand::none, 1, 1},
    {"abs", Word::abs, Operand::none, 1, 1},          {"sqrt", Word::sqrt, Operand::none, 1, 1},
    {"exp", Word::exp, Operand::none, 1, 1},          {"lose", Word::lose, Operand::none, 0, 0},
};

// Returns the next word of a line; empty at its end.
std::string_view next_word(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return line = {};
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
  line.remove_prefix(word.size());
  return word;
}

template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class Reader {
 public:
  Reader(std::string_view text, std::uint64_t at, const gantry::KernelTable& kernels)
      : text_(text), at_(at), kernels_(kernels) {}

  gantry::Result<std::vector<Program>> read() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      line_at_ = at_ + static_cast<std::uint64_t>(line.data() - text_.data());
      rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
      GANTRY_CHECK(read_line(line.substr(0, line.find('#'))));
    }
    GANTRY_CHECK(end_program());
    for (const gantry::KernelInfo& kernel : kernels_.kernels()) {
      if (!has_program(kernel.name))
        return refuse("kernel ", gantry::quoted(kernel.name), " has no program");
    }
    return std::move(programs_);
  }

 private:
  template <class... Parts>
  gantry::Error refuse(const Parts&... parts) const {
    return gantry::malformed(line_at_, "abacus: ", parts...).with_reason("BLOB_FORMAT");
  }
  bool has_program(std::string_view name) const {
    return std::ranges::count(programs_, name, &Program::name) != 0;
  }

  gantry::Status read_line(std::string_view line) {
    const std::string_view word = next_word(line);
    if (word.empty()) return {};
    const std::string_view operand = next_word(line);
    if (!next_word(line).empty()) return refuse("more than two words in a line");
    if (word == "kernel") return begin_program(operand);
    if (kernel_ == nullptr) return refuse(gantry::quoted(word), " precedes the first kernel");
    const auto step = std::ranges::find(words, word, &Known::name);
    if (step == std::end(words)) return refuse("word ", gantry::quoted(word), " is unknown");
    return add(*step, operand);
  }

  gantry::Status begin_program(std::string_view name) {
    GANTRY_CHECK(end_program());
    kernel_ = kernels_.find(name);
    if (kernel_ == nullptr) {
      return refuse("program ", gantry::quoted(name), " is not a kernel of the table");
    }
    if (has_program(name)) return refuse("program ", gantry::quoted(name), " occurs twice");
    programs_.push_back({std::string(name), {}});
    depth_ = 0;
    return {};
  }

  gantry::Status end_program() const {
    if (depth_ == 0) return {};
    return refuse("program ", gantry::quoted(kernel_->name), " leaves ", depth_,
                  " numbers on its stack");
  }

  gantry::Status add(const Known& known, std::string_view operand) {
    Step step{known.word};
    switch (known.operand) {
      case Operand::none:
        if (!operand.empty()) return refuse(gantry::quoted(known.name), " has an operand");
        break;
      case Operand::number: {
        const auto number = number_in<float>(operand);
        if (!number) return refuse(gantry::quoted(operand), " is not a number");
        step.number = *number;
        break;
      }
      case Operand::buffer:
      case Operand::scalar: {
        const auto parameter = number_in<std::uint32_t>(operand);
        const std::size_t count = kernel_->parameters.size();
        if (!parameter || *parameter >= count) {
          return refuse("parameter ", gantry::quoted(operand), " does not exist, the kernel has ",
                        count);
        }
        const bool is_of_buffer = known.operand == Operand::buffer;
        if (is_buffer(kernel_->parameters[*parameter]) != is_of_buffer) {
          return refuse("parameter ", *parameter, " is not a ", is_of_buffer ? "buffer" : "number");
        }
        step.parameter = *parameter;
        break;
      }
    }
    if (depth_ < known.pops) {
      return refuse(gantry::quoted(known.name), " requires ", known.pops,
                    " numbers, the stack has ", depth_);
    }
    depth_ += known.pushes - known.pops;
    if (depth_ > static_cast<int>(max_stack))
      return refuse("the stack grows beyond ", max_stack, " numbers");
    programs_.back().steps.push_back(step);
    return {};
  }

  std::string_view text_;
  std::uint64_t at_;
  const gantry::KernelTable& kernels_;
  std::uint64_t line_at_ = 0;
  // Of the program that is being read.
  const gantry::KernelInfo* kernel_ = nullptr;
  int depth_ = 0;
  std::vector<Program> programs_;
};

}  // namespace

gantry::Result<std::vector<Program>> read_programs(std::string_view text, std::uint64_t at,
                                                   const gantry::KernelTable& kernels) {
  return Reader(text, at, kernels).read();
}

}  // namespace abacus
