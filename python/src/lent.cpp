// Needs the interpreter's lock, but for keep_in().

#include "lent.h"

#include <optional>
#include <string>

#include "arrays.h"
#include "errors.h"
#include "interpreter.h"

namespace muster::python {
namespace {

using collectives::Element;

// Below it all arrays are copied anyway.
constexpr Py_ssize_t kWorthIntroducing = Py_ssize_t{64} << 10;

std::optional<Element> element_of(char kind, Py_ssize_t size) {
  if (kind == 'i' && size == 1) return Element::i8;
  if ((kind == 'u' || kind == 'b') && size == 1) return Element::u8;
  if (kind == 'i' && size == 4) return Element::i32;
  if (kind == 'i' && size == 8) return Element::i64;
  if (kind == 'f' && size == 2) return Element::f16;
  if (kind == 'f' && size == 4) return Element::f32;
  if (kind == 'f' && size == 8) return Element::f64;
  return std::nullopt;
}

Element element_of(nb::handle array) {
  if (nb::hasattr(array, "dtype") && nb::hasattr(array.attr("dtype"), "kind")) {
    const nb::object dtype = array.attr("dtype");
    const auto kind = nb::cast<std::string>(dtype.attr("kind")).at(0);
    const auto element = element_of(kind, nb::cast<Py_ssize_t>(dtype.attr("itemsize")));
    if (element && nb::cast<bool>(dtype.attr("isnative"))) return *element;
  }
  raise(Error(Code::unsupported,
              "a collective: it works on numpy arrays of int8, uint8, int32, int64, float16, "
              "float32 or float64; convert with astype(), or a tensor with numpy()"));
}

}  // namespace

Kept keep(nb::handle object) { return {object.inc_ref().ptr(), bury}; }

Lent::Lent(nb::handle array, bool writes) {
  if (array.is_none()) return;
  element_ = element_of(array);
  owner_ = keep(array);
  view_ = Kept(PyMemoryView_FromObject(array.ptr()), bury);
  if (view_ == nullptr) throw nb::python_error();
  const Py_buffer* view = PyMemoryView_GET_BUFFER(view_.get());
  if (PyBuffer_IsContiguous(view, 'C') == 0 || (writes && view->readonly != 0)) {
    raise(Error(Code::invalid, writes
                                   ? "a collective: what is written must be a writable array in C "
                                     "order"
                                   : "a collective: an array must be in C order; see "
                                     "numpy.ascontiguousarray()"));
  }
  data_ = view->buf;
  if (view->len >= kWorthIntroducing && is_array(array)) {
    if (const Memory* memory = memory_of(array)) arena_ = memory->buffer();
  }
  count_ = static_cast<std::uint64_t>(view->len) / collectives::size_of(element_);
}

void Lent::keep_in(std::vector<Kept>& kept) const {
  if (owner_ == nullptr) return;
  kept.push_back(view_);
  kept.push_back(owner_);
}

}  // namespace muster::python
