// Decoder: reads one value document, front to back, into Python's own objects.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "binding.h"
#include "decode.h"
#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/wire/bytes.h"
#include "muster/wire/value_format.h"

namespace muster::python {

// Needs the interpreter's lock. All that it is given outlives it, and does not change.
class Decoder {
 public:
  Decoder(const Buffer& tree, std::span<const Buffer> parts, const DecodeOptions& options);

  // Exits of code that a pickle or a key runs are thrown on.
  Result<nb::object> read_document();

 private:
  // All of these give a new reference. Null: error_ says why, or Python's own error is set.
  PyObject* read();
  PyObject* read_marked(wire::internal::Mark mark);
  template <class Count>
  PyObject* read_counted(PyObject* (Decoder::*read_rest)(std::size_t count));
  template <class Bits, class Number>
  PyObject* read_real();
  template <class Bits, class Number>
  PyObject* read_integer();
  PyObject* read_string(std::size_t size);
  PyObject* read_bytes(std::size_t size);
  PyObject* read_list(std::size_t count, bool is_tuple = false);
  // A count that would have fitted into less, up to `shorter`, is a tuple's.
  template <class Count>
  PyObject* read_long_list(std::size_t shorter);
  PyObject* read_map(std::size_t count);
  PyObject* read_key();

  // What lies in parts of the message: decoder_parts.cpp.
  PyObject* read_extension(std::size_t size);
  PyObject* read_part_bytes(std::span<const std::byte> payload);
  PyObject* read_tensor(std::span<const std::byte> payload);
  PyObject* read_odd_array(std::span<const std::byte> payload);
  PyObject* read_pickle(std::span<const std::byte> payload);
  // False if there are not `rank` dimensions at `from`.
  bool read_shape(std::span<const std::byte> from, std::size_t rank,
                  std::vector<std::uint64_t>& shape);
  // Of code that may raise. Exits are thrown on.
  template <class Make>
  PyObject* guard(Make make);
  // In order, so that each is meant once. Null: error_ says why.
  const Buffer* take_part(std::uint32_t index);

  // Whether so many values may follow, one level deeper.
  bool enter(std::size_t values);
  template <class T>
  bool take(T& number);
  bool has(std::size_t size);
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  // Always null.
  PyObject* fail(std::string_view why, Code code = Code::invalid);
  Error error();

  const Buffer& tree_;
  const std::byte* at_;
  const std::byte* const end_;
  const std::span<const Buffer> parts_;
  const DecodeOptions& options_;
  const wire::Limits& limits_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::size_t next_part_ = 0;
  bool is_key_ = false;
  std::optional<Error> error_;
};

template <class T>
bool Decoder::take(T& number) {
  if (left() < sizeof(T)) return fail("the document is cut short") != nullptr;
  number = wire::internal::big_endian(wire::load<T>(at_));
  at_ += sizeof(T);
  return true;
}

}  // namespace muster::python
