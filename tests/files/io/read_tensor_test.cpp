#include "attn/files/io/read_tensor.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "attn/files/io/output_files.hpp"
#include "tests/files/io/messages.hpp"
#include "tests/files/io/scratch.hpp"

using namespace attn;

TEST_SUITE("read tensor") {
    TEST_CASE("the content decides what a file is, not its name") {
        const ScratchFolder scratch;
        std::filesystem::copy_file(fixture("little_f4.npy"), scratch / "array.csv");
        CHECK(read_tensor(scratch / "array.csv").dtype() == DType::float32);
        write_file(scratch / "table", "1,2\n");
        CHECK(read_tensor(scratch / "table").dtype() == DType::float64);
    }

    TEST_CASE("a file may have colons in its name") {
        const ScratchFolder scratch;
        write_file(scratch / "a:b", "1\n");
        CHECK(read_tensor(scratch / "a:b").at(0) == 1.0);
    }

    TEST_CASE("a name for the only array of a file without names is refused") {
        const std::string path = fixture("bool.npy");
        CHECK(refusal([&] { read_tensor(path + ":x"); }) ==
              path + ": contains one array without a name: leave out :x");
    }

    TEST_CASE("the only array of a file without names can be given one") {
        const ScratchFolder scratch;
        write_file(scratch / "out.csv", "1,2\n");
        write_file(scratch / "out.json", "[1, 2]");
        for (const char* name : {"out.csv", "out.json"}) {
            const auto tensors = read_tensors((scratch / name).string() + ":output");
            REQUIRE(tensors.size() == 1);
            CHECK(tensors[0].name == "output");
        }
        CHECK(read_tensors(fixture("bool.npy") + ":mask")[0].name == "mask");
    }

    TEST_CASE("an endless file is refused") {
        CHECK(refusal([] { read_tensors("/dev/zero"); }) ==
              "/dev/zero: more than 64 MB from a pipe or a device: save it to a file first");
    }

    TEST_CASE("names of files and arrays are escaped before they reach the terminal") {
        const ScratchFolder scratch;
        const std::string path = scratch / "a\x1b[2J";
        write_file(path, "1,x\n");
        CHECK(refusal([&] { read_tensor(path); }).find("a\\x1b[2J: line 1") != std::string::npos);
        CHECK(refusal_of("{\"\\u001b[2J\\u202e\": [[1], [2, 3]]}", "t")
                  .starts_with("t: array '\\x1b[2J\\u202e': the lists"));
    }

    TEST_CASE("a file that cannot be opened is named with the reason") {
        CHECK(refusal([] { read_tensor("/no/such/file.npy:x"); }) ==
              "/no/such/file.npy: cannot be read: No such file or directory: check the path");
        CHECK(refusal([] { read_tensors("/tmp"); }).starts_with("/tmp: cannot be read: Is a dir"));
    }

    TEST_CASE("bytes that are neither a known format nor text are refused") {
        CHECK(refusal_of(std::string_view("ab\0c", 4), "x").find("offset 2") != std::string::npos);
        CHECK(refusal_of("1,2\n", "x.npy").starts_with("x.npy: this is not a .npy file"));
        CHECK(refusal_of("a\x01\x1b[31m,b\n2,c\x1b[31m\n", "x") ==
              "x: line 2, column 2: 'c\\x1b[31m' is not a number: write it as 1.5 or 1e-3");
    }
}
