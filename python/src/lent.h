// Lent: an array's memory for the time of a collective.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "binding.h"
#include "muster/base/buffer.h"
#include "muster/collectives/view.h"

namespace muster::python {

// An object of Python's that may be let go wherever it is dropped.
using Kept = std::shared_ptr<PyObject>;
Kept keep(nb::handle object);

class Lent {
 public:
  // Raises for what no collective can work on. None is nothing at all.
  Lent(nb::handle array, bool writes);

  collectives::Input input() const { return {data_, count_, element_}; }
  collectives::Output output() const { return {data_, count_, element_}; }
  // Of an array of muster.empty() that is worth it, the memory that peers may read where it lies.
  const Buffer& arena() const { return arena_; }
  // What must live as long as the operation.
  void keep_in(std::vector<Kept>& kept) const;

 private:
  collectives::Element element_ = collectives::Element::u8;
  void* data_ = nullptr;
  std::uint64_t count_ = 0;
  Kept owner_;
  Kept view_;
  Buffer arena_;
};

}  // namespace muster::python
