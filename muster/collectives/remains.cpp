#include "muster/collectives/remains.h"

#include <algorithm>
#include <utility>

namespace muster::collectives::internal {
namespace {

bool is_done(const Remains::Reader& reader, std::uint64_t number) {
  const auto& desk = *reinterpret_cast<const Desk*>(reader.desk.data());
  return desk.progress.load(std::memory_order_acquire) >= progress_of(number, kLastPhase) ||
         desk.aborted.load(std::memory_order_acquire) != 0 ||
         desk.is_closed.load(std::memory_order_acquire) != 0 || has_ended(reader.process);
}

}  // namespace

void Remains::keep(Piece piece) {
  pieces_.push_back(std::move(piece));
  sweep();
}

bool Remains::sweep() {
  std::erase_if(pieces_, [](Piece& piece) {
    std::erase_if(piece.readers,
                  [&](const Reader& reader) { return is_done(reader, piece.number); });
    return piece.readers.empty();
  });
  return std::ranges::none_of(pieces_, &Piece::was_in_peace);
}

}  // namespace muster::collectives::internal
