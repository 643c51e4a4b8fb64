// Ceph's own weighted priority queue under the loads of benches/qos/wpq.rs. Built and run by scripts/bench-dmclock.
//
//   wpq LOAD OWNERS PAIRS    for each line of input, prints the nanoseconds of one add and one take together

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <ostream>
#include <vector>
#include "turns.h"

// What the header wants of the rest of Ceph: names for what is never called here.
#define ceph_assert(condition) ((void)0)
namespace ceph {
struct Formatter {
  void dump_int(const char*, int64_t) {}
  void open_array_section(const char*) {}
  void open_object_section(const char*) {}
  void close_section() {}
};
}
enum class op_queue_type_t { WeightedPriorityQueue };
inline const char* get_op_queue_type_name(op_queue_type_t) { return "wpq"; }
template <typename T, typename K>
struct OpQueue {
  virtual void remove_by_class(K, std::list<T>*) = 0;
  virtual void enqueue_strict(K, unsigned, T&&) = 0;
  virtual void enqueue_strict_front(K, unsigned, T&&) = 0;
  virtual void enqueue(K, unsigned, unsigned, T&&) = 0;
  virtual void enqueue_front(K, unsigned, unsigned, T&&) = 0;
  virtual bool empty() const = 0;
  virtual T dequeue() = 0;
  virtual void dump(ceph::Formatter*) const = 0;
  virtual void print(std::ostream&) const = 0;
  virtual op_queue_type_t get_type() const = 0;
  virtual ~OpQueue() {}
};
#define OP_QUEUE_H
#include "common/WeightedPriorityQueue.h"

// Client operations (as often as all others together), replica writes, recovery items, pushes.
struct Kind { unsigned priority, cost; };
constexpr Kind MIX[6] = {{63, 4096}, {63, 4096}, {63, 4096}, {127, 4096}, {5, 20 << 20}, {3, 4 << 20}};

struct Item { uint64_t owner; Kind kind; uint32_t payload; };

int main(int argc, char** argv) {
  if (argc != 4) { fprintf(stderr, "usage: wpq LOAD OWNERS PAIRS\n"); return 2; }
  bool lottery = !strcmp(argv[1], "wpq-lottery");
  uint64_t owners = atoll(argv[2]), pairs = atoll(argv[3]);
  WeightedPriorityQueue<Item, uint64_t> queue(0, 0);
  auto add = [&](Item item) {
    if (item.kind.priority >= 196) queue.enqueue_strict(item.owner, item.kind.priority, std::move(item));
    else queue.enqueue(item.owner, item.kind.priority, item.kind.cost, std::move(item));
  };
  for (uint64_t owner = 0; owner < owners; owner++)
    for (uint64_t index = owner; index < owner + 6; index++) add({owner, MIX[lottery ? index % 6 : 0], 0});
  uint64_t sum = 0;
  auto pair = [&] {
    Item item = queue.dequeue();
    sum += item.payload;
    add(item);
  };
  for (uint64_t i = 0; i < 4 * (owners > 1000 ? owners : 1000); i++) pair();
  measure_in_turns(pairs, pair);
  return sum == 42 ? 3 : 0;
}
