#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

// The texts of data/mistakes, one paragraph per mistake. data/mistakes/README.md lists the words
// that their lines begin with.

/// A line of a paragraph: its first word, and the text after it.
struct MistakeLine {
    std::string word, remainder;
};

/// `mistake ID at STEP`, and the lines below it.
struct MistakeText {
    std::string id, step;
    std::vector<MistakeLine> lines;

    bool has(std::string_view word) const;
    /// Returns the text after a word, one line for each occurrence.
    std::string specified(std::string_view word) const;
    /// True for `scale-other=N`, which is one mistake per number.
    bool is_numbered() const { return id.ends_with("=N"); }
    [[noreturn]] void refuse(const std::string& reason) const;
};

/// All paragraphs in the order of their files, parsed on the first call.
///
/// Errors  ConfigError for an invalid line.
const std::vector<MistakeText>& mistake_texts();

/// Returns the conditions of a need that several mistakes share, by its name: the texts after `=`
/// in `need square = Tq == Tk else REASON`. Empty for an unknown name.
std::vector<std::string> needs_called(std::string_view name);

}  // namespace attn
