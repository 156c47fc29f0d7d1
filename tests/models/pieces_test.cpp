#include "attn/models/text_cuts.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace {

using namespace attn::models;
using Symbols = std::vector<std::string>;

const std::map<std::string, double> ranks{{"ab", 2},  {"ba", 2},    {"aa", 1}, {"abab", 0},
                                          {"bb", -3}, {"aabb", -9}, {"ca", 2}, {"aca", 5}};

std::optional<Joined<std::string>> joined_of(const std::string& left, const std::string& right) {
    const auto found = ranks.find(left + right);
    if (found == ranks.end()) return std::nullopt;
    return Joined<std::string>{found->second, left + right};
}

/// By definition: look at all neighbours, join the best pair, start again.
Symbols joined_one_by_one(Symbols symbols) {
    while (true) {
        std::optional<Joined<std::string>> best;
        std::size_t place = 0;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto here = joined_of(symbols[i], symbols[i + 1]);
            if (!here || (best && here->rank >= best->rank)) continue;
            best = here;
            place = i;
        }
        if (!best) return symbols;
        symbols[place] = best->symbol;
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
}

}  // namespace

TEST_SUITE("models: pieces") {
    TEST_CASE("neighbours are joined lowest rank first, the first of equal ranks") {
        CHECK(join_best(Symbols{"a", "b", "a"}, joined_of) == Symbols{"ab", "a"});
        CHECK(join_best(Symbols{"c", "a", "a", "b"}, joined_of) == Symbols{"c", "aa", "b"});
        CHECK(join_best(Symbols{}, joined_of).empty());
        CHECK(join_best(Symbols{"a"}, joined_of) == Symbols{"a"});
        std::mt19937 random(7);
        std::size_t joins = 0;
        for (int text = 0; text < 500; ++text) {
            Symbols symbols(random() % 40);
            for (std::string& symbol : symbols) symbol = "abc"[random() % 3];
            const Symbols expected = joined_one_by_one(symbols);
            CHECK(join_best(symbols, joined_of) == expected);
            joins += symbols.size() - expected.size();
        }
        CHECK(joins > 2000);
    }
    TEST_CASE("a text of a million characters is joined within seconds") {
        const Symbols joined = join_best(Symbols(1'000'000, "a"), joined_of);
        CHECK(joined == Symbols(500'000, "aa"));
    }
    TEST_CASE("a byte has one piece, and other pieces are not bytes") {
        for (int byte = 0; byte < 256; ++byte) {
            CHECK(byte_of(byte_piece(static_cast<unsigned char>(byte))) == byte);
        }
        CHECK(byte_piece(10) == "<0x0A>");
        for (const char* other : {"", "<0x0a>", "<0xAG>", "<0xA>", "<0x0AA>", "0x0A  "}) {
            CHECK(byte_of(other) == -1);
        }
    }
}
