// Binomial trees for scatter and gather: each place handles the blocks of all
// places below it, which lie packed in its scratch memory.
#include <algorithm>

#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

class BlockTree {
 public:
  BlockTree(const Team& team, Rank root, const Blocks& blocks)
      : size_(team.size()), root_(root), blocks_(blocks), place_((team.me + size_ - root) % size_) {
    while (up_ < size_ && (place_ & up_) == 0) up_ <<= 1;
  }

  Rank place() const { return place_; }
  Rank up() const { return up_; }
  Rank size() const { return size_; }
  Rank member(Rank place) const { return (place + root_) % size_; }
  // One after the last place below this one.
  Rank end() const { return std::min(place_ + up_, size_); }

  // Where the blocks of places [first, last) lie: at the root in `whole`, in
  // the order of the ranks (in two runs if they pass the last rank), elsewhere
  // in `packed`, in the order of the places.
  std::vector<Slice> runs(Rank first, Rank last, const Slice& whole, const Slice& packed) const {
    last = std::min(last, size_);
    if (place_ != 0) return {part(packed, total(place_, first), total(first, last))};
    const Rank turn = std::clamp(size_ - root_, first, last);
    std::vector<Slice> found;
    for (const auto& [from, to] : {std::pair{first, turn}, std::pair{turn, last}}) {
      if (from == to) continue;
      found.push_back(part(whole, blocks_.offset(member(from)), total(from, to)));
    }
    return found;
  }

  // The same, cut where the root's runs are cut: both ends of a message agree.
  std::vector<Slice> messages(Rank first, Rank last, const Slice& whole,
                              const Slice& packed) const {
    last = std::min(last, size_);
    const Rank turn = std::clamp(size_ - root_, first, last);
    std::vector<Slice> found = runs(first, turn, whole, packed);
    for (const Slice& more : runs(turn, last, whole, packed)) found.push_back(more);
    return found;
  }

  std::uint64_t total(Rank first, Rank last) const {
    std::uint64_t sum = 0;
    for (Rank place = first; place < last; ++place) sum += blocks_.count(member(place));
    return sum;
  }

 private:
  Rank size_;
  Rank root_;
  const Blocks& blocks_;
  Rank place_;
  Rank up_ = 1;
};

}  // namespace

void tree_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                  const Slice& in, const Slice& out) {
  const BlockTree tree(team, root, blocks);
  const Rank place = tree.place();
  const bool is_leaf = place + 1 == tree.end();
  const Slice packed = place == 0 ? in : is_leaf ? out : b.scratch(tree.total(place, tree.end()));
  if (place != 0) {
    for (const Slice& run : tree.messages(place, tree.end(), in, packed)) {
      b.receive(team, tree.member(place - tree.up()), run);
    }
  }
  for (Rank bit = tree.up() >> 1; bit > 0; bit >>= 1) {
    if (place + bit >= tree.size()) continue;
    for (const Slice& run : tree.messages(place + bit, place + 2 * bit, in, packed)) {
      b.send(team, tree.member(place + bit), run);
    }
  }
  if (place == 0) b.copy(part(in, blocks, root), out);
  if (place != 0) b.copy(part(packed, 0, blocks.count(team.me)), out);
}

void tree_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks, const Slice& in,
                 const Slice& out) {
  const BlockTree tree(team, root, blocks);
  const Rank place = tree.place();
  const bool is_leaf = place + 1 == tree.end();
  const Slice packed = place == 0 ? out : is_leaf ? in : b.scratch(tree.total(place, tree.end()));
  b.copy(in, place == 0 ? part(out, blocks, root) : part(packed, 0, blocks.count(team.me)));
  for (Rank bit = 1; bit < tree.up(); bit <<= 1) {
    if (place + bit >= tree.size()) break;
    for (const Slice& run : tree.messages(place + bit, place + 2 * bit, out, packed)) {
      b.receive(team, tree.member(place + bit), run);
    }
  }
  if (place == 0) return;
  for (const Slice& run : tree.messages(place, tree.end(), out, packed)) {
    b.send(team, tree.member(place - tree.up()), run);
  }
}

}  // namespace muster::collectives
