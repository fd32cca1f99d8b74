// A survey of a group: who is there, by its registry, and what each says of
// itself.
//
// Who asks does not join: nobody's events, audiences or percentages know of it.
// It proves the token over a link to each member; the library answers there,
// whatever the component's own code is doing.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/msg/report.h"
#include "muster/msg/wait.h"
#include "muster/net/driver.h"
#include "muster/net/token_source.h"

namespace muster::msg {

struct SurveyOptions {
  std::string group = {};
  // All outlive the survey.
  Registry* registry = nullptr;
  std::vector<net::Driver*> drivers = {};
  std::shared_ptr<net::TokenSource> tokens = nullptr;
};

// One member of the group.
struct Surveyed {
  Member member;
  std::optional<Report> report = {};
  std::optional<Error> why_silent = {};  // If there is no report.
};

// Any thread, not under the baton. In the order of names. Those who have not
// answered by the deadline are among them, with Code::timeout.
Result<std::vector<Surveyed>> survey(loop::Loop& loop, const SurveyOptions& options,
                                     const Wait& wait = std::chrono::seconds(3));

}  // namespace muster::msg
