// Copies of large arrays release the interpreter's lock; all else keeps it.

#include "arrays.h"

#include <array>
#include <cstring>
#include <utility>

#include "errors.h"
#include "freezing.h"
#include "interpreter.h"
#include "process.h"

namespace muster::python {
namespace {

using wire::DType;

// From here on memory of the arena, or a loan, is cheaper than a copy on the heap.
constexpr std::size_t kLarge = std::size_t{64} << 10;

// Looked up once, when the first array is met: importing numpy takes a while.
struct Numpy {
  nb::object ndarray;
  nb::object generic;
  nb::object helpers;                 // muster._arrays
  std::array<nb::object, 16> dtypes;  // By DType.
};

const Numpy& numpy() {
  static Numpy* found = nullptr;
  if (found != nullptr) return *found;
  auto* made = new Numpy;
  const nb::module_ module = nb::module_::import_("numpy");
  made->ndarray = module.attr("ndarray");
  made->generic = module.attr("generic");
  made->helpers = nb::module_::import_("muster._arrays");
  const nb::object all = made->helpers.attr("DTYPES");
  for (std::size_t i = 1; i < made->dtypes.size(); ++i) made->dtypes[i] = all[i];
  found = made;
  return *found;
}

// Numpy's own numbers for its built-in types, which are part of its ABI.
std::optional<DType> dtype_of_number(long number) {
  constexpr long kLong = 7;
  constexpr long kUlong = 8;
  switch (number) {
    case 0: return DType::boolean;
    case 1: return DType::i8;
    case 2: return DType::u8;
    case 3: return DType::i16;
    case 4: return DType::u16;
    case 5: return DType::i32;
    case 6: return DType::u32;
    case kLong: return sizeof(long) == 8 ? DType::i64 : DType::i32;
    case kUlong: return sizeof(long) == 8 ? DType::u64 : DType::u32;
    case 9: return DType::i64;
    case 10: return DType::u64;
    case 11: return DType::f32;
    case 12: return DType::f64;
    case 14: return DType::complex64;
    case 15: return DType::complex128;
    case 23: return DType::f16;
    default: return std::nullopt;
  }
}

class View {
 public:
  View(nb::handle object, int flags) { ok_ = PyObject_GetBuffer(object.ptr(), &view_, flags) == 0; }
  ~View() {
    if (ok_) PyBuffer_Release(&view_);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  explicit operator bool() const { return ok_; }
  const Py_buffer* operator->() const { return &view_; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }
  std::vector<std::uint64_t> shape() const { return {view_.shape, view_.shape + view_.ndim}; }

 private:
  Py_buffer view_{};
  bool ok_ = false;
};

// Of an array in C order, and of its own memory if it has any of ours. `sent` is what is
// then frozen: that array, or the one whose elements it shows otherwise.
Buffer bytes_of(nb::handle array, nb::handle sent, const View& view, const Keeping& keeping) {
  Memory* memory = memory_of(array);
  if (memory == nullptr) return keep_bytes(view.bytes(), nb::borrow(array), keeping);
  // Also of memory that is frozen since another part of it was sent.
  if (memory->is_writable() || view->readonly == 0) Freezing::freeze(sent, *memory);
  if (view.bytes().empty()) return {};
  const auto offset = static_cast<std::size_t>(view.bytes().data() - memory->buffer().data());
  return memory->buffer().slice(offset, view.bytes().size());
}

// Structured types, dates, texts, numbers of other machines.
Array read_odd(nb::handle array, const Keeping& keeping) {
  const nb::object described = call(numpy().helpers.attr("describe"), array);
  Array made;
  const nb::object code = described[0];
  if (PyLong_Check(code.ptr())) {
    made.dtype = static_cast<DType>(nb::cast<int>(code));
  } else {
    made.description = nb::cast<std::string>(code);
  }
  for (const nb::handle count : described[1]) {
    made.shape.push_back(nb::cast<std::uint64_t>(count));
  }
  const nb::object flat = described[2];
  const View view(flat, PyBUF_C_CONTIGUOUS);
  if (!view) throw nb::python_error();
  made.bytes = bytes_of(flat, array, view, keeping);
  return made;
}

nb::object shape_tuple(std::span<const std::uint64_t> shape) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i),
                     PyLong_FromUnsignedLongLong(shape[i]));
  }
  return tuple;
}

}  // namespace

Buffer keep_bytes(std::span<const std::byte> bytes, nb::object object, const Keeping& keeping) {
  if (bytes.size() < kLarge) return Buffer::copy_of(bytes);
  if (keeping.borrows) return borrow_bytes(bytes, std::move(object), keeping.borrowed);
  Result<WritableBuffer> memory = runtime().allocate(bytes.size());
  if (!memory) raise(memory.error());
  if (bytes.size() < kUnlockFrom) {
    std::memcpy(memory->data(), bytes.data(), bytes.size());
  } else {
    const Unlocked unlocked;
    std::memcpy(memory->data(), bytes.data(), bytes.size());
  }
  return std::move(*memory).freeze();
}

bool is_array(nb::handle object) {
  // Whoever has an array has imported numpy, under a name that begins so.
  const char* name = Py_TYPE(object.ptr())->tp_name;
  if (std::strcmp(name, "numpy.ndarray") == 0) return true;
  if (Py_TYPE(object.ptr())->tp_base == &PyBaseObject_Type) return false;
  if (PyDict_GetItemString(PyImport_GetModuleDict(), "numpy") == nullptr) return false;
  return PyObject_IsInstance(object.ptr(), numpy().ndarray.ptr()) == 1;
}

Memory* memory_of(nb::handle array) {
  nb::object base = array.attr("base");
  while (PyObject_IsInstance(base.ptr(), numpy().ndarray.ptr()) == 1) base = base.attr("base");
  return as_memory(base);
}

bool is_more_than_array(nb::handle array) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(array.ptr())) == numpy().ndarray.ptr()) return false;
  return nb::cast<bool>(call(numpy().helpers.attr("is_more_than_array"), array));
}

bool has_dtype_to_tell(nb::handle dtype) {
  if (dtype_of_number(nb::cast<long>(dtype.attr("num")))) return true;
  return nb::cast<bool>(call(numpy().helpers.attr("can_be_described"), dtype));
}

Array read_array(nb::handle array, const Keeping& keeping) {
  static PyObject* const dtype_name = PyUnicode_InternFromString("dtype");
  static PyObject* const number_name = PyUnicode_InternFromString("num");
  static PyObject* const native_name = PyUnicode_InternFromString("isnative");
  const nb::object dtype = nb::steal(PyObject_GetAttr(array.ptr(), dtype_name));
  const nb::object number = nb::steal(PyObject_GetAttr(dtype.ptr(), number_name));
  const nb::object is_native = nb::steal(PyObject_GetAttr(dtype.ptr(), native_name));
  Array made;
  made.dtype = dtype_of_number(PyLong_AsLong(number.ptr()));
  if (!made.dtype || is_native.ptr() != Py_True) return read_odd(array, keeping);
  const View view(array, PyBUF_C_CONTIGUOUS);
  if (!view) {
    PyErr_Clear();  // In another order: numpy makes a copy that is not.
    return read_odd(array, keeping);
  }
  made.shape = view.shape();
  made.bytes = bytes_of(array, array, view, keeping);
  return made;
}

std::optional<Array> read_foreign(nb::handle object, const Keeping& keeping) {
  const bool has_buffer = PyObject_CheckBuffer(object.ptr()) != 0;
  if (!has_buffer && !nb::hasattr(object, "__dlpack__")) return std::nullopt;
  const nb::object array = call(numpy().helpers.attr("from_foreign"), object);
  if (array.is_none()) return std::nullopt;
  if (is_array(array)) return read_array(array, keeping);
  // With the dtype that numpy has no name for.
  Array made = read_array(array[1], keeping);
  made.dtype = static_cast<DType>(nb::cast<int>(array[0]));
  return made;
}

nb::object plain_scalar(nb::handle object) {
  if (PyDict_GetItemString(PyImport_GetModuleDict(), "numpy") == nullptr) return {};
  if (PyObject_IsInstance(object.ptr(), numpy().generic.ptr()) != 1) return {};
  return call(numpy().helpers.attr("plain"), object);
}

nb::object make_array(DType dtype, std::span<const std::uint64_t> shape, Buffer bytes) {
  const nb::object memory = to_memory(std::move(bytes));
  return numpy().ndarray(shape_tuple(shape), numpy().dtypes.at(static_cast<std::size_t>(dtype)),
                         memory);
}

nb::object make_array(const std::string& description, std::span<const std::uint64_t> shape,
                      Buffer bytes) {
  return call(numpy().helpers.attr("restore"), description, shape_tuple(shape),
              to_memory(std::move(bytes)));
}

void bind_arrays(nb::module_& module) {
  module.def(
      "allocate",
      [](std::size_t size) {
        Result<WritableBuffer> memory = [&] {
          Runtime& here = runtime();
          const RuntimeUse use;
          const Unlocked unlocked;
          return here.allocate(size);
        }();
        if (!memory) raise(memory.error());
        return std::make_unique<Memory>(*std::move(memory));
      },
      nb::arg("size"), "Memory that peers on this host can read where it lies.");
}

}  // namespace muster::python
