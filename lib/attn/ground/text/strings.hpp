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

/// Returns `text` without spaces, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

/// Returns `text` with ASCII letters in lower case.
std::string lower(std::string_view text);

/// Splits a text into lines, without line ends. A final line end does not begin another line.
std::vector<std::string> lines_of(std::string_view text);

/// Parses a number that float64 can represent: `1.5`, `-2e-3`, `+4`, `nan`, `inf`.
std::optional<double> parse_number(std::string_view text);

/// True if a character may be in a name: a letter, a digit, `_`.
bool is_of_name(char c);
/// True if the text contains the name, without more letters on either side.
bool has_name(std::string_view text, std::string_view name);

/// Replaces all occurrences of a word; several words one after another.
std::string replaced_all(std::string text, std::string_view word, std::string_view by);
std::string replaced_all(std::string text,
                         const std::vector<std::pair<std::string, std::string>>& words);

/// Returns the replacement of a word in braces; nullopt to keep it.
using BraceWord = std::function<std::optional<std::string>(std::string_view word)>;
/// Replaces `{word}` by `of(word)`. Replacements are not scanned again; other braces are kept.
std::string filled(std::string_view text, const BraceWord& of);
/// Replaces these words.
using BraceWords = std::vector<std::pair<std::string_view, std::string>>;
std::string filled(std::string_view text, const BraceWords& words);

/// Joins words with `between` between them.
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

/// Joins at most a dozen words for a sentence: `a, b and 3 others`.
std::string some_of(const std::vector<std::string>& words);

/// The first code point of a non-empty text, and its bytes: -1 and one byte for invalid UTF-8.
struct Utf8Point {
    std::int32_t point;
    std::string_view bytes;
};
Utf8Point first_point(std::string_view text);

/// Encodes a code point as UTF-8.
std::string utf8_of(std::int32_t point);

/// Returns the characters of a text, each with its code point.  Errors  InputError for invalid
/// UTF-8.
std::vector<std::pair<std::int32_t, std::string_view>> points_of(std::string_view text);

/// True for characters that would break the line or the order of the sentence, or control a
/// terminal: control characters and explicit directions.
bool is_disruptive(std::int32_t point);

/// Returns the characters as readers count them: an accented letter or a joined emoji is one.
/// Control characters, bidi controls and invalid UTF-8 are escaped: `\n`, `\x1b`, `\u202e`.
std::vector<std::string> visible_characters(std::string_view text);

/// Makes foreign text (names, tokens, lines of files) safe for a terminal by escaping.
///
/// Why  an escape sequence in the name of an array could clear the screen or enter a command, and a
///      bidi control could reverse the sentence around it.
std::string visible(std::string_view text);

/// Makes it safe, but keeps the isolates that labels have around right-to-left words. Adds the
/// closing one if the text was cut before it.
std::string visible_labels(std::string_view text);

/// Makes a text of several lines safe, with tabs. `keeps_colors` keeps colour sequences, which are
/// our own.
std::string visible_lines(std::string_view text, bool keeps_colors);

/// Returns `visible` text in quotes, cut to 40 characters: foreign text for a one-line message.
std::string quoted_text(std::string_view text);

/// The prefix of settings in messages. Empty by default, because callers of the library write
/// `heads`; a program with options sets it to `--` at its start.
inline std::string_view setting_prefix;

/// A text with a dollar before each setting: `"pass $head-dim 4"_told`. User text must be appended
/// afterwards, so that its dollars are kept.
inline std::string operator""_message(const char* text, std::size_t size) {
    std::string expanded;
    for (const char letter : std::string_view(text, size)) {
        if (letter == '$') {
            expanded += setting_prefix;
        } else {
            expanded += letter;
        }
    }
    return expanded;
}

/// Returns `1 key` or `3 keys`.
std::string counted(std::size_t count, std::string_view what);

/// Returns the number of terminal columns of UTF-8 text: 2 for wide East Asian characters and
/// emoji, 0 for combining and formatting ones. An invalid byte counts as one column.
std::size_t display_width(std::string_view text);

/// Breaks text at its line ends, and at spaces into lines of at most `columns`; a longer word is on
/// a line of its own.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

/// Cuts `text` to that many columns, and marks the cut with an ellipsis.
std::string cut_to(std::string_view text, std::size_t columns);

/// Cuts or pads `text` to a number of columns, with spaces on the left or on the right.
std::string fitted(std::string_view text, std::size_t columns, bool to_the_right);

/// Returns the candidate that `word` most likely means, or an empty text if none is close: one that
/// differs only in case and dashes, else a synonym, else a similar spelling.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns the end of an error about an unknown word: `; did you mean weights?`, or `otherwise`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

/// Returns the candidate, with its value, for which `word` is another name, without leading dashes:
/// `kv-heads` for `num_kv_heads`, `mask causal` for `is_causal`; empty if there is none.
std::string known_name_for(std::string_view word, const std::vector<std::string>& candidates);

/// Escapes prose so that no character starts formatting, a tag or a script, since tokens may
/// contain anything.
std::string markdown_prose(std::string_view prose);

/// Encloses `code` in more backticks than it contains in a row.
std::string markdown_code(const std::string& code);

/// Returns a row of backticks longer than any in `content`, and at least `least` of them.
std::string markdown_fence(std::string_view content, std::size_t least);

}  // namespace attn
