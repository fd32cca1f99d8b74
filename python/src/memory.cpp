// The buffer protocol of Memory holds no lock and waits for nothing. Copies of large bodies let
// the interpreter's lock go.

#include "memory.h"

#include <cstring>
#include <utility>

#include "interpreter.h"

namespace muster::python {
namespace {

PyTypeObject* memory_type = nullptr;

// Keeps an object of Python's alive for Buffers that refer to its bytes.
class ObjectOwner final : public BufferOwner {
 public:
  ObjectOwner(PyObject* object, Borrowed borrowed)
      : object_(object), borrowed_(std::move(borrowed)) {
    if (borrowed_) borrowed_->lend();
  }

 private:
  // Perhaps under the baton: not the place to wait for the interpreter.
  void dispose() noexcept override {
    bury(object_);
    if (borrowed_) borrowed_->give_back();
    delete this;
  }

  PyObject* object_;
  Borrowed borrowed_;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (!nb::inst_ready(self)) {
    view->obj = nullptr;
    PyErr_SetString(PyExc_TypeError, "this memory was never made");
    return -1;
  }
  const Memory& memory = *nb::inst_ptr<Memory>(self);
  const Buffer& buffer = memory.buffer();
  // Some take a null for no buffer at all.
  static std::byte nowhere{};
  void* data = buffer.empty() ? &nowhere : const_cast<std::byte*>(buffer.data());
  return PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(buffer.size()),
                           memory.is_writable() ? 0 : 1, flags);
}

const PyType_Slot kSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

}  // namespace

Memory::Memory(Buffer buffer) : buffer_(std::move(buffer)), forks_(fork_count()) {}
Memory::Memory(WritableBuffer buffer)
    : buffer_(std::move(buffer).freeze()), is_writable_(true), forks_(fork_count()) {}

Memory::~Memory() {
  // The arena is shared with the parent, who still uses it.
  if (forks_ != fork_count()) static_cast<void>(new Buffer(std::move(buffer_)));
}

void Loan::give_back() {
  if (left_.fetch_sub(1) != 1) return;
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock(mutex_);
    due.swap(actions_);
  }
  for (const auto& action : due) action();
}

void Loan::when_out(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_out()) return actions_.push_back(std::move(action));
  }
  action();
}

Buffer borrow_bytes(std::span<const std::byte> bytes, nb::object object, const Borrowed& borrowed) {
  return {bytes, new ObjectOwner(object.release().ptr(), borrowed)};
}

nb::object to_memory(Buffer buffer) {
  return nb::cast(std::make_unique<Memory>(std::move(buffer)));
}

PyObject* to_bytes(const Buffer& buffer) {
  const auto size = static_cast<Py_ssize_t>(buffer.size());
  if (buffer.size() < kUnlockFrom) {
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(buffer.data()), size);
  }
  PyObject* made = PyBytes_FromStringAndSize(nullptr, size);
  if (made == nullptr) return nullptr;
  const Unlocked unlocked;
  std::memcpy(PyBytes_AS_STRING(made), buffer.data(), buffer.size());
  return made;
}

Memory* as_memory(nb::handle object) {
  const bool is_one = Py_TYPE(object.ptr()) == memory_type && nb::inst_ready(object);
  return is_one ? nb::inst_ptr<Memory>(object) : nullptr;
}

void bind_memory(nb::module_& module) {
  const auto type = nb::class_<Memory>(module, "Memory", nb::type_slots(kSlots),
                                       "Bytes that may lie in memory shared with other processes.")
                        .def("__len__", [](const Memory& self) { return self.buffer().size(); });
  memory_type = reinterpret_cast<PyTypeObject*>(type.ptr());
}

}  // namespace muster::python
