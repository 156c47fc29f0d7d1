#include <doctest/doctest.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"

using namespace attn;

TEST_SUITE("tensor") {
    TEST_CASE("a tensor knows its axes by name") {
        const Tensor tensor({"head", "query"}, Array<double>{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
        CHECK(tensor.extent("query") == 3);
        CHECK(tensor.axis("head") == 0);
        CHECK(tensor.at(4) == 5.0);
        CHECK(tensor.described() == "head 2 x query 3");
        CHECK_THROWS_AS(tensor.extent("key"), ShapeError);
    }

    TEST_CASE("every axis needs a name") {
        CHECK_THROWS_AS(Tensor({"query"}, empty_array<float>({1, 1})), ShapeError);
    }

    TEST_CASE("casting rounds floating values and leaves the others alone") {
        const Tensor third({"query"}, Array<double>{1.0 / 3.0});
        CHECK(cast(third, DType::float32).at(0) == static_cast<double>(1.0F / 3.0F));
        const Tensor ids({"query"}, Array<std::int64_t>{7});
        CHECK(cast(ids, DType::float32).dtype() == DType::int64);
    }
}
