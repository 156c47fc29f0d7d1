#pragma once
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Titles, notes and remarks from any source: the program, a file, a link. They are not std::string
/// and have no output operator, so that every writer must convert them for its medium.
///
/// Why  words from untrusted files once reached, unescaped, comments of programs, where a carriage
/// return ends the comment, and cells of notebooks, where tags are HTML.
class Prose {
public:
    Prose() = default;
    Prose(std::string words) : words_(std::move(words)) {}
    Prose(const char* words) : words_(words) {}

    bool empty() const { return words_.empty(); }
    bool operator==(const Prose&) const = default;
    Prose& operator+=(const Prose& more) { return words_ += more.words_, *this; }
    friend Prose operator+(Prose words, const Prose& more) { return words += more; }

    /// For a terminal or a comment: one line without control characters.
    std::string visible() const;
    /// For Markdown: no character starts formatting, a tag or a script.
    std::string markdown() const;
    /// The original words: for formats with their own escaping, such as JSON and XML, and for
    /// searches.
    const std::string& raw() const { return words_; }
    /// Returns the lines, separately.
    std::vector<Prose> lines() const;

private:
    std::string words_{};
};

}  // namespace attn
