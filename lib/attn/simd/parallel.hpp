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

    /// The first of a part; for the number behind the last part, behind the last thing.
    std::size_t begin(std::size_t part) const {
        const std::size_t units = (length + unit - 1) / unit;
        return std::min(length, units * part / count * unit);
    }
};

/// The most threads that large work is shared among, set by who begins it; 0: one for each core.
inline std::size_t most_threads = 0;

/// How many threads `multiply_adds` of work are worth: starting one costs as much as some 0.1 ms of
/// it.
inline std::size_t worthwhile_threads(std::size_t most, double multiply_adds, std::size_t tasks) {
    constexpr double too_small = 3e7;
    if (multiply_adds < too_small) return 1;
    if (most == 0) most = most_threads;
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

/// Calls work(row) for each of `rows` rows of `columns` numbers; many are shared among threads.
template <class Work>
void for_each_row(std::size_t rows, std::size_t columns, const Work& work) {
    constexpr std::size_t most_shares = 64;
    constexpr double operations_a_cell = 8;
    const EvenParts shares{rows, 1, std::min(rows, most_shares)};
    const double operations =
        operations_a_cell * static_cast<double>(rows) * static_cast<double>(columns);
    share_tasks(shares.count, worthwhile_threads(0, operations, shares.count),
                [&](std::size_t share, std::size_t) {
                    for (std::size_t r = shares.begin(share); r < shares.begin(share + 1); ++r) {
                        work(r);
                    }
                });
}

}  // namespace attn
