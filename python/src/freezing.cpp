#include "freezing.h"

#include <iterator>
#include <utility>

#include "interpreter.h"
#include "muster/base/buffer.h"

namespace muster::python {
namespace {

thread_local Freezing* innermost = nullptr;

nb::object helpers() { return nb::module_::import_("muster._arrays"); }

bool is_read(const Memory& memory) {
  const BufferOwner* owner = memory.buffer().owner();
  return owner != nullptr && !owner->is_unique();
}

}  // namespace

Freezing::Freezing() : outer_(std::exchange(innermost, this)) {}

Freezing::~Freezing() {
  innermost = outer_;
  for (const Frozen& frozen : frozen_) {
    if (is_read(*frozen.memory)) continue;
    if (frozen.was_writable) frozen.memory->thaw();
    try {
      call(helpers().attr("thaw"), frozen.parts);
    } catch (const nb::python_error&) {
      continue;  // It stays read-only, which harms nobody; what has failed is being raised.
    }
  }
}

void Freezing::keep() {
  if (outer_ != nullptr) {
    outer_->frozen_.insert(outer_->frozen_.end(), std::make_move_iterator(frozen_.begin()),
                           std::make_move_iterator(frozen_.end()));
  }
  frozen_.clear();
}

void Freezing::freeze(nb::handle array, Memory& memory) {
  const bool was_writable = memory.is_writable();
  if (was_writable) memory.freeze();
  nb::object parts = call(helpers().attr("freeze"), array);
  if (innermost == nullptr) return;
  innermost->frozen_.push_back({nb::borrow(array), &memory, std::move(parts), was_writable});
}

}  // namespace muster::python
