#include "core/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace castor {
namespace {

class Counter {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  int wait_for(int least) {
    const MutexLock lock(mutex_);
    while (count_ < least) changed_.wait(mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ GUARDED_BY(mutex_) = 0;
};

TEST(MutexThreads, NoIncrementIsLost) {
  Counter counter;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5000; ++j) counter.add();
    });
  }
  EXPECT_EQ(counter.wait_for(20'000), 20'000);
}

TEST(MutexThreads, AWaiterSeesWhatWasWrittenBeforeTheNotification) {
  for (int round = 0; round < 200; ++round) {
    Counter counter;
    int payload = 0;
    const std::jthread writer([&] {
      payload = round + 1;
      counter.add();
    });
    static_cast<void>(counter.wait_for(1));
    ASSERT_EQ(payload, round + 1);
  }
}

}  // namespace
}  // namespace castor
