#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "attn/files/io/read_tensor.hpp"
#include "tests/files/io/messages.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/support/program.hpp"

using namespace attn;

TEST_SUITE("fuzz") {
    TEST_CASE("damaged files are either read or refused with their name, and quickly") {
        struct Seed {
            std::string bytes;
            std::string label;
        };
        std::vector<Seed> seeds;
        for (const char* name :
             {"little_f4.npy", "fortran_f8.npy", "version_3.npy", "stored.npz", "deflated.npz",
              "zip64.npz", "streamed.npz", "all_types.safetensors", "dictionary.pt", "tensor.pt",
              "mixed.npz"}) {
            seeds.push_back({program::read_file(fixture(name)), name});
        }
        seeds.push_back({"tensor([[1., -2.5],\n        [nan, 3.]], dtype=torch.float64)", "t.txt"});
        seeds.push_back({",0,1\n0,0.5,1.5\r\n1,2.0,3.0\n", "t.csv"});
        seeds.push_back({"a,\"b\"\n1,2.5\nnan,-inf\n# end\n", "t.csv"});
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
                const std::string bytes = fuzz::mutated(seed.bytes, fuzz::file_pieces, random);
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
                // A few milliseconds are normal; seconds can only mean a runaway loop.
                REQUIRE(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
            }
        }
        // If nothing had been refused, or everything, the damage would be of the wrong kind.
        CHECK(refused > total / 4);
        CHECK(refused < total);
    }
}
