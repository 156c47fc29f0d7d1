#include "attn/files/io/array_files.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "attn/files/io/read_tensor.hpp"
#include "tests/files/io/messages.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

std::string npy_bytes(const std::string& header, const std::string& payload) {
    std::string bytes(npy_magic);
    bytes += '\x01';
    bytes += '\0';
    bytes += static_cast<char>(header.size() & 0xFFU);
    bytes += static_cast<char>(header.size() >> 8U);
    return bytes + header + payload;
}

std::string header_of(const std::string& descr, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string written(const Tensor& tensor) {
    const ScratchFolder scratch;
    OutputFile file(scratch / "t.npy");
    write_npy(file, tensor);
    file.commit();
    return program::read_file(scratch / "t.npy");
}

}  // namespace

TEST_SUITE("npy") {
    TEST_CASE("every numeric type of NumPy is read, in both byte orders") {
        struct Example {
            const char* file;
            DType dtype;
            double first;  // the fixtures contain first, first + 1, ... in shape (2, 3)
        };
        for (const Example& example : {
                 Example{"little_f2", DType::float16, -1},
                 {"big_f2", DType::float16, -1},
                 {"little_f4", DType::float32, -1},
                 {"big_f4", DType::float32, -1},
                 {"little_f8", DType::float64, -1},
                 {"big_f8", DType::float64, -1},
                 {"little_i1", DType::int64, -1},
                 {"little_i2", DType::int64, -1},
                 {"big_i2", DType::int64, -1},
                 {"little_i4", DType::int64, -1},
                 {"little_i8", DType::int64, -1},
                 {"big_i8", DType::int64, -1},
                 {"little_u1", DType::int64, 0},
                 {"little_u2", DType::int64, 0},
                 {"little_u4", DType::int64, 0},
                 {"big_u4", DType::int64, 0},
                 {"little_u8", DType::int64, 0},
             }) {
            CAPTURE(example.file);
            const Tensor tensor = read_tensor(fixture(std::string(example.file) + ".npy"));
            CHECK(tensor.dtype() == example.dtype);
            REQUIRE(tensor.shape() == Shape{2, 3});
            CHECK(tensor.axes() == Axes{"axis0", "axis1"});
            for (std::size_t i = 0; i < 6; ++i) {
                CHECK(tensor.at(i) == example.first + static_cast<double>(i));
            }
        }
    }

    TEST_CASE("booleans are read") {
        const Tensor tensor = read_tensor(fixture("bool.npy"));
        CHECK(tensor.as<bool>() == Array<bool>{true, false, true});
    }

    TEST_CASE("a column-major array is turned into row-major order") {
        const Tensor tensor = read_tensor(fixture("fortran_f8.npy"));
        REQUIRE(tensor.shape() == Shape{2, 3, 4});
        for (std::size_t i = 0; i < 24; ++i) CHECK(tensor.at(i) == static_cast<double>(i));
    }

    TEST_CASE("the versions 2.0 and 3.0 are read") {
        for (const char* name : {"version_2.npy", "version_3.npy"}) {
            CHECK(read_tensor(fixture(name)).as<float>() == Array<float>{0.0F, 1.0F, 2.0F});
        }
    }

    TEST_CASE("a scalar and an empty array keep their shape") {
        const Tensor scalar = read_tensor(fixture("scalar.npy"));
        CHECK(scalar.shape() == Shape{});
        CHECK(std::signbit(scalar.at(0)));
        CHECK(read_tensor(fixture("empty.npy")).shape() == Shape{0, 3});
    }

    TEST_CASE("half precision is widened exactly") {
        const Tensor tensor = read_tensor(fixture("half_special.npy"));
        const Array<float>& values = tensor.as<float>();
        CHECK(std::bit_cast<std::uint32_t>(values(0)) == 0U);
        CHECK(std::bit_cast<std::uint32_t>(values(1)) == 0x80000000U);
        CHECK(values(2) == std::numeric_limits<float>::infinity());
        CHECK(values(3) == -std::numeric_limits<float>::infinity());
        CHECK(std::isnan(values(4)));
        CHECK(values(5) == 0x1p-24F);
        CHECK(values(6) == 0x1.ff8p-15F);  // the subnormal nearest to 6.1e-5
        CHECK(values(7) == 65504.0F);
        CHECK(values(8) == 0x1.554p-2F);
    }

    TEST_CASE("the written bytes are those of NumPy") {
        for (const char* name : {"little_f4.npy", "little_f8.npy", "little_i8.npy", "bool.npy",
                                 "scalar.npy", "empty.npy", "special.npy"}) {
            CAPTURE(name);
            const std::string expected = program::read_file(fixture(name));
            CHECK(written(read_tensor(fixture(name))) == expected);
        }
    }

    TEST_CASE("values survive a round trip bit for bit") {
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{2, 3, 7}, Shape{3, 0, 2}}) {
            Array<float> values = empty_array<float>(shape);
            std::uint32_t bits = 0x7F800001U;  // a signalling nan, then all kinds of numbers
            for (float& value : values) {
                value = std::bit_cast<float>(bits);
                bits = bits * 1664525U + 1013904223U;
            }
            Axes axes(shape.size(), "axis");
            const Tensor tensor(axes, values);
            const std::string bytes = written(tensor);
            const Tensor back = read_tensors_from_bytes(bytes, "t.npy")[0].tensor;
            CHECK(back.shape() == shape);
            CHECK(written(back) == bytes);
        }
    }

    TEST_CASE("types that are not numbers are refused with a remedy") {
        const std::string path = fixture("complex.npy");
        CHECK(refusal([&] { read_tensor(path); }) ==
              path +
                  ": the type '<c16' is not supported at offset 20: convert it with "
                  ".astype('float32') and save it again");
        const auto reason = [](const std::string& name) {
            return refusal([&] { read_tensor(fixture(name)); });
        };
        CHECK(reason("objects.npy").find("pickled Python objects") != std::string::npos);
        CHECK(reason("structured.npy").find("a structured array") != std::string::npos);
        CHECK(reason("text.npy").find("'<U3' is not supported") != std::string::npos);
        CHECK(reason("too_large_u8.npy").find("element 1 is 9223372036854775808") !=
              std::string::npos);
    }

    TEST_CASE("a header that promises more or less than the file contains is refused") {
        const std::string eight(8, '\0');
        CHECK(refusal_of(npy_bytes(header_of("'<f4'", "(3,)"), eight), "a.npy") ==
              "a.npy: shape (3,) needs 12 bytes of values, but the file ends after 8 at offset 76: "
              "save it again with numpy.save");
        CHECK(
            refusal_of(npy_bytes(header_of("'<f4'", "(1,)"), eight), "a.npy") ==
            "a.npy: 4 bytes too many after the values at offset 72: save it again with numpy.save");
        for (const char* shape :
             {"(4611686018427387905, 4)", "(18446744073709551615, 18446744073709551615)",
              "(0, 9223372036854775807, 9223372036854775807)", "(99999999999999999999999,)",
              "(-1,)", "(2,,)", "2", "(2, 'a')",
              "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
              "1,1,1,1,1,1,1,1,1,1)"}) {
            CAPTURE(shape);
            CHECK(refusal_of(npy_bytes(header_of("'<f4'", shape), eight), "a.npy")
                      .starts_with("a.npy: "));
        }
        std::string bytes = npy_bytes(header_of("'<f4'", "(2,)"), eight);
        CHECK_NOTHROW(read_tensors_from_bytes(bytes, "a.npy"));
        bytes[9] = '\x7F';
        CHECK(refusal_of(bytes, "a.npy").find("the header claims 325") != std::string::npos);
    }

    TEST_CASE("every truncation is refused") {
        const std::string whole = program::read_file(fixture("little_f4.npy"));
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CAPTURE(length);
            CHECK(refusal_of(whole.substr(0, length), "a.npy").starts_with("a.npy: "));
        }
    }

    TEST_CASE("a header may have other layouts that Python reads too") {
        const std::string header = "{\"shape\":(2L,), 'fortran_order' : True,'descr':\"<f4\"}   \n";
        const std::string bytes = npy_bytes(header, std::string(8, '\0'));
        CHECK(read_tensors_from_bytes(bytes, "a")[0].tensor.shape() == Shape{2});
        CHECK(refusal_of(npy_bytes("{'descr': '<f4', 'descr': '<f4'}", ""), "a.npy") ==
              "a.npy: the header has an unexpected key 'descr' at offset 27: "
              "save it again with numpy.save");
    }
}
