#include "muster/msg/compression.h"

#include <lz4.h>
#include <zstd.h>

namespace muster::msg {
namespace {

// Below, the sizes that must travel along eat up what is saved.
constexpr std::size_t kWorthwhile = 256;
constexpr int kZstdLevel = 3;
// What one byte can stand for at most: in lz4 a run, in zstd a block of 128 KiB
// made of four bytes.
constexpr std::uint64_t kLz4Ratio = 255;
constexpr std::uint64_t kZstdRatio = std::uint64_t{128} << 10;

const char* text(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}

Error broken() { return {Code::invalid, "a compressed part that is not what it says"}; }

// 0: not compressed.
std::size_t compress_zstd(const Buffer& part, WritableBuffer& room) {
  const std::size_t size =
      ZSTD_compress(room.data(), room.size(), part.data(), part.size(), kZstdLevel);
  return ZSTD_isError(size) != 0 ? 0 : size;
}

std::size_t compress_lz4(const Buffer& part, WritableBuffer& room) {
  const int size =
      LZ4_compress_default(text(part.bytes()), reinterpret_cast<char*>(room.data()),
                           static_cast<int>(part.size()), static_cast<int>(room.size()));
  return static_cast<std::size_t>(size);
}

bool decompress_zstd(const Buffer& part, WritableBuffer& room) {
  const std::size_t size = ZSTD_decompress(room.data(), room.size(), part.data(), part.size());
  return ZSTD_isError(size) == 0 && size == room.size();
}

bool decompress_lz4(const Buffer& part, WritableBuffer& room) {
  const int size =
      LZ4_decompress_safe(text(part.bytes()), reinterpret_cast<char*>(room.data()),
                          static_cast<int>(part.size()), static_cast<int>(room.size()));
  return size >= 0 && static_cast<std::size_t>(size) == room.size();
}

}  // namespace

std::optional<Buffer> compress(Compression how, const Buffer& part) {
  if (how == Compression::none || part.size() < kWorthwhile) return std::nullopt;
  if (how == Compression::lz4 && part.size() > LZ4_MAX_INPUT_SIZE) return std::nullopt;
  // More than that is not worth it, and both stop there by themselves.
  WritableBuffer room = WritableBuffer::on_heap(part.size() - part.size() / 8);
  const std::size_t size =
      how == Compression::zstd ? compress_zstd(part, room) : compress_lz4(part, room);
  if (size == 0) return std::nullopt;
  return Buffer::copy_of(room.bytes().first(size));
}

Result<Buffer> decompress(Compression how, const Buffer& part, std::uint64_t size) {
  const std::uint64_t ratio = how == Compression::zstd ? kZstdRatio : kLz4Ratio;
  if (how == Compression::none || part.empty() || size == 0) return broken();
  if (size / ratio > part.size()) return broken();
  if (how == Compression::zstd && ZSTD_getFrameContentSize(part.data(), part.size()) != size) {
    return broken();
  }
  if (how == Compression::lz4 && (size > LZ4_MAX_INPUT_SIZE || part.size() > INT32_MAX)) {
    return broken();
  }
  WritableBuffer room = WritableBuffer::on_heap(size);
  const bool is_whole =
      how == Compression::zstd ? decompress_zstd(part, room) : decompress_lz4(part, room);
  if (!is_whole) return broken();
  return std::move(room).freeze();
}

}  // namespace muster::msg
