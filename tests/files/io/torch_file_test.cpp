
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attn/files/io/read_tensor.hpp"
#include "attn/files/io/zip.hpp"
#include "tests/files/io/messages.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

NamedTensor stored(const std::string& name) {
    return TensorFile(fixture("dictionary.pt")).read(name);
}

// The error from an archive whose pickle is `pickle` and whose one storage has 16 bytes.
std::string refusal_of_pickle(const std::string& pickle) {
    const ScratchFolder scratch;
    {
        OutputFile file(scratch / "a.pt");
        ZipWriter archive(file);
        archive.add("a/data.pkl", pickle, "");
        archive.add("a/data/0", std::string(16, '\0'), "");
        archive.finish();
        file.commit();
    }
    return refusal_of(program::read_file(scratch / "a.pt"), "a.pt");
}

// The opcodes of a tensor, as torch.save writes them: offset, sizes and strides are one-byte
// integers.
std::string tensor_pickle(const std::string& offset, const std::string& sizes,
                          const std::string& strides) {
    return "\x80\x02"
           "ctorch._utils\n_rebuild_tensor_v2\n"
           "((X\x07" +
           std::string(3, '\0') + "storage" + "ctorch\nFloatStorage\n" + "X\x01" +
           std::string(3, '\0') + "0" + "X\x03" + std::string(3, '\0') + "cpu" + "K\x04" + "tQ" +
           "K" + offset + "(" + sizes + "t(" + strides +
           "t\x89"
           "ccollections\nOrderedDict\n)RtR.";
}

}  // namespace

TEST_SUITE("torch file") {
    TEST_CASE("every type of tensor in a dictionary is read by its key") {
        const Tensor x = stored("x").tensor;
        REQUIRE(x.shape() == Shape{2, 3, 4});
        for (std::size_t i = 0; i < 24; ++i) CHECK(x.at(i) == static_cast<double>(i));
        CHECK(stored("double").tensor.as<double>()(0) == 0.1);
        CHECK(std::signbit(stored("double").tensor.at(1)));
        CHECK(std::isnan(stored("double").tensor.at(2)));
        CHECK(stored("half").tensor.as<float>() == Array<float>{1.5F, -2.0F, 65504.0F});
        CHECK(stored("brain").tensor.as<float>() == Array<float>{1.0F, -3.140625F});
        CHECK(stored("long").tensor.as<std::int64_t>() ==
              Array<std::int64_t>{{-7, 9007199254740993}});
        CHECK(stored("int").tensor.as<std::int64_t>() == Array<std::int64_t>{-1, 2});
        CHECK(stored("short").tensor.at(0) == -300.0);
        CHECK(stored("char").tensor.at(0) == -5.0);
        CHECK(stored("byte").tensor.at(0) == 255.0);
        CHECK(stored("mask").tensor.as<bool>() == Array<bool>{{true, false}});
        CHECK(stored("scalar").tensor.shape() == Shape{});
        CHECK(stored("scalar").tensor.at(0) == 2.5);
        CHECK(stored("empty").tensor.shape() == Shape{0, 4});
        CHECK(stored("parameter").tensor.at(0) == 0.25);
        CHECK(stored("half").tensor.dtype() == DType::float16);
        CHECK(stored("brain").tensor.dtype() == DType::bfloat16);
        CHECK(stored("x").tensor.dtype() == DType::float32);
    }

    TEST_CASE("views of one storage are read as views") {
        const Tensor transposed = stored("transposed").tensor;
        REQUIRE(transposed.shape() == Shape{4, 3, 2});
        CHECK(transposed.at(1) == 12.0);
        CHECK(transposed.at(2) == 4.0);
        CHECK(transposed.at(6) == 1.0);
        CHECK(stored("part").tensor.as<float>() == Array<float>{{16.0F, 18.0F}, {20.0F, 22.0F}});
        CHECK(stored("expanded").tensor.as<float>() ==
              Array<float>{{1.5F, -2.0F}, {1.5F, -2.0F}, {1.5F, -2.0F}});
    }

    TEST_CASE("an entry that is not a tensor is left out and named") {
        std::vector<std::string> notes;
        const std::string path = fixture("dictionary.pt");
        const auto tensors =
            read_tensors(path, [&](std::string_view note) { notes.emplace_back(note); });
        CHECK(tensors.size() == 16);
        REQUIRE(notes.size() == 4);
        CHECK(notes[0] == path + ": left out 'epoch': it is not a tensor");
    }

    TEST_CASE("a lone tensor has no name; a state dictionary has the names of its parameters") {
        const Tensor tensor = read_tensor(fixture("tensor.pt"));
        REQUIRE(tensor.shape() == Shape{2, 2, 4});
        CHECK(tensor.at(8) == 12.0);
        const auto state = read_tensors(fixture("state.pt"));
        REQUIRE(state.size() == 1);
        CHECK(state[0].name == "weight");
        CHECK(state[0].tensor.at(5) == 5.0);
    }

    TEST_CASE("the tensors of a list are read in its order, as layers of weights are saved") {
        const auto list = read_tensors(fixture("list.pt"));
        REQUIRE(list.size() == 1);
        CHECK(list[0].name.empty());
        CHECK(list[0].tensor.at(5) == 5.0);
    }

    TEST_CASE("anything but tensors is refused, and never run") {
        const auto reason = [](const std::string& name) {
            return refusal([&] { read_tensors(fixture(name)); });
        };
        CHECK(reason("module.pt") ==
              fixture("module.pt") +
                  ": it contains more than tensors, 'torch.nn.modules.linear Linear': save a "
                  "dictionary of tensors with torch.save, or all as .safetensors");
        CHECK(refusal_of_pickle("\x80\x02K\x01.").find("no tensor, list or dictionary") !=
              std::string::npos);
        CHECK(reason("legacy.pt").find("it is a Python pickle") != std::string::npos);
        CHECK(refusal_of_pickle("\x80\x02"
                                "cos\nsystem\n(X\x02" +
                                std::string(3, '\0') + "lstR.")
                  .find("it contains more than tensors, 'os system'") != std::string::npos);
    }

    TEST_CASE("pickles that lie about their storage are refused") {
        const std::string two = "K\x02K\x02";
        const std::string row_major = "K\x02K\x01";
        CHECK(refusal_of_pickle(tensor_pickle(std::string(1, '\0'), two, row_major)) ==
              "not refused");
        CHECK(refusal_of_pickle(tensor_pickle("\x01", two, row_major))
                  .find("it reaches beyond its storage") != std::string::npos);
        CHECK(refusal_of_pickle(tensor_pickle(std::string(1, '\0'), two, "K\xFFK\x01"))
                  .find("it reaches beyond its storage") != std::string::npos);
        CHECK(refusal_of_pickle(tensor_pickle(std::string(1, '\0'), two, "K\x01"))
                  .find("strides do not fit") != std::string::npos);
        const std::string large = "J\xFF\xFF\xFF\x7F";
        const std::string zero("K\0", 2);
        CHECK(refusal_of_pickle(tensor_pickle(std::string(1, '\0'), large + large, zero + zero))
                  .find("far larger than what the file holds") != std::string::npos);
        for (const char* pickle : {"", ".", "N", "(((", "\x80\x02}(", "h\x01.", "0.", "}N.",
                                   "]q\x01h\x01"
                                   "a.",
                                   "X\xFF\xFF\xFF\xFF"
                                   "abc",
                                   "(Q.", "R.", "b."}) {
            CAPTURE(pickle);
            CHECK(refusal_of_pickle(pickle).starts_with("a.pt: "));
        }
    }

    TEST_CASE(
        "small files that claim to be large are refused, and one tensor under many names is read") {
        const auto refused = [](const std::string& pickle, const std::string& part) {
            const std::string reason = refusal_of_pickle(pickle);
            CHECK_MESSAGE(reason.find(part) != std::string::npos, reason);
        };
        const std::string none(1, '\0');
        const std::string zero("K\0", 2);
        refused(tensor_pickle(none, "J" + std::string("\0\0\0\x04", 4), zero), "far larger");
        refused(tensor_pickle(none, "J" + std::string("\0\0\x80\0", 4), zero), "not refused");
        std::string long_key = tensor_pickle(none, "K\x02", "K\x01");
        long_key.replace(long_key.find("X\x01"), 6,
                         "X" + std::string("\0\0\x10\0", 4) + std::string(1U << 20U, '0'));
        refused(long_key, "damaged");

        // One tensor under many names: its four numbers a thousand times, and far too often.
        const std::string tensor = tensor_pickle(none, "K\x02K\x02", "K\x02K\x01");
        const auto many = [&](std::size_t count, const std::string& of) {
            std::string pickle = "\x80\x02}(";
            for (std::size_t i = 0; i < count; ++i) {
                const std::string name = std::to_string(i);
                pickle += "X" + std::string(1, static_cast<char>(name.size())) +
                          std::string(3, '\0') + name;
                pickle += i == 0 ? of.substr(2, of.size() - 3) + "q\x01" : "h\x01";
            }
            return pickle + "u.";
        };
        refused(many(4000, tensor), "not refused");
        refused(many(40, tensor_pickle(none, "J" + std::string("\0\0\x80\0", 4), zero)),
                "far larger");
    }

    TEST_CASE("every truncation is refused") {
        const std::string whole = program::read_file(fixture("tensor.pt"));
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CAPTURE(length);
            CHECK(refusal_of(whole.substr(0, length), "a.pt").starts_with("a.pt: "));
        }
    }
}
