#include "attn/io/read_tensor.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "attn/io/atomic_file.hpp"
#include "tests/io/messages.hpp"
#include "tests/io/scratch.hpp"

using namespace attn;

TEST_SUITE("read tensor") {
    TEST_CASE("the content decides what a file is, not its name") {
        const Scratch scratch;
        std::filesystem::copy_file(fixture("little_f4.npy"), scratch / "array.csv");
        CHECK(read_tensor(scratch / "array.csv").dtype() == DType::float32);
        write_file(scratch / "table", "1,2\n");
        CHECK(read_tensor(scratch / "table").dtype() == DType::float64);
    }

    TEST_CASE("a file may have colons in its name") {
        const Scratch scratch;
        write_file(scratch / "a:b", "1\n");
        CHECK(read_tensor(scratch / "a:b").at(0) == 1.0);
    }

    TEST_CASE("a name for the only array of a file without names is refused") {
        const std::string path = fixture("bool.npy");
        CHECK(refusal([&] { read_tensor(path + ":x"); }) ==
              path + ": holds one array without a name: leave out :x");
    }

    TEST_CASE("a file that cannot be opened is named with the reason") {
        CHECK(refusal([] { read_tensor("/no/such/file.npy:x"); }) ==
              "/no/such/file.npy: cannot be read: No such file or directory: check the path");
        CHECK(refusal([] { read_tensors("/tmp"); }).starts_with("/tmp: cannot be read: Is a dir"));
    }

    TEST_CASE("bytes that are neither a known format nor text are refused") {
        CHECK(refusal_of(std::string_view("ab\0c", 4), "x").find("offset 2") != std::string::npos);
        CHECK(refusal_of("1,2\n", "x.npy").starts_with("x.npy: this is no .npy file"));
        CHECK(refusal_of("a\x01\x1b[31m,b\nc\x1b[31m,2\n", "x") ==
              "x: line 2, column 1: 'c\\x1b[31m' is no number of float64: write it as 1.5 or 1e-3");
    }
}
