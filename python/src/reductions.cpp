// A function of Python's is called by whichever thread carries the operation out:
// it takes the interpreter's lock, and gets copies, which it may keep.

#include "reductions.h"

#include <cstring>
#include <string>
#include <utility>

#include "arrays.h"
#include "errors.h"
#include "interpreter.h"

namespace muster::python {
namespace {

using collectives::Element;
using collectives::Reduction;

Reduction to_reduction(const std::string& word) {
  if (word == "sum") return Reduction::sum;
  if (word == "product") return Reduction::product;
  if (word == "min") return Reduction::min;
  if (word == "max") return Reduction::max;
  if (word == "mean") return Reduction::mean;
  if (word == "and") return Reduction::logical_and;
  if (word == "or") return Reduction::logical_or;
  raise(Error(Code::invalid,
              "a reduction is sum, product, min, max, mean, and, or, or a function: " + word));
}

wire::DType dtype_of(Element element) {
  switch (element) {
    case Element::i8: return wire::DType::i8;
    case Element::u8: return wire::DType::u8;
    case Element::i32: return wire::DType::i32;
    case Element::i64: return wire::DType::i64;
    case Element::f16: return wire::DType::f16;
    case Element::bf16: return wire::DType::bf16;
    case Element::f32: return wire::DType::f32;
    case Element::f64: return wire::DType::f64;
  }
  return wire::DType::u8;
}

class Caller {
 public:
  Caller(nb::handle function, Element element, std::shared_ptr<Verdict> verdict)
      : function_(keep(function)), element_(element), verdict_(std::move(verdict)) {}

  void operator()(const void* left, const void* right, void* to, std::size_t count) const {
    if (is_closing()) return;
    const Locked locked;
    const Stays stays;
    if (verdict_->raised != nullptr) return;
    try {
      combine(left, right, to, count);
    } catch (nb::python_error& raised) {
      verdict_->raised = keep(raised.value());
      verdict_->mine = verdict_->rank + 1;
    }
  }

 private:
  void combine(const void* left, const void* right, void* to, std::size_t count) const {
    const std::size_t size = count * collectives::size_of(element_);
    const nb::object made =
        nb::module_::import_("muster._arrays")
            .attr("combine")(nb::handle(function_.get()), copy(left, count), copy(right, count));
    const nb::object view = nb::steal(PyMemoryView_FromObject(made.ptr()));
    if (!view.is_valid()) throw nb::python_error();
    std::memcpy(to, PyMemoryView_GET_BUFFER(view.ptr())->buf, size);
  }

  nb::object copy(const void* from, std::size_t count) const {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(from),
                                           count * collectives::size_of(element_));
    const std::uint64_t shape[] = {count};
    return make_array(dtype_of(element_), shape, Buffer::copy_of(bytes));
  }

  Kept function_;
  Element element_;
  std::shared_ptr<Verdict> verdict_;
};

}  // namespace

Reducing to_reducing(nb::handle said, Element element, std::uint32_t rank) {
  if (PyUnicode_Check(said.ptr())) return {to_reduction(nb::cast<std::string>(said)), nullptr};
  nb::object function = nb::borrow(said);
  bool is_commutative = false;
  if (nb::hasattr(said, "is_commutative")) {
    is_commutative = nb::cast<bool>(said.attr("is_commutative"));
    function = said.attr("function");
  }
  if (PyCallable_Check(function.ptr()) == 0) {
    raise(Error(Code::invalid, "a reduction is a word such as sum, or a function of two arrays"));
  }
  auto verdict = std::make_shared<Verdict>();
  verdict->rank = static_cast<std::int32_t>(rank);
  const auto order = is_commutative ? Reduction::Order::any : Reduction::Order::of_ranks;
  return {Reduction::user(Caller(function, element, verdict), order), verdict};
}

}  // namespace muster::python
