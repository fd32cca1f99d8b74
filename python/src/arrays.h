// Arrays: numpy's and whatever else shows its memory, as tensors and back.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "binding.h"
#include "memory.h"
#include "muster/wire/value.h"

namespace muster::python {

// What becomes of memory that is not in the arena.
struct Keeping {
  bool borrows = false;  // Else it is copied, to the arena if that pays.
  Borrowed borrowed = nullptr;
};

// As it travels: elements in C order.
struct Array {
  // Of those that all languages know, else numpy's own name for it.
  std::optional<wire::DType> dtype;
  std::string description;
  std::vector<std::uint64_t> shape;
  Buffer bytes;
};

bool is_array(nb::handle object);
// Of a class of its own, such as a masked array, which its elements alone do not make.
bool is_more_than_array(nb::handle array);
// Whether the other end knows it by name: not what another package has brought to numpy.
bool has_dtype_to_tell(nb::handle dtype);
// What an array of numpy's stands upon, past the arrays that it is a part of; null if that
// is not ours.
Memory* memory_of(nb::handle array);
// An array of numpy's. One that stands upon Memory is frozen and goes as it is.
Array read_array(nb::handle array, const Keeping& keeping);
// Whatever has __dlpack__ or the buffer protocol; none if `object` has neither.
std::optional<Array> read_foreign(nb::handle object, const Keeping& keeping);

// What a numpy scalar is in plain Python; null if `object` is none.
nb::object plain_scalar(nb::handle object);

// Read-only, on the very bytes.
nb::object make_array(wire::DType dtype, std::span<const std::uint64_t> shape, Buffer bytes);
nb::object make_array(const std::string& description, std::span<const std::uint64_t> shape,
                      Buffer bytes);

// Bytes of an object of Python's, kept as is said.
Buffer keep_bytes(std::span<const std::byte> bytes, nb::object object, const Keeping& keeping);

void bind_arrays(nb::module_& module);

}  // namespace muster::python
