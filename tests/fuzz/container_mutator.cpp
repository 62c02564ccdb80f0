// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/container_mutator.hpp"

#include "tests/fuzz/container_form.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <utility>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

namespace gantry::fuzz {
namespace {

using Random = std::minstd_rand;

constexpr std::array<std::string_view, 22> keys = {"_lib",
                                                   "_import_tree",
                                                   "cuda",
                                                   "opencl",
                                                   "vulkan",
                                                   "metal",
                                                   "webgpu",
                                                   "hexagon",
                                                   "const_loader",
                                                   "metadata",
                                                   "ethos-n",
                                                   "AotExecutorFactory",
                                                   "dnnl_json",
                                                   "tensorrt",
                                                   "VMExecutable",
                                                   "mrvl_sim",
                                                   "metadata_module",
                                                   "relax.VMExecutable",
                                                   "static_library",
                                                   "GraphExecutorFactory",
                                                   "c",
                                                   "acme_unknown"};

std::uint64_t number(Random& random, std::uint64_t near) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return near + 1;
    case 2:
      return near - 1;
    case 3:
      return std::uint64_t{1} << (random() % 64);
    case 4:
      return ~std::uint64_t{0} - random() % 16;
    case 5:
      return near << (random() % 8);
    default:
      return random() % 64;
  }
}

void change_word(Random& random, std::vector<std::uint64_t>& words) {
  if (words.empty() || random() % 4 == 0) {
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(random() % (words.size() + 1)),
                 number(random, words.size()));
  } else if (random() % 4 == 0) {
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size()));
  } else {
    std::uint64_t& word = words[random() % words.size()];
    word = number(random, word);
  }
}

void change_payload(Random& random, std::vector<std::uint8_t>& payload) {
  const std::size_t size = payload.size();
  if (size != 0 && random() % 4 == 0) {
    payload.resize(random() % size);
    return;
  }
  payload.resize(size + 64);
  payload.resize(LLVMFuzzerMutate(payload.data(), size, payload.size()));
}

void change(Random& random, ContainerForm& form) {
  auto& entries = form.entries;
  const std::size_t which = entries.empty() ? 0 : random() % entries.size();
  const auto at = entries.begin() + static_cast<std::ptrdiff_t>(which);
  switch (random() % 16) {
    case 0:
      if (!entries.empty()) at->key = keys[random() % keys.size()];
      break;
    case 1:
      if (!entries.empty() && !at->key.empty()) {
        at->key[random() % at->key.size()] = static_cast<char>(random());
      }
      break;
    case 2:
      if (!entries.empty()) at->length = number(random, at->payload.size());
      break;
    case 3:
      form.count = number(random, entries.size() + 1);
      break;
    case 4:
      form.header = number(random, form.bytes().size() - 8);
      break;
    case 5:
      change_word(random, form.rows);
      break;
    case 6:
      change_word(random, form.children);
      break;
    case 7:
      if (entries.size() > 1) {
        std::swap(at->payload, entries[random() % entries.size()].payload);
      }
      break;
    case 8:
      if (entries.size() > 1) std::swap(*at, entries[random() % entries.size()]);
      break;
    case 9:
      if (!entries.empty() && entries.size() < 64) {
        const FormEntry copy = *at;
        entries.insert(at, copy);
      }
      break;
    case 10:
      if (!entries.empty()) entries.erase(at);
      break;
    case 11:
      form.tree_first = !form.tree_first;
      break;
    case 12:
      form.has_tree = !form.has_tree;
      break;
    case 13:
      change_payload(random, form.behind);
      break;
    case 14:
      form.make_star();
      break;
    default:
      if (!entries.empty()) change_payload(random, at->payload);
  }
}

}  // namespace

std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  Random random(seed + 1);
  std::optional<ContainerForm> form;
  if (random() % 8 != 0) form = ContainerForm::read({data, size});
  if (!form) return LLVMFuzzerMutate(data, size, max);

  for (std::size_t changes = random() % 3 + 1; changes > 0; --changes) change(random, *form);
  // Half of the results have correct numbers, so that the reader reaches the later fields.
  if (random() % 2 == 0) {
    form->header.reset();
    form->count.reset();
    for (FormEntry& entry : form->entries) entry.length.reset();
    if (form->rows.size() != form->entries.size() + 1) form->make_star();
  }
  std::vector<std::uint8_t> bytes = form->bytes();
  if (random() % 16 == 0) bytes.resize(random() % (bytes.size() + 1));
  const std::size_t kept = std::min(bytes.size(), max);
  std::copy_n(bytes.begin(), kept, data);
  return kept;
}

}  // namespace gantry::fuzz
