#pragma once
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Titles, notes and remarks, whoever wrote them: the program, a file, a link. They are no
/// std::string and have no output operator, so that every writer opens them for its medium.
///
/// Why  words of a stranger's file once went raw into comments of programs, where a carriage
///      return ends the comment, and into cells of notebooks, where tags are HTML.
class Prose {
public:
    Prose() = default;
    Prose(std::string words) : words_(std::move(words)) {}
    Prose(const char* words) : words_(words) {}

    bool empty() const { return words_.empty(); }
    bool operator==(const Prose&) const = default;
    Prose& operator+=(const Prose& more) { return words_ += more.words_, *this; }
    friend Prose operator+(Prose words, const Prose& more) { return words += more; }

    /// For a terminal or a comment: one line without controls.
    std::string visible() const;
    /// For Markdown: no character starts a format, a tag or a script.
    std::string markdown() const;
    /// As they were written: for what escapes them itself, as JSON and XML do, and for searches.
    const std::string& raw() const { return words_; }
    /// The lines, each by itself.
    std::vector<Prose> lines() const;

private:
    std::string words_{};
};

}  // namespace attn
