#include "attn/files/io/array_files.hpp"

#include <doctest/doctest.h>
#include <numeric>

#include <string>
#include <vector>

#include "attn/files/io/read_tensor.hpp"
#include "tests/files/io/messages.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

std::string zipped(const std::vector<TensorRef>& tensors) {
    const ScratchFolder scratch;
    OutputFile file(scratch / "t.npz");
    write_npz(file, tensors);
    file.commit();
    return program::read_file(scratch / "t.npz");
}

std::string fixture_bytes(const std::string& name) { return program::read_file(fixture(name)); }

}  // namespace

TEST_SUITE("npz") {
    TEST_CASE("stored and deflated archives of NumPy hold their arrays by name and in order") {
        for (const char* name : {"stored.npz", "deflated.npz"}) {
            CAPTURE(name);
            const std::vector<NamedTensor> tensors = read_tensors(fixture(name));
            REQUIRE(tensors.size() == 4);
            CHECK(tensors[0].name == "x");
            CHECK(tensors[0].tensor.as<float>() ==
                  Array<float>{{0.0F, 0.25F, 0.5F}, {0.75F, 1.0F, 1.25F}});
            CHECK(tensors[1].name == "ids");
            CHECK(tensors[1].tensor.as<std::int64_t>() == Array<std::int64_t>{3, 1, 2});
            CHECK(tensors[2].name == "mask");
            CHECK(tensors[2].tensor.as<bool>() == Array<bool>{{true, false}});
            CHECK(tensors[3].name == "scale");
            CHECK(tensors[3].tensor.shape() == Shape{});
            CHECK(tensors[3].tensor.at(0) == 2.5);
        }
    }

    TEST_CASE("zip64 records and sizes after the data are read") {
        for (const char* name : {"zip64.npz", "streamed.npz"}) {
            CAPTURE(name);
            CHECK(read_tensor(fixture(name)).at(5) == 1.25);
        }
    }

    TEST_CASE("an array is selected by its name") {
        const std::string path = fixture("stored.npz");
        CHECK(read_tensor(path + ":ids").at(0) == 3.0);
        CHECK(refusal([&] { read_tensor(path); }) ==
              path + ": holds 4 arrays, 'x', 'ids', 'mask', 'scale': pick one with FILE:NAME");
        CHECK(refusal([&] { read_tensor(path + ":y"); }) ==
              path + ": no array is called 'y': choose one of 'x', 'ids', 'mask', 'scale'");
    }

    TEST_CASE("a long list of names is shortened") {
        const Tensor one({}, Array<float>(1.0F));
        std::vector<TensorRef> many;
        for (int i = 0; i < 15; ++i) many.push_back({"w" + std::to_string(i), one});
        const ScratchFolder scratch;
        write_file(scratch / "many.npz", zipped(many));
        const std::string message = refusal([&] { read_tensor(scratch / "many.npz"); });
        CHECK(message.find("'w10', 'w11' and 3 others: pick one") != std::string::npos);
    }

    TEST_CASE("values survive a round trip bit for bit") {
        const Tensor special = read_tensor(fixture("special.npy"));
        const Tensor scalar = read_tensor(fixture("scalar.npy"));
        const Tensor empty = read_tensor(fixture("empty.npy"));
        Array<float> counted = empty_array<float>({100'000});
        std::iota(counted.begin(), counted.end(), 0.0F);
        const Tensor large({"query"}, std::move(counted));
        const std::string bytes =
            zipped({{"special", special}, {"scalar", scalar}, {"empty", empty}, {"large", large}});
        const std::vector<NamedTensor> back = read_tensors_from_bytes(bytes, "t.npz");
        REQUIRE(back.size() == 4);
        CHECK(back[0].name == "special");
        CHECK(value_bytes(back[0].tensor) == value_bytes(special));
        CHECK(value_bytes(back[1].tensor) == value_bytes(scalar));
        CHECK(back[1].tensor.shape() == Shape{});
        CHECK(back[2].tensor.shape() == Shape{0, 3});
        CHECK(value_bytes(back[3].tensor) == value_bytes(large));
        CHECK(read_tensors_from_bytes(zipped({}), "none.npz").empty());
    }

    TEST_CASE("an archive can be written to a stream that cannot seek") {
        const ScratchFolder scratch;
        const Tensor tensor = read_tensor(fixture("special.npy"));
        {
            OutputFile log(scratch / "log");
            log.write("before");
            write_npz(log, {{"a", tensor}, {"b", tensor}});
            log.commit();
        }
        CHECK(program::read_file(scratch / "log").substr(6) ==
              zipped({{"a", tensor}, {"b", tensor}}));
    }

    TEST_CASE("two tensors of one name cannot be written") {
        const Tensor one({}, Array<float>(1.0F));
        CHECK_THROWS_AS(zipped({{"a", one}, {"a", one}}), OutputError);
    }

    TEST_CASE("archives without tensors are refused with a remedy") {
        const auto reason = [](const std::string& name) {
            return refusal([&] { read_tensors(fixture(name)); });
        };
        CHECK(reason("twice.npz").find("holds 'x' twice") != std::string::npos);
        CHECK(reason("bzip2.npz").find("array 'x': unknown compression method 12") !=
              std::string::npos);
    }

    TEST_CASE("a damaged archive is refused") {
        const std::string whole = fixture_bytes("deflated.npz");
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CHECK(refusal_of(whole.substr(0, length), "a.npz").starts_with("a.npz: "));
        }
        std::string flipped = fixture_bytes("stored.npz");
        const std::size_t header = flipped.find(npy_magic);
        flipped[flipped.find('\n', header) + 3] ^= 1;
        CHECK(refusal_of(flipped, "a.npz").find("'x': the checksum is wrong") != std::string::npos);
    }

    TEST_CASE("an entry that claims to unpack to more than deflate can give is refused") {
        // The unpacked size is at offset 24 of the directory's entry.
        std::string bomb = fixture_bytes("deflated.npz");
        const std::size_t entry = bomb.find("PK\x01\x02");
        bomb.replace(entry + 24, 4, "\xFF\xFF\xFF\x7F");
        CHECK(refusal_of(bomb, "a.npz").find("claims to unpack from") != std::string::npos);
        // A size that deflate could reach is compared with the header of the array.
        bomb.replace(entry + 24, 4, std::string("\0\x08\0\0", 4));
        const std::string message = refusal_of(bomb, "a.npz");
        CHECK(message.starts_with("a.npz: array 'x'"));
    }

    TEST_CASE("a size that refers to a missing zip64 record is refused") {
        std::string bytes = fixture_bytes("deflated.npz");
        bytes.replace(bytes.find("PK\x01\x02") + 20, 8, std::string(8, '\xFF'));
        CHECK(refusal_of(bytes, "a.npz").find("the directory of the archive is damaged") !=
              std::string::npos);
    }

    TEST_CASE("an array that is not a tensor does not prevent reading the others") {
        std::vector<std::string> notes;
        const std::string path = fixture("mixed.npz");
        const auto tensors =
            read_tensors(path, [&](std::string_view note) { notes.emplace_back(note); });
        REQUIRE(tensors.size() == 1);
        CHECK(tensors[0].name == "x");
        REQUIRE(notes.size() == 3);
        CHECK(notes[0] ==
              path + ": left out 'words': the type '<U5' is not supported at offset 20");
        CHECK(notes[1].find("left out 'objects': the array contains pickled") != std::string::npos);
        CHECK(notes[2].find("left out 'notes.txt': it is not a NumPy array") != std::string::npos);
        CHECK(read_tensor(path + ":x").at(2) == 1.0);
        CHECK(refusal([&] { read_tensor(path + ":words"); }).find("'<U5'") != std::string::npos);
    }
}
