// What a survey of a group found, for people and for scripts. Pure.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/msg/survey.h"

namespace muster::app {

// How long nobody has heard of `member`, by those who have a link to it; none
// if nobody has. Zero for one that answered us and has no other peers.
std::optional<Duration> last_beat(const msg::Surveyed& member,
                                  const std::vector<msg::Surveyed>& all);

std::string to_table(const std::vector<msg::Surveyed>& all);
std::string to_json(const std::vector<msg::Surveyed>& all);

}  // namespace muster::app
