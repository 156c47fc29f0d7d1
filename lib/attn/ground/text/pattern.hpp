#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A regular expression over Unicode text: `\p{L}`, `\s`, `\w` and `(?i:` support all scripts.
///
/// Range   the first matching alternative wins, as in Perl, Python, Oniguruma and JavaScript.
/// Source  PCRE2, whose syntax it is.
class Pattern {
public:
    /// Errors  InputError that quotes the invalid part, starting with `label`.
    explicit Pattern(std::string_view text, const std::string& label = "");

    /// Returns all matches in order, as first byte and the one after the last. Ignores empty
    /// matches.
    ///
    /// Errors  InputError for invalid UTF-8, and if matching takes too long.
    std::vector<std::pair<std::size_t, std::size_t>> matches(std::string_view text) const;

private:
    std::string shown_;               ///< label and pattern, for messages
    std::shared_ptr<void> compiled_;  ///< PCRE2's
};

}  // namespace attn
