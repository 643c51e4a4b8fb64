// The reference library under the loads of versus.rs, in the form that Ceph's OSDs use it: delayed tags, parameters looked up at
// each tag, binary heaps. Built and run by scripts/bench-dmclock.
//
//   reference LOAD RECORDS PAIRS    for each line of input, prints the nanoseconds of one add and one take together

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "dmclock_server.h"
#include "turns.h"

namespace dmc = crimson::dmclock;

constexpr double CAPACITY = 1e6;

// SplitMix64, the same in versus.rs.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return (uint64_t)(((unsigned __int128)next() * bound) >> 64); }
  double unit() { return (double)(next() >> 11) / (double)(1ull << 53); }
};

struct Request { uint64_t payload; };
using Queue = dmc::PullPriorityQueue<uint32_t, Request, true, true, 2>;

// For each client that joins, the library looks at all that are there for the least weighted tag: 100,000 took more than ten minutes.
// All join at the same time here, so what it finds is that time and nothing is adjusted. This makes the same records without looking.
struct Joined : Queue {
  using Queue::Queue;
  void join(uint32_t client, const dmc::ClientInfo* info) {
    auto record = std::make_shared<ClientRec>(client, info, tick);
    record->idle = false;
    resv_heap.push(record);
    limit_heap.push(record);
    ready_heap.push(record);
    client_map[client] = std::move(record);
  }
};

int main(int argc, char** argv) {
  if (argc != 4) { fprintf(stderr, "usage: reference LOAD RECORDS PAIRS\n"); return 2; }
  const char* load = argv[1];
  uint32_t records = atoi(argv[2]);
  uint64_t pairs = atoll(argv[3]);
  bool equal = !strncmp(load, "equal", 5), closed = strstr(load, "closed");
  Random random{7};
  std::vector<double> weights;
  double total = 0;
  for (uint32_t i = 0; i < records; i++) {
    weights.push_back(equal ? 1.0 : 1.0 + (double)random.below(100));
    total += weights.back();
  }
  std::vector<dmc::ClientInfo> infos;
  for (double weight : weights) {
    double fair = CAPACITY * weight / total;
    double limit = fair * (2.0 + 8.0 * random.unit());
    infos.emplace_back(equal ? 0.0 : 0.5 * CAPACITY / records, weight, equal ? 0.0 : limit);
  }
  Joined queue([&](const uint32_t& client) { return &infos[client]; }, dmc::AtLimit::Wait);
  double now = 1e6;
  const dmc::ReqParams none(0, 0);
  auto add = [&](uint32_t client) { queue.add_request_time(Request{client}, client, none, now, 1u); };
  for (uint32_t client = 0; client < records; client++) queue.join(client, &infos[client]);
  for (int turn = 0; turn < 4; turn++)
    for (uint32_t client = 0; client < records; client++) add(client);
  uint64_t sum = 0;
  auto pair = [&] {
    for (;;) {
      auto pulled = queue.pull_request(now);
      if (pulled.is_retn()) {
        auto& got = pulled.get_retn();
        sum += got.request->payload;
        add(closed ? got.client : (uint32_t)random.below(records));
        now += 1e-6;
        return;
      }
      if (pulled.is_none()) { fprintf(stderr, "the queue ran empty\n"); exit(1); }
      now = std::max(pulled.getTime(), std::nextafter(now, 1e300));
    }
  };
  uint64_t warm = 4ull * (records > 1000 ? records : 1000);
  for (uint64_t i = 0; i < warm; i++) pair();
  measure_in_turns(pairs, pair);
  if (sum == 42) return 3;
}
