#include "muster/collectives/places.h"

#include <gtest/gtest.h>

namespace muster::collectives::internal {
namespace {

using Texts = std::vector<std::string>;

TEST(Places, AreTheSameHostsWithPortsOfTheirOwn) {
  EXPECT_EQ(places_beside({"tcp://10.0.0.1:7000", "tcp://[::1]:0", "zmq://10.0.0.1:7001"}),
            (Texts{"tcp://10.0.0.1:0", "tcp://[::1]:0", "zmq://10.0.0.1:0"}));
}

TEST(Places, OfARangeOfPortsHaveRoomForOneMore) {
  EXPECT_EQ(places_beside({"tcp://10.0.0.1:7000-7010"}), Texts{"tcp://10.0.0.1:7000-7010"});
}

TEST(Places, WithANameAreTakenAlready) {
  EXPECT_EQ(places_beside({"shm://learner", "shm://*"}), (Texts{"shm://*", "shm://*"}));
}

TEST(Places, ThatNobodyNamedAreTheUsualOnes) { EXPECT_EQ(places_beside({}), Texts{}); }

}  // namespace
}  // namespace muster::collectives::internal
