// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/loaded_file.hpp"

#include <utility>

namespace gantry {
namespace {

// One more reference to an object that may be on its way out: false once its count has reached zero. The caller
// holds what keeps the memory in place meanwhile.
bool retain_if_alive(gantry_object& object) {
  const std::atomic_ref counts(object.counts);
  std::uint64_t seen = counts.load(std::memory_order_relaxed);
  while ((seen & UINT32_MAX) != 0) {
    if (counts.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

}  // namespace

// A pin of the root: pins go before the node's memory does.
class LoadedFiles::Ticket {
 public:
  explicit Ticket(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  ~Ticket() {
    if (slot_ == nullptr) return;
    const std::lock_guard lock(slot_->mutex);
    slot_->root = nullptr;
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  // Precondition: the slot's mutex is held, and the slot has a root.
  void stand_for(std::shared_ptr<Slot> slot) { slot_ = std::move(slot); }

 private:
  const std::shared_ptr<const MappedFile> file_;
  // NULL until the root is in it
  std::shared_ptr<Slot> slot_;
};

Result<Ref<ModuleNode>> LoadedFiles::get(std::shared_ptr<const MappedFile> file,
                                         const std::function<Result<Ref<ModuleNode>>()>& load) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(slots_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Slot>& known = slots_[file->identity()];
    slot = known.lock();
    if (slot == nullptr) known = slot = std::make_shared<Slot>();
  }
  const std::lock_guard loading(slot->loading);
  {
    const std::lock_guard lock(slot->mutex);
    if (slot->root != nullptr && retain_if_alive(slot->root->header))
      return Ref<ModuleNode>::adopt(slot->root);
  }
  GANTRY_TRY(Ref<ModuleNode> root, load());
  // A root on its way out may still hold its ticket: then this one goes unshared, rather than lose its place later.
  // All memory is had before the slot is changed: its root must not stay in it without a ticket.
  const auto ticket = std::make_shared<Ticket>(std::move(file));
  root->pins.push_back(ticket);
  const std::lock_guard lock(slot->mutex);
  if (slot->root == nullptr) {
    slot->root = root.get();
    ticket->stand_for(slot);
  }
  return root;
}

}  // namespace gantry
