// What holds for any Value and any bytes, tried on many of both.

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "muster/wire/value_codec.h"

namespace muster::wire {

namespace {

namespace gen = rc::gen;

rc::Gen<std::string> any_text() {
  const auto point =
      gen::oneOf(gen::inRange<char32_t>(0, 0x80), gen::inRange<char32_t>(0x80, 0xD800),
                 gen::inRange<char32_t>(0xE000, 0x110000));
  return gen::map(gen::container<std::u32string>(point), [](const std::u32string& points) {
    std::string text;
    for (const char32_t p : points) {
      const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
      const auto follow = [&](int shift) { put(0x80 | (p >> shift & 0x3F)); };
      if (p < 0x80) {
        put(p);
      } else if (p < 0x800) {
        put(0xC0 | p >> 6), follow(0);
      } else if (p < 0x10000) {
        put(0xE0 | p >> 12), follow(6), follow(0);
      } else {
        put(0xF0 | p >> 18), follow(12), follow(6), follow(0);
      }
    }
    return text;
  });
}

rc::Gen<Buffer> any_bytes() {
  return gen::map(gen::container<std::string>(gen::arbitrary<char>()),
                  [](const std::string& bytes) { return Buffer::copy_of(bytes); });
}

rc::Gen<Tensor> any_tensor() {
  const auto dtype = gen::map(gen::inRange(1, 16), [](int n) { return static_cast<DType>(n); });
  const auto shape =
      gen::resize(4, gen::container<std::vector<std::uint64_t>>(gen::inRange<std::uint64_t>(0, 4)));
  return gen::map(gen::pair(dtype, shape), [](const auto& type) {
    const std::uint64_t size = *tensor_size(type.first, type.second);
    return Tensor{type.first, type.second, Buffer::copy_of(std::string(size, 't'))};
  });
}

template <class T>
rc::Gen<Value> value_of(rc::Gen<T> content) {
  return gen::map(std::move(content), [](T made) { return Value(std::move(made)); });
}

rc::Gen<Value> any_scalar() {
  // Numbers of every width, not only those near zero that arbitrary() prefers.
  const auto bits =
      gen::apply([](std::uint64_t n, int shift) { return n >> shift; },
                 gen::scale(1000, gen::arbitrary<std::uint64_t>()), gen::inRange(0, 64));
  return gen::oneOf(
      gen::just(Value()), value_of(gen::arbitrary<bool>()), value_of(bits),
      value_of(gen::map(bits, [](std::uint64_t n) { return static_cast<std::int64_t>(~n); })),
      value_of(gen::map(bits, [](std::uint64_t n) { return std::bit_cast<double>(n); })),
      value_of(gen::arbitrary<double>()), value_of(any_text()), value_of(any_bytes()),
      value_of(any_tensor()));
}

rc::Gen<Value> any_value(int depth) {
  if (depth == 0) return any_scalar();
  const auto list = gen::scale(0.3, gen::container<Value::List>(any_value(depth - 1)));
  const auto entry = gen::construct<Value::Entry>(any_scalar(), any_value(depth - 1));
  const auto map = gen::scale(0.3, gen::container<Value::Map>(entry));
  return gen::oneOf(any_scalar(), value_of(list), value_of(map));
}

// A document that was right once, with some bytes of it changed, lost or added.
Buffer damaged(const Buffer& tree) {
  std::string bytes(tree.text());
  for (int edits = *gen::inRange(1, 4); edits > 0; --edits) {
    const auto at = *gen::inRange<std::size_t>(0, bytes.size() + 1);
    const char byte = *gen::arbitrary<char>();
    switch (*gen::inRange(0, 3)) {
      case 0: bytes.insert(at, 1, byte); break;
      case 1: bytes.erase(at, 1); break;
      default: bytes.replace(at, 1, 1, byte); break;
    }
  }
  return Buffer::copy_of(bytes);
}

// Shown where a property fails.
void log_tree(const Buffer& tree) {
  RC_LOG() << "tree " << rc::toString(std::string(tree.text())) << "\n";
}

// Whatever can be read can be written, and then reads the same.
void check_reading(const Buffer& tree, std::span<const Buffer> parts) {
  log_tree(tree);
  const Result<Value> value = decode(tree, parts);
  RC_CLASSIFY(value.has_value(), "readable");
  if (!value) {
    RC_ASSERT(value.error().message().starts_with("byte "));
    return;
  }
  const Result<Document> document = encode(*value);
  RC_ASSERT(document.has_value());
  const Result<Value> again = decode(document->tree, document->parts);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *value);
}

RC_GTEST_PROP(ValueProperty, ComesBackAsItWent, ()) {
  const Value value = *any_value(3);
  const EncodeOptions options{.out_of_band_from = *gen::inRange<std::size_t>(0, 50)};

  const Result<Document> document = encode(value, options);
  RC_ASSERT(document.has_value());
  log_tree(document->tree);
  const Result<Value> back = decode(document->tree, document->parts);

  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == value);
  RC_ASSERT(encode(*back, options)->tree.text() == document->tree.text());
}

RC_GTEST_PROP(ValueProperty, NeverReadsFromRandomBytesWhatItCannotWrite, ()) {
  check_reading(*any_bytes(), {});
}

RC_GTEST_PROP(ValueProperty, NeverReadsFromDamagedBytesWhatItCannotWrite, ()) {
  const Document document = *encode(*any_value(3), {.out_of_band_from = 10});
  check_reading(damaged(document.tree), document.parts);
}

RC_GTEST_PROP(ValueProperty, KnowsNoBeginningOfADocumentForAWhole, ()) {
  const Document document = *encode(*any_value(2));
  const auto size = *gen::inRange<std::size_t>(0, document.tree.size());
  RC_ASSERT_FALSE(decode(document.tree.slice(0, size), document.parts).has_value());
}

}  // namespace
}  // namespace muster::wire
