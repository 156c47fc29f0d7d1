#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace fuzz {

/// Pieces that are hard to read: brackets, quotes, numbers beyond their type, the ends of text.
inline const std::vector<std::string> file_pieces{std::string(4, '\xFF'),
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

/// Damages `bytes` in one to four places: flips, random bytes, pieces put in or over, cuts and
/// repeats.
inline std::string mutated(std::string bytes, const std::vector<std::string>& pieces,
                           std::mt19937& random) {
    const auto below = [&random](std::size_t limit) {
        return random() % std::max<std::size_t>(limit, 1);
    };
    for (std::size_t count = 1 + below(4); count > 0 && !bytes.empty(); --count) {
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

}  // namespace fuzz
