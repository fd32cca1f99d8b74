// FlatMap<Key, T>: values by key in two arrays. Pure.
//
// A lookup looks at neighbours in one small array until it knows, and only then at
// a key: what is not there costs the same however many are. Adding and erasing void
// references to values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace muster::msg {

template <class Key, class T, class Hash = std::hash<Key>>
class FlatMap {
 public:
  using Entry = std::pair<Key, T>;

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  // In no order that anybody may count on.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  // Null if there is none.
  template <class K>
  T* find(const K& key) {
    const std::size_t at = slot_of(key, short_hash(key));
    return at == kNone ? nullptr : &entries_[slots_[at].entry].second;
  }
  template <class K>
  const T* find(const K& key) const {
    return const_cast<FlatMap*>(this)->find(key);
  }

  // What is there under `key`; without, a new one.
  template <class K>
  T& operator[](const K& key) {
    if (T* there = find(key)) return *there;
    if (slots_.size() < 2 * (entries_.size() + 1)) grow();
    insert({short_hash(key), static_cast<std::uint32_t>(entries_.size())});
    return entries_.emplace_back(Key(key), T()).second;
  }

  template <class K>
  void erase(const K& key) {
    const std::size_t at = slot_of(key, short_hash(key));
    if (at == kNone) return;
    const std::uint32_t gone = slots_[at].entry;
    close_gap(at);
    const auto last = static_cast<std::uint32_t>(entries_.size() - 1);
    if (gone != last) {
      slots_[slot_of(entries_[last].first, short_hash(entries_[last].first))].entry = gone;
      entries_[gone] = std::move(entries_[last]);
    }
    entries_.pop_back();
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = kFree;
  };
  static constexpr std::uint32_t kFree = UINT32_MAX;
  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::size_t kFewest = 16;

  // Its upper half is mixed in, and numbers in a row are spread.
  template <class K>
  static std::uint32_t short_hash(const K& key) {
    return static_cast<std::uint32_t>((Hash()(key) * 0x9E3779B97F4A7C15U) >> 32U);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  std::size_t home(std::uint32_t hash) const { return hash & (slots_.size() - 1); }

  template <class K>
  std::size_t slot_of(const K& key, std::uint32_t hash) const {
    if (slots_.empty()) return kNone;
    for (std::size_t at = home(hash); slots_[at].entry != kFree; at = next(at)) {
      if (slots_[at].hash == hash && entries_[slots_[at].entry].first == key) return at;
    }
    return kNone;
  }

  void insert(Slot slot) {
    std::size_t at = home(slot.hash);
    while (slots_[at].entry != kFree) at = next(at);
    slots_[at] = slot;
  }

  void grow() {
    const std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kFewest : 2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.entry != kFree) insert(slot);
    }
  }

  // Moves back who would not be found behind an empty place.
  void close_gap(std::size_t gap) {
    for (std::size_t at = next(gap); slots_[at].entry != kFree; at = next(at)) {
      const std::size_t from_home = (at - home(slots_[at].hash)) & (slots_.size() - 1);
      const std::size_t from_gap = (at - gap) & (slots_.size() - 1);
      if (from_home < from_gap) continue;
      slots_[gap] = slots_[at];
      gap = at;
    }
    slots_[gap] = Slot();
  }

  std::vector<Slot> slots_;  // A power of two, at most half of them in use.
  std::vector<Entry> entries_;
};

}  // namespace muster::msg
