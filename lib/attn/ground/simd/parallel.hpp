#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace attn {

/// Uninitialised memory that grows and is reused by the next call, aligned to a cache line.
class Scratch {
public:
    template <class Real>
    Real* reserve(std::size_t count) {
        if (count * sizeof(Real) > size_) {
            memory_.reset();
            size_ = 0;
            memory_.reset(::operator new(count * sizeof(Real), alignment));
            size_ = count * sizeof(Real);
        }
        return static_cast<Real*>(memory_.get());
    }

private:
    static constexpr std::align_val_t alignment{64};
    struct Release {
        void operator()(void* memory) const { ::operator delete(memory, alignment); }
    };
    std::unique_ptr<void, Release> memory_;
    std::size_t size_ = 0;
};

/// Splits `length` items into `count` parts of nearly equal length that begin at multiples of
/// `unit`.
struct EvenParts {
    std::size_t length, unit, count;

    /// Returns the first item of a part; for part number `count`, the end.
    std::size_t begin(std::size_t part) const {
        const std::size_t units = (length + unit - 1) / unit;
        return std::min(length, units * part / count * unit);
    }
};

/// Returns the number of threads for `multiply_adds` of work, at most `most`, or one per core if
/// that is 0: starting a thread takes as long as about 0.1 ms of work.
inline std::size_t worthwhile_threads(std::size_t most, double multiply_adds, std::size_t tasks) {
    constexpr double too_small = 3e7;
    if (multiply_adds < too_small) return 1;
    if (most == 0) most = std::thread::hardware_concurrency();
    return most == 0 ? 1 : (most < tasks ? most : tasks);
}

/// Calls work(task, thread) once for each task below `tasks`. The assignment of tasks is arbitrary,
/// so a task must not depend on another.
/// Errors  the first exception of a task, such as a failed allocation: no further task begins.
template <class Work>
void share_tasks(std::size_t tasks, std::size_t threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    const auto run = [&](std::size_t thread) {
        try {
            for (std::size_t task = next++; task < tasks; task = next++) work(task, thread);
        } catch (...) {
            // Rethrown in the calling thread: no exception may leave another thread.
            if (!failed.exchange(true)) failure = std::current_exception();
            next = tasks;
        }
    };
    {
        std::vector<std::jthread> helpers;
        try {
            for (std::size_t thread = 1; thread < threads; ++thread) {
                helpers.emplace_back(run, thread);
            }
        } catch (const std::system_error&) {
            // The system has no more threads: the existing ones share the work.
        }
        run(0);
    }
    if (failed) std::rethrow_exception(failure);
}

}  // namespace attn
