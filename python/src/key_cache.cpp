#include "key_cache.h"

#include <cstdint>
#include <utility>

namespace muster::python {

PyObject* KeyCache::get(std::string_view text) {
  std::uint64_t hash = 1469598103934665603U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  Slot& slot = slots_[hash % slots_.size()];
  if (slot.string != nullptr && slot.text() == text) return Py_NewRef(slot.string);
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (made == nullptr || !PyUnicode_IS_COMPACT_ASCII(made)) return made;
  PyObject_Hash(made);
  Py_XDECREF(std::exchange(slot.string, Py_NewRef(made)));
  return made;
}

KeyCache& keys() {
  static auto* const cache = new KeyCache;
  return *cache;
}

}  // namespace muster::python
