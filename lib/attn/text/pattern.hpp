#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

struct PatternGroup;

/// A regular expression, as far as tokenizers are written in them: alternatives, groups, `(?i:`,
/// `(?=` and `(?!`, classes with `\p{L}`, `\s`, `\d`, `\w`, and counts, also possessive (`?+`) and
/// lazy ones. Text is read as Unicode.
///
/// Range   the first alternative that fits wins, as in Oniguruma, Perl and JavaScript; `\s` is
///         White_Space.
class Pattern {
public:
    /// Errors  InputError that quotes what is not understood, starting with `label`.
    explicit Pattern(std::string_view text, const std::string& label = "");

    /// Where it fits, from the beginning on: first byte and the one behind the last.
    ///
    /// Errors  InputError for bytes that are not UTF-8, and where trying all ways takes too long.
    std::vector<std::pair<std::size_t, std::size_t>> matches(std::string_view text) const;

private:
    std::shared_ptr<const PatternGroup> group_;
};

}  // namespace attn
