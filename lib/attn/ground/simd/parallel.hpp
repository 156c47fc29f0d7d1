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

/// Uninitialised memory that grows and is kept for the next call, aligned to a cache line.
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

/// `length` things cut into `count` parts of nearly the same length, each of which begins at a
/// multiple of `unit`.
struct EvenParts {
    std::size_t length, unit, count;

    /// The first of a part; for the number after the last part, after the last thing.
    std::size_t begin(std::size_t part) const {
        const std::size_t units = (length + unit - 1) / unit;
        return std::min(length, units * part / count * unit);
    }
};

/// How many threads `multiply_adds` of work are worth, at most `most`, or one for each core if that
/// is 0: starting one costs as much as some 0.1 ms of it.
inline std::size_t worthwhile_threads(std::size_t most, double multiply_adds, std::size_t tasks) {
    constexpr double too_small = 3e7;
    if (multiply_adds < too_small) return 1;
    if (most == 0) most = std::thread::hardware_concurrency();
    return most == 0 ? 1 : (most < tasks ? most : tasks);
}

/// Calls work(task, thread) once for each task below `tasks`. Who does which is left to chance, so
/// a task must depend on no other.
/// Errors  the first that a task throws, as of memory that cannot be had: no task begins after it.
template <class Work>
void share_tasks(std::size_t tasks, std::size_t threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    const auto run = [&](std::size_t thread) {
        try {
            for (std::size_t task = next++; task < tasks; task = next++) work(task, thread);
        } catch (...) {
            // Thrown on in the thread that asked: none may leave a thread of its own.
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
            // The system has no more threads to give: those there are share the work.
        }
        run(0);
    }
    if (failed) std::rethrow_exception(failure);
}

}  // namespace attn
