// KeyCache: strings that were keys a short while ago, as most dicts have the same.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "binding.h"

namespace muster::python {

// Needs the interpreter's lock.
class KeyCache {
 public:
  // Longer ones are not worth looking for.
  static constexpr std::size_t kLongest = 31;

  // A new reference. Null: Python's own error is set.
  PyObject* get(std::string_view text);

 private:
  struct Slot {
    PyObject* string = nullptr;  // ASCII, so that its characters are its bytes.
    std::string_view text() const {
      return {static_cast<const char*>(PyUnicode_DATA(string)),
              static_cast<std::size_t>(PyUnicode_GET_LENGTH(string))};
    }
  };
  std::array<Slot, 512> slots_{};
};

// The process's; its strings outlive every module.
KeyCache& keys();

}  // namespace muster::python
