#include "muster/wire/brief_frame.h"

namespace muster::wire {

std::uint64_t write_changed_words(const std::byte* head, std::byte* before, std::size_t size,
                                  std::byte* out) {
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < size; i += kHeadWord) {
    const auto word = load<std::uint64_t>(head + i);
    if (word == load<std::uint64_t>(before + i)) continue;
    store(before + i, word);
    store(out, word);
    out += kHeadWord;
    changed |= std::uint64_t{1} << (i / kHeadWord);
  }
  return changed;
}

void change_words(std::uint32_t changed, const std::byte* words, Head& before) {
  std::byte* const head = before.resize(before.size()).data();
  for (; changed != 0; changed &= changed - 1, words += kHeadWord) {
    std::memcpy(head + kHeadWord * std::countr_zero(changed), words, kHeadWord);
  }
}

}  // namespace muster::wire
