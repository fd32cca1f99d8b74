// The C++ end of interop.py: decodes each document on stdin and encodes it again.
//
// A document and an answer look alike, numbers little-endian: u32 status, u32
// number of byte strings, then u32 size and bytes of each. The first byte string
// is the tree, the others are its parts. The status is 0, or the Code of an
// error, whose message is then the only byte string.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "muster/wire/value_codec.h"

namespace {

using namespace muster;

// Nothing has no address, which fread() and fwrite() must not be given.
bool read_exactly(void* to, std::size_t size) {
  return size == 0 || std::fread(to, 1, size, stdin) == size;
}

bool read_document(std::vector<Buffer>& out) {
  std::uint32_t head[2];
  if (!read_exactly(head, sizeof head)) return false;
  out.clear();
  for (std::uint32_t i = 0; i < head[1]; ++i) {
    std::uint32_t size = 0;
    if (!read_exactly(&size, sizeof size)) return false;
    std::vector<std::byte> bytes(size);
    if (!read_exactly(bytes.data(), size)) return false;
    out.push_back(Buffer::adopt(std::move(bytes)));
  }
  return !out.empty();
}

void write_number(std::uint32_t number) { std::fwrite(&number, sizeof number, 1, stdout); }

void write_bytes(const Buffer& bytes) {
  write_number(static_cast<std::uint32_t>(bytes.size()));
  if (!bytes.empty()) std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

void write_answer(const Result<wire::Document>& answer) {
  if (answer) {
    write_number(0);
    write_number(static_cast<std::uint32_t>(1 + answer->parts.size()));
    write_bytes(answer->tree);
    for (const Buffer& part : answer->parts) write_bytes(part);
  } else {
    write_number(static_cast<std::uint32_t>(answer.error().code()));
    write_number(1);
    write_bytes(Buffer::copy_of(answer.error().message()));
  }
  std::fflush(stdout);
}

Result<wire::Document> answer_to(const std::vector<Buffer>& document) {
  MUSTER_TRY(const wire::Value value, wire::decode(document[0], std::span(document).subspan(1)));
  return wire::encode(value);
}

}  // namespace

int main() {
  std::vector<Buffer> document;
  while (read_document(document)) write_answer(answer_to(document));
  return 0;
}
