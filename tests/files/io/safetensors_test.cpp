#include "attn/files/io/array_files.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/files/io/messages.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

std::string file_of(const std::string& header, const std::string& values) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size() & 0xFFU);
    length[1] = static_cast<char>(header.size() >> 8U);
    return length + header + values;
}

std::string entry(const std::string& name, const std::string& shape, int begin, int end) {
    return '"' + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[)" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
}

std::string safetensors_bytes(const std::vector<TensorRef>& tensors) {
    const ScratchFolder scratch;
    OutputFile file(scratch / "t.safetensors");
    write_safetensors(file, tensors);
    file.commit();
    return program::read_file(scratch / "t.safetensors");
}

}  // namespace

TEST_SUITE("safetensors") {
    TEST_CASE("every type of the format is read, in the order of the values") {
        const std::vector<NamedTensor> tensors = read_tensors(fixture("all_types.safetensors"));
        REQUIRE(tensors.size() == 11);
        std::map<std::string, Tensor> by_name;
        for (const NamedTensor& each : tensors) by_name[each.name] = each.tensor;
        CHECK(tensors[0].name == "f64");
        CHECK(by_name["f64"].at(0) == 0.1);
        CHECK(std::signbit(by_name["f64"].at(1)));
        CHECK(by_name["i64"].shape() == Shape{});
        CHECK(by_name["i64"].as<std::int64_t>()() == -7);
        CHECK(by_name["x"].shape() == Shape{2, 3});
        CHECK(by_name["x"].as<float>()(1, 2) == 1.25F);
        CHECK(by_name["i32"].as<std::int64_t>() == Array<std::int64_t>{-1, 2});
        CHECK(by_name["f16"].as<float>() == Array<float>{1.5F, -2.0F});
        CHECK(by_name["bf16"].as<float>() == Array<float>{1.0F, -3.140625F, HUGE_VALF});
        CHECK(by_name["i16"].at(0) == -300.0);
        CHECK(by_name["i8"].at(0) == -5.0);
        CHECK(by_name["u8"].as<std::int64_t>() == Array<std::int64_t>{0, 255});
        CHECK(by_name["mask"].as<bool>() == Array<bool>{{true, false}});
        CHECK(by_name["empty"].shape() == Shape{0, 4});
    }

    TEST_CASE("a written file follows the rules of the format") {
        const Tensor mask({"key"}, Array<bool>{true});
        const Tensor ids({"key"}, Array<std::int64_t>{5});
        const Tensor x({"query", "key"}, Array<float>::filled({1, 1}, 1));
        const std::string header = R"({"ids":{"data_offsets":[0,8],"dtype":"I64","shape":[1]},)"
                                   R"("mask":{"data_offsets":[12,13],"dtype":"BOOL","shape":[1]},)"
                                   R"("x":{"data_offsets":[8,12],"dtype":"F32","shape":[1,1]}})";
        const std::string bytes = safetensors_bytes({{"mask", mask}, {"ids", ids}, {"x", x}});
        const std::size_t padded = (header.size() + 7) / 8 * 8;
        CHECK(little_endian(bytes, 8) == padded);
        CHECK(bytes.substr(8, padded) == header + std::string(padded - header.size(), ' '));
        CHECK(bytes.substr(8 + padded) == std::string("\5\0\0\0\0\0\0\0\0\0\x80\x3F\1", 13));
    }

    TEST_CASE("values survive a round trip bit for bit") {
        const Tensor special = read_tensor(fixture("special.npy"));
        const Tensor scalar = read_tensor(fixture("scalar.npy"));
        const Tensor empty = read_tensor(fixture("empty.npy"));
        const std::string bytes =
            safetensors_bytes({{"a \"quoted\" name", special}, {"s", scalar}, {"e", empty}});
        const std::vector<NamedTensor> back = read_tensors_from_bytes(bytes, "t");
        REQUIRE(back.size() == 3);
        CHECK(back[0].name == "a \"quoted\" name");
        CHECK(value_bytes(back[0].tensor) == value_bytes(special));
        CHECK(value_bytes(back[1].tensor) == value_bytes(scalar));
        CHECK(back[1].tensor.shape() == Shape{});
        CHECK(back[2].tensor.shape() == Shape{0, 3});
        CHECK(read_tensors_from_bytes(safetensors_bytes({}), "t").empty());
    }

    TEST_CASE("values with a hole, an overlap or an end outside the file are refused") {
        const std::string eight(8, '\0');
        const std::string a = entry("a", "[1]", 0, 4);
        CHECK_NOTHROW(read_tensors_from_bytes(
            file_of('{' + a + ',' + entry("b", "[1]", 4, 8) + '}', eight), "t"));
        const auto reason = [&](const std::string& entries, const std::string& values) {
            return refusal_of(file_of('{' + entries + '}', values), "t");
        };
        CHECK(reason(a + ',' + entry("b", "[1]", 8, 12), eight + "    ") ==
              "t: array 'b': the values should begin at 4, not 8 (a hole or an overlap): "
              "save it again");
        CHECK(reason(a + ',' + entry("b", "[1]", 0, 4), eight).find("overlap") !=
              std::string::npos);
        CHECK(reason(a + ',' + entry("b", "[2]", 4, 12), eight) ==
              "t: array 'b': the values end at 12, but the file has only 8 bytes of them: "
              "save it again");
        CHECK(reason(a, eight).find("4 bytes too many at offset ") != std::string::npos);
        CHECK(reason(entry("a", "[3]", 0, 8), eight).find("shape (3,) does not take the 8 bytes") !=
              std::string::npos);
        CHECK(reason(a + ',' + a, eight).find("the key 'a' occurs twice") != std::string::npos);
    }

    TEST_CASE("from a file of 4 GiB only the requested tensors are read") {
        // The file is sparse, so it takes no disk space; reading every byte of a chain would take
        // seconds and 4 GiB of memory.
        const ScratchFolder scratch;
        const std::string path = scratch / "large.safetensors";
        std::string header = R"({"q":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                             R"("rest":{"dtype":"F32","shape":[1073741824],)"
                             R"("data_offsets":[4,4294967300]}})";
        write_file(path, file_of(header, std::string("\x00\x3C\x00\xC0", 4)));
        std::filesystem::resize_file(path, 8 + header.size() + 4294967300U);
        const auto start = std::chrono::steady_clock::now();
        const std::vector<NamedTensor> tensors = read_tensors(path + ":q");
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
        REQUIRE(tensors.size() == 1);
        CHECK(tensors[0].tensor.as<float>() == Array<float>{1.0F, -2.0F});
        CHECK(tensors[0].tensor.dtype() == DType::float16);
    }

    TEST_CASE("an unsupported type does not prevent reading the others") {
        const std::string header = R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},)"
                                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
        const std::string bytes = file_of(header, std::string(8, '\0'));
        CHECK(read_tensors_from_bytes(bytes, "t").size() == 1);
        const std::string reported = refusal([&] { TensorFile(bytes, "t").read("a"); });
        CHECK(
            reported.starts_with("t: array 'a': the type 'F8_E4M3' is not supported: convert it to "
                                 "F32, as python3 -c \"from safetensors.torch"));
    }

    TEST_CASE("a header that continues after a NUL is refused") {
        const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
        CHECK_NOTHROW(read_tensors_from_bytes(file_of(header, "abcd"), "t"));
        CHECK(refusal_of(file_of(header + std::string("\0}", 2), "abcd"), "t")
                  .starts_with("t: header: this is not JSON at line 1"));
    }

    TEST_CASE("headers with false sizes are refused") {
        const std::string name = "t.safetensors";
        for (const char* header :
             {"[]", "{", "{\"a\":1}", R"({"a":{"dtype":"F8","shape":[],"data_offsets":[0,1]}})",
              R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
              R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})",
              R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
              "\xEF\xBB\xBF{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
              R"({"__metadata__":[],"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
              R"({"__metadata__":{"n":1},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
              R"({"a":{"dtype":7,"shape":[4],"data_offsets":[0,4]}})",
              R"({"a":{"dtype":"Q9","shape":[2],"data_offsets":[0,4]}})",
              R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
              R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})",
              R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,9],"data_offsets":[0,0]}})"}) {
            CAPTURE(header);
            CHECK(refusal_of(file_of(header, "abcd"), name).starts_with("t.safetensors: "));
        }
        CHECK(refusal_of(std::string(8, '\xFF') + "{}", name)
                  .find("the header claims 18446744073709551615 bytes") != std::string::npos);
        CHECK(refusal_of("abc", name).find("the first 8 bytes") != std::string::npos);
    }
}
