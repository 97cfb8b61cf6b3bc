#pragma once
// A mutex and a condition variable that clang's thread-safety analysis understands.
// Never held across a callback, a log call or anything that blocks.
//
// Thread: any.
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define CASTOR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CASTOR_THREAD_ANNOTATION(x)
#endif
#define GUARDED_BY(x) CASTOR_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES_LOCK(...) CASTOR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES_LOCK(...) CASTOR_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace castor {

class CASTOR_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() CASTOR_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() CASTOR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class CASTOR_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CASTOR_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() CASTOR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // REQUIRES: mutex is held by the caller. May wake spuriously.
  void wait(Mutex& mutex) REQUIRES_LOCK(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void notify_all() { condition_.notify_all(); }
  void notify_one() { condition_.notify_one(); }

 private:
  std::condition_variable condition_;
};

}  // namespace castor
