#include "attn/ground/simd/parallel.hpp"

#include <doctest/doctest.h>

#include <new>
#include <vector>

using namespace attn;

TEST_SUITE("parallel") {
    TEST_CASE("each task runs once, with any number of threads") {
        for (const std::size_t threads : {1U, 2U, 7U}) {
            std::vector<int> done(100, 0);
            share_tasks(done.size(), threads, [&](std::size_t task, std::size_t) { ++done[task]; });
            CHECK(done == std::vector<int>(100, 1));
        }
    }

    TEST_CASE("an exception in a task arrives in the calling thread") {
        for (const std::size_t threads : {1U, 2U, 7U}) {
            const auto fail = [](std::size_t task, std::size_t) {
                if (task % 3 == 1) throw std::bad_alloc();
            };
            CHECK_THROWS_AS(share_tasks(100, threads, fail), std::bad_alloc);
        }
    }
}
