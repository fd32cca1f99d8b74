// The table that `muster peers` prints, cell by cell.
#include "apps/muster/peers_view.h"

#include <sstream>

#include <gtest/gtest.h>

namespace muster::app {
namespace {

using std::chrono::milliseconds;
using Cells = std::vector<std::string>;

// Cells are at least two spaces apart.
std::vector<Cells> cells_of(const std::string& table) {
  std::vector<Cells> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    Cells cells;
    for (std::size_t at = 0; at != std::string::npos && at < line.size();) {
      const std::size_t end = line.find("  ", at);
      cells.push_back(line.substr(at, end - at));
      at = end == std::string::npos ? end : line.find_first_not_of(' ', end);
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

msg::Surveyed learner() {
  msg::Surveyed one;
  one.member = {.name = "learner",
                .type = "learner",
                .id = {},
                .incarnation = 3,
                .addresses = {"shm://a", "tcp://127.0.0.1:1"}};
  msg::PeerInfo worker{.name = "worker_1", .type = "worker", .incarnation = 2};
  worker.driver = "shm";
  worker.silence = milliseconds(300);
  worker.messages_sent = 1;
  worker.bytes_sent = 20;
  worker.messages_received = 300;
  worker.bytes_received = 4096;
  worker.queued = 5;
  worker.kept = 6;
  msg::PeerInfo gone = worker;  // What went over links that are no more counts too.
  gone.name = "worker_2";
  gone.driver.clear();
  one.report = msg::Report{.name = "learner", .age = milliseconds(41000), .peers = {worker, gone}};
  one.report->counters.waiting = 7;
  return one;
}

msg::Surveyed silent_worker() {
  msg::Surveyed one;
  one.member = {.name = "worker_1", .type = "worker", .id = {}, .incarnation = 2, .addresses = {}};
  one.why_silent = Error(Code::timeout, "it did not answer");
  return one;
}

TEST(PeersView, HasEachFigureInItsColumn) {
  const auto rows = cells_of(to_table({learner(), silent_worker()}));
  ASSERT_GE(rows.size(), 3U);
  EXPECT_EQ(rows[0], (Cells{"name", "type", "inc", "driver", "age", "beat", "sent", "received",
                            "queue", "kept", "addresses"}));
  EXPECT_EQ(rows[1], (Cells{"learner", "learner", "3", "shm", "41.0s", "0.0s", "2 40B",
                            "600 8.0KiB", "10+7", "12", "shm://a tcp://127.0.0.1:1"}));
}

TEST(PeersView, NamesOneThatIsSilentWithWhatOthersKnowOfIt) {
  const auto rows = cells_of(to_table({learner(), silent_worker()}));
  ASSERT_GE(rows.size(), 3U);
  EXPECT_EQ(rows[2],
            (Cells{"worker_1", "worker", "2", "silent", "-", "0.3s", "-", "-", "-", "-", "-"}));
  EXPECT_NE(to_table({silent_worker()}).find("it did not answer"), std::string::npos);
}

TEST(PeersView, GivesScriptsTheSameFigures) {
  const std::string json = to_json({learner()});
  for (const char* field :
       {"\"messages_sent\":2", "\"messages_received\":600", "\"bytes_sent\":40",
        "\"bytes_received\":8192", "\"queued\":10", "\"kept\":12", "\"waiting\":7"}) {
    EXPECT_NE(json.find(field), std::string::npos) << field << " in " << json;
  }
}

}  // namespace
}  // namespace muster::app
