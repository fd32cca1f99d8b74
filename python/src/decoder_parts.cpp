// Arrays, large byte strings and pickles, which lie beside the tree. Pickles run code
// of anybody's, and are read only where that is wanted.

#include <string>

#include "arrays.h"
#include "decoder.h"
#include "errors.h"
#include "interpreter.h"
#include "wire_extensions.h"

namespace muster::python {

using wire::internal::Extension;

template <class Make>
PyObject* Decoder::guard(Make make) {
  try {
    return nb::object(make()).release().ptr();
  } catch (const nb::python_error& raised) {
    if (is_exit(raised)) throw;
    return fail(raised.what(), Code::failed);
  }
}

PyObject* Decoder::read_extension(std::size_t size) {
  std::uint8_t type = 0;
  if (!take(type) || !has(size)) return nullptr;
  const std::span<const std::byte> payload(at_, size);
  at_ += size;
  if (type == static_cast<std::uint8_t>(Extension::bytes)) return read_part_bytes(payload);
  if (type == static_cast<std::uint8_t>(PythonExtension::pickle)) return read_pickle(payload);
  if (is_key_) return fail("an array as a key");
  if (type == static_cast<std::uint8_t>(Extension::tensor)) return read_tensor(payload);
  if (type == static_cast<std::uint8_t>(PythonExtension::array)) return read_odd_array(payload);
  return fail("an extension of type " + std::to_string(type) + ", which is unknown",
              Code::unsupported);
}

PyObject* Decoder::read_part_bytes(std::span<const std::byte> payload) {
  if (payload.size() != wire::internal::kBytesExtension) return fail("a reference of wrong size");
  const Buffer* part = take_part(wire::load<std::uint32_t>(payload.data()));
  if (part == nullptr) return nullptr;
  return to_bytes(*part);
}

bool Decoder::read_shape(std::span<const std::byte> from, std::size_t rank,
                         std::vector<std::uint64_t>& shape) {
  if (rank > wire::kMaxRank || from.size() < 8 * rank) {
    return fail("an array with too many dimensions") != nullptr;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    shape.push_back(wire::load<std::uint64_t>(from.data() + 8 * i));
  }
  return true;
}

PyObject* Decoder::read_tensor(std::span<const std::byte> payload) {
  constexpr std::size_t kBefore = wire::internal::kTensorExtension;
  if (payload.size() < kBefore || payload.size() % 8 != 0) return fail("a tensor of wrong size");
  const auto number = wire::load<std::uint32_t>(payload.data() + 4);
  const auto dtype = static_cast<wire::DType>(number);
  if (number > UINT8_MAX || wire::size_of(dtype) == 0) return fail("a tensor of unknown dtype");
  std::vector<std::uint64_t> shape;
  const std::span<const std::byte> dimensions = payload.subspan(kBefore);
  if (!read_shape(dimensions, dimensions.size() / 8, shape)) return nullptr;
  const Buffer* part = take_part(wire::load<std::uint32_t>(payload.data()));
  if (part == nullptr) return nullptr;
  if (wire::tensor_size(dtype, shape) != part->size()) {
    return fail("a tensor whose shape does not fit its bytes");
  }
  return guard([&] { return make_array(dtype, shape, *part); });
}

PyObject* Decoder::read_odd_array(std::span<const std::byte> payload) {
  constexpr std::size_t kBefore = wire::internal::kTensorExtension;
  if (payload.size() < kBefore) return fail("an array of wrong size");
  const auto rank = wire::load<std::uint32_t>(payload.data() + 4);
  std::vector<std::uint64_t> shape;
  if (!read_shape(payload.subspan(kBefore), rank, shape)) return nullptr;
  const std::span<const std::byte> text = payload.subspan(kBefore + 8 * shape.size());
  const std::string name(reinterpret_cast<const char*>(text.data()), text.size());
  const Buffer* part = take_part(wire::load<std::uint32_t>(payload.data()));
  if (part == nullptr) return nullptr;
  return guard([&] { return make_array(name, shape, *part); });
}

PyObject* Decoder::read_pickle(std::span<const std::byte> payload) {
  if (payload.size() != 8) return fail("a pickle of wrong size");
  auto index = wire::load<std::uint32_t>(payload.data());
  const auto count = wire::load<std::uint32_t>(payload.data() + 4);
  if (count == 0 || count > parts_.size()) return fail("a pickle without its parts");
  if (!options_.accepts_pickles) {
    return fail(
        "it holds a pickle, which this component does not accept; send plain values and "
        "arrays, or give its Proxy accepts_pickles=True if all who send to it are trusted",
        Code::unsupported);
  }
  const Buffer* pickle = take_part(index);
  if (pickle == nullptr) return nullptr;
  const nb::list buffers;
  for (std::uint32_t i = 1; i < count; ++i) {
    const Buffer* part = take_part(++index);
    if (part == nullptr) return nullptr;
    PyList_Append(buffers.ptr(), to_memory(*part).ptr());
  }
  return guard([&] {
    return call(nb::module_::import_("pickle").attr("loads"), to_memory(*pickle),
                nb::arg("buffers") = buffers);
  });
}

const Buffer* Decoder::take_part(std::uint32_t index) {
  if (index == next_part_ && index < parts_.size()) return &parts_[next_part_++];
  fail("a reference to a part that is not the next one");
  return nullptr;
}

}  // namespace muster::python
