#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "attn/core/rules/rule.hpp"

namespace attn {

/// Reads a rule word by word.
class RuleReader {
public:
    explicit RuleReader(std::string_view text);

protected:
    static bool is_among(std::string_view word, std::initializer_list<std::string_view> words);
    static bool is_letter(char c);
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static std::string quoted(const std::string& word) { return "'" + word + "'"; }

    /// Moves to the next word; empty at the end.
    void next();
    /// Returns the current word and its place, and moves to the next.
    std::pair<std::string, std::size_t> take();
    std::string take_name(const std::string& wanted);
    void expect(std::string_view word, const std::string& wanted);
    /// Returns the next character after the current word and spaces.
    char after_blanks() const;

    [[noreturn]] void refuse_here(const std::string& wanted) const;
    [[noreturn]] void refuse(std::size_t at, const std::string& message) const {
        refuse_rule(text_, at, message);
    }

    std::string text_;
    std::string word_;     ///< the current word
    std::size_t at_ = 0;   ///< its begin
    std::size_t end_ = 0;  ///< and end

private:
    /// Returns the first character of the current place, in quotes.
    std::string first_character() const;
};

}  // namespace attn
