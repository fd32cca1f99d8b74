// MUSTER_CRASH_POINT: places where a test build can end the process, as kill -9 would.
//
// Each time control passes one it is counted; the process dies at the one whose
// number tests set. A test runs a scenario once to learn how many there are,
// then once per number. In other builds this is nothing.

#pragma once

#include <cstdint>

namespace muster {

// Dies at the `number`th crash point from now on; 0: at none. Counts afresh.
void crash_at(std::uint64_t number);

// How many were passed since crash_at().
std::uint64_t crash_points_passed();

void pass_crash_point();

}  // namespace muster

#ifdef MUSTER_CRASH_POINTS
#define MUSTER_CRASH_POINT() ::muster::pass_crash_point()
#else
#define MUSTER_CRASH_POINT() static_cast<void>(0)
#endif
