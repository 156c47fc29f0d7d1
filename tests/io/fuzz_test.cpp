#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "attn/io/file_bytes.hpp"
#include "attn/io/read_tensor.hpp"
#include "tests/io/messages.hpp"

using namespace attn;

namespace {

// Damages `bytes` in one to four places: flips, random bytes, large numbers, cuts and repeats.
std::string mutated(std::string bytes, std::mt19937& random) {
    const auto below = [&random](std::size_t limit) {
        return random() % std::max<std::size_t>(limit, 1);
    };
    const std::vector<std::string> pieces{std::string(4, '\xFF'),
                                          std::string(8, '\xFF'),
                                          std::string(8, '\0'),
                                          "\x7F",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          "(",
                                          ")",
                                          ",",
                                          "'",
                                          "\"",
                                          "999999999999",
                                          "-1",
                                          "nan",
                                          "1e999",
                                          ":",
                                          "\n",
                                          "\\u0000"};
    for (std::size_t count = 1 + below(4); count > 0; --count) {
        if (bytes.empty()) return bytes;
        const std::size_t place = below(bytes.size());
        const std::string& piece = pieces[below(pieces.size())];
        switch (below(7)) {
            case 0:
                bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8)));
                break;
            case 1:
                bytes[place] = static_cast<char>(below(256));
                break;
            case 2:
                bytes.replace(place, piece.size(), piece);
                break;
            case 3:
                bytes.insert(place, piece);
                break;
            case 4:
                bytes.erase(place, 1 + below(16));
                break;
            case 5:
                bytes.insert(place, bytes.substr(below(bytes.size()), below(64)));
                break;
            default:
                bytes.resize(place);
                break;
        }
    }
    return bytes;
}

}  // namespace

TEST_SUITE("fuzz") {
    TEST_CASE("damaged files either are read or are refused with their name, and quickly") {
        struct Seed {
            std::string bytes;
            std::string label;
        };
        std::vector<Seed> seeds;
        for (const char* name :
             {"little_f4.npy", "fortran_f8.npy", "version_3.npy", "stored.npz", "deflated.npz",
              "zip64.npz", "streamed.npz", "all_types.safetensors"}) {
            seeds.push_back({std::string(read_file_bytes(fixture(name)).view()), name});
        }
        seeds.push_back({"a,\"b\"\n1,2.5\nnan,-inf\n# end\n", "t.csv"});
        seeds.push_back({"step,query,key,value\na,0,0,1\na,0,1,2\nb,,,3\n", "t.csv"});
        seeds.push_back({R"({"x": [[1, 2.5], ["nan", -1e3]], "m": [true, false]})", "t.json"});
        seeds.push_back({R"({"attn_explain": "1", "steps": [{"name": "a", "axes": ["query"],
            "shape": [2], "dtype": "float32", "data": [0.5, "inf"]}]})",
                         "t.json"});

        std::mt19937 random(20240229);
        std::size_t refused = 0;
        std::size_t total = 0;
        for (const Seed& seed : seeds) {
            REQUIRE_NOTHROW(read_tensors_from_bytes(seed.bytes, seed.label));
            for (int round = 0; round < 5000; ++round) {
                const std::string bytes = mutated(seed.bytes, random);
                CAPTURE(seed.label);
                CAPTURE(round);
                ++total;
                const auto start = std::chrono::steady_clock::now();
                try {
                    read_tensors_from_bytes(bytes, seed.label);
                } catch (const InputError& error) {
                    ++refused;
                    const std::string message = error.what();
                    REQUIRE(message.starts_with(seed.label));
                    REQUIRE(message.find('\n') == message.npos);
                }
                // A few milliseconds would be normal; a second can only be a loop out of hand.
                REQUIRE(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
            }
        }
        // Had nothing been refused, or all, the damage would be of the wrong kind.
        CHECK(refused > total / 4);
        CHECK(refused < total);
    }
}
