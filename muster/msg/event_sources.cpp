#include "muster/msg/event_sources.h"

#include <algorithm>

namespace muster::msg {
namespace {

bool is_prefix(std::string_view text) { return text.ends_with('*'); }
std::string_view without_star(std::string_view text) { return text.substr(0, text.size() - 1); }

std::optional<EventSources::Id> find_in(const EventMap<EventSources::Id>& map,
                                        std::string_view key) {
  const EventSources::Id* const found = map.find(key);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

}  // namespace

EventSources::Id EventSources::hold(std::string_view text) {
  if (const std::optional<Id> known = find(text)) {
    ++sources_[*known].holders;
    return *known;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<Id>(sources_.size()));
    sources_.emplace_back();
  }
  const Id id = free_.back();
  free_.pop_back();
  const auto live = std::ranges::count_if(
      peers_, [&](const auto& peer) { return matches(text, peer.first, peer.second); });
  sources_[id] = {std::string(text), static_cast<std::size_t>(live), 1};
  enter(text, id);
  return id;
}

void EventSources::release(Id id) {
  Source& source = sources_[id];
  if (--source.holders > 0) return;
  withdraw(source.text);
  source = {};
  free_.push_back(id);
}

void EventSources::match(std::string_view name, std::string_view type,
                         std::vector<Id>& found) const {
  const auto add = [&](std::optional<Id> id) {
    if (id) found.push_back(*id);
  };
  add(all_);
  add(find_in(exact_, name));
  if (type != name) add(find_in(exact_, type));
  for (const auto& [length, count] : lengths_) {
    if (length <= name.size()) add(find_in(prefixes_, name.substr(0, length)));
  }
}

void EventSources::joined(std::string_view name, std::string_view type, std::vector<Id>& changed) {
  const std::string* const known = peers_.find(name);
  if (known != nullptr && *known == type) return;
  if (known != nullptr) left(name, changed);
  peers_[name] = type;
  const std::size_t begin = changed.size();
  match(name, type, changed);
  for (std::size_t i = begin; i < changed.size(); ++i) ++sources_[changed[i]].live;
}

void EventSources::left(std::string_view name, std::vector<Id>& changed) {
  const std::string* const type = peers_.find(name);
  if (type == nullptr) return;
  const std::size_t begin = changed.size();
  match(name, *type, changed);
  for (std::size_t i = begin; i < changed.size(); ++i) --sources_[changed[i]].live;
  peers_.erase(name);
}

std::optional<EventSources::Id> EventSources::find(std::string_view text) const {
  if (text == "*") return all_;
  return is_prefix(text) ? find_in(prefixes_, without_star(text)) : find_in(exact_, text);
}

void EventSources::enter(std::string_view text, Id id) {
  if (text == "*") {
    all_ = id;
  } else if (is_prefix(text)) {
    prefixes_[without_star(text)] = id;
    count_length(text.size() - 1, 1);
  } else {
    exact_[text] = id;
  }
}

void EventSources::withdraw(std::string_view text) {
  if (text == "*") {
    all_.reset();
  } else if (is_prefix(text)) {
    prefixes_.erase(without_star(text));
    count_length(text.size() - 1, -1);
  } else {
    exact_.erase(text);
  }
}

void EventSources::count_length(std::size_t length, int change) {
  auto entry = std::ranges::find(lengths_, length, &std::pair<std::size_t, int>::first);
  if (entry == lengths_.end()) entry = lengths_.insert(entry, {length, 0});
  entry->second += change;
  if (entry->second == 0) lengths_.erase(entry);
}

bool EventSources::matches(std::string_view text, std::string_view name,
                           std::string_view type) const {
  if (text == "*") return true;
  return is_prefix(text) ? name.starts_with(without_star(text)) : text == name || text == type;
}

}  // namespace muster::msg
