#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
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

/// The lines of a text, without their line ends. The last line end begins no further line.
std::vector<std::string> lines_of(std::string_view text);

/// The number that `text` spells, if it spells one that float64 can hold: `1.5`, `-2e-3`, `+4`,
/// `nan`, `inf`.
std::optional<double> parse_number(std::string_view text);

/// Whether a character may be in a name: a letter, a digit, `_`.
bool is_of_name(char c);
/// Whether the text has the name, with no more letters on either side.
bool has_name(std::string_view text, std::string_view name);

/// The text with a word in the place of another, wherever it is; several, one after the other.
std::string replaced_all(std::string text, std::string_view word, std::string_view by);
std::string replaced_all(std::string text,
                         const std::vector<std::pair<std::string, std::string>>& words);

/// What a word in braces stands for; nothing of others.
using BraceWord = std::function<std::optional<std::string>(std::string_view word)>;
/// The text with `{word}` filled in wherever that says what it stands for. What it stands for is
/// not looked through; other braces stay.
std::string filled(std::string_view text, const BraceWord& of);
/// The same with these words.
using BraceWords = std::vector<std::pair<std::string_view, std::string>>;
std::string filled(std::string_view text, const BraceWords& words);

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

/// The same, but keeps the isolates that labels put around right-to-left words. Adds the closing one
/// if the text was cut before it.
std::string visible_labels(std::string_view text);

/// The same for a text of several lines, with tabs. `keeps_colors` leaves sequences that colour in
/// place, as they are our own.
std::string visible_lines(std::string_view text, bool keeps_colors);

/// The same as `visible` in quotes, cut to 40 characters: foreign text for a message of one line.
std::string shown(std::string_view text);

/// The prefix of a setting's name in texts. Nothing: whoever calls the library knows `heads`.
/// A program whose flags they are says so once, before anything else: `--`.
inline std::string_view setting_prefix;

/// A text that names settings, each after a dollar: `"pass $head-dim 4"_told`. Words of users join
/// it afterwards, and keep dollars of their own.
inline std::string operator""_told(const char* text, std::size_t size) {
    std::string told;
    for (const char letter : std::string_view(text, size)) {
        if (letter == '$') {
            told += setting_prefix;
        } else {
            told += letter;
        }
    }
    return told;
}

/// The number of terminal columns that UTF-8 text takes: 2 for wide East Asian characters and
/// emoji, 0 for combining and formatting ones. A byte that is no UTF-8 counts as one column.
std::size_t display_width(std::string_view text);

/// Breaks text at blanks into lines of at most `columns`; a longer word stands alone.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

/// `text` cut after so many columns; what is cut is marked by an ellipsis.
std::string cut_to(std::string_view text, std::size_t columns);

/// `text` cut or filled up to a number of columns, with blanks on the left or on the right.
std::string fitted(std::string_view text, std::size_t columns, bool to_the_right);

/// The candidate that `word` was most likely meant to be, or nothing when none is near: the same
/// but for case and dashes, else what others call so, else one that is spelt nearly so.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

/// How an error about an unknown word ends: `; did you mean weights?`, or as `otherwise` says.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

/// The candidate, with its value, for which `word` is another name, without leading dashes:
/// `kv-heads` for `num_kv_heads`, `mask causal` for `is_causal`; empty when there is none.
std::string called_here(std::string_view word, const std::vector<std::string>& candidates);

/// Prose in which no character starts a format, a tag or a script, as tokens may hold anything.
std::string markdown_prose(std::string_view prose);

/// `code` between backticks, more of them than it holds in a row.
std::string markdown_code(const std::string& code);

/// A row of backticks longer than any in `content`, and at least `least` of them.
std::string markdown_fence(std::string_view content, std::size_t least);

}  // namespace attn
