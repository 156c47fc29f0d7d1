#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A regular expression over Unicode text: `\p{L}`, `\s`, `\w` and `(?i:` know all scripts.
///
/// Range   the first alternative that fits wins, as in Perl, Python, Oniguruma and JavaScript.
/// Source  PCRE2, whose syntax it is.
class Pattern {
public:
    /// Errors  InputError that quotes what is not understood, starting with `label`.
    explicit Pattern(std::string_view text, const std::string& label = "");

    /// Where it fits, from the beginning on: first byte and the one after the last. Where nothing
    /// would be taken it does not count.
    ///
    /// Errors  InputError for bytes that are not UTF-8, and where trying all ways takes too long.
    std::vector<std::pair<std::size_t, std::size_t>> matches(std::string_view text) const;

private:
    std::string shown_;               ///< label and pattern, for messages
    std::shared_ptr<void> compiled_;  ///< PCRE2's
};

}  // namespace attn
