#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// `text` without blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

/// `text` with small letters for the capitals of ASCII.
std::string lower(std::string_view text);

/// The number that `text` spells, if it spells one that float64 can hold: `1.5`, `-2e-3`, `+4`,
/// `nan`, `inf`.
std::optional<double> parse_number(std::string_view text);

/// The words one after another, with `between` between them.
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

/// The same for a sentence, which names a dozen of them: `a, b and 3 others`.
std::string some_of(const std::vector<std::string>& words);

/// The first code point of a text that is not empty, and its bytes: -1 and one byte where the text
/// is not UTF-8.
struct Utf8Point {
    std::int32_t point;
    std::string_view bytes;
};
Utf8Point first_point(std::string_view text);

/// A code point as UTF-8.
std::string utf8_of(std::int32_t point);

/// The characters of a text, each with its code point.  Errors  InputError for bytes that are not
/// UTF-8.
std::vector<std::pair<std::int32_t, std::string_view>> points_of(std::string_view text);

/// True for what would break the line or the order of the sentence, or command a terminal: controls
/// and explicit directions.
bool is_disruptive(std::int32_t point);

/// The characters as readers count them: an accented letter or a joined emoji is one. Controls,
/// bidi controls and bytes that are not UTF-8 are written out: `\n`, `\x1b`, `\u202e`.
std::vector<std::string> visible_characters(std::string_view text);

/// Foreign text (names, tokens, lines of files) made safe for a terminal: its visible characters.
///
/// Why  an escape sequence in the name of an array could clear the screen or retype a command, and
///      a bidi control could reverse the sentence around it.
std::string visible(std::string_view text);

/// The same for a text of several lines, with tabs. `keeps_colors` leaves sequences that colour in
/// place, as they are our own.
std::string visible_lines(std::string_view text, bool keeps_colors);

/// The same as `visible` in quotes, cut to 40 characters: foreign text for a message of one line.
std::string shown(std::string_view text);

}  // namespace attn
