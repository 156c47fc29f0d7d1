#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

// The texts of data/mistakes: one paragraph for each mistake. data/mistakes/README.md lists the
// words that their lines begin with.

/// A line of a paragraph: its first word, and the text after it.
struct MistakeLine {
    std::string word, says;
};

/// `mistake ID at STEP`, and the lines below it.
struct MistakeText {
    std::string id, step;
    std::vector<MistakeLine> lines;

    bool has(std::string_view word) const;
    /// The text after a word, one line for each time that the paragraph has it.
    std::string said(std::string_view word) const;
    /// True for `scale-other=N`, which is one mistake for each number.
    bool is_numbered() const { return id.ends_with("=N"); }
    [[noreturn]] void refuse(const std::string& reason) const;
};

/// All paragraphs in the order of their files, read when this is first called.
///
/// Errors  ConfigError for a line that is none.
const std::vector<MistakeText>& mistake_texts();

/// A need of several mistakes has a name: `need square = Tq == Tk else REASON`. Returns the texts
/// after `=`; none for a name that no line gives.
std::vector<std::string> needs_called(std::string_view name);

}  // namespace attn
