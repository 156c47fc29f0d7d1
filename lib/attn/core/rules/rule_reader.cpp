#include "attn/core/rules/rule_reader.hpp"

#include <algorithm>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::size_t longest_rule = 4096;

/// True for keywords, which no index and no tensor may have as name.
bool is_reserved(std::string_view word) {
    constexpr std::string_view words[]{"if",  "then", "else", "and", "or", "not",
                                       "sum", "mean", "in",   "inf", "nan"};
    return std::ranges::find(words, word) != std::end(words);
}

}  // namespace

RuleReader::RuleReader(std::string_view text) : text_(text) {
    // A rule is treated as one line.
    for (char& c : text_) c = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    if (text_.size() > longest_rule) {
        throw ConfigError("a rule is at most 4096 characters long, not " +
                          std::to_string(text_.size()) + ": make it several steps");
    }
    next();
}

bool RuleReader::is_among(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

bool RuleReader::is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::pair<std::string, std::size_t> RuleReader::take() {
    std::pair<std::string, std::size_t> current{word_, at_};
    next();
    return current;
}

std::string RuleReader::take_name(const std::string& wanted) {
    if (word_.empty() || !is_letter(word_.front()) || is_reserved(word_)) refuse_here(wanted);
    return take().first;
}

void RuleReader::expect(std::string_view word, const std::string& wanted) {
    if (word_ != word) refuse_here(wanted);
    next();
}

void RuleReader::refuse_here(const std::string& wanted) const {
    refuse(at_, "expected " + wanted + ", not " + (word_.empty() ? "the end" : quoted(word_)));
}

char RuleReader::after_blanks() const {
    const std::size_t place = text_.find_first_not_of(" \t", end_);
    return place == std::string::npos ? '\0' : text_[place];
}

void RuleReader::next() {
    at_ = std::min(text_.find_first_not_of(" \t\n\r", end_), text_.size());
    end_ = at_;
    const auto here = [&](std::size_t ahead) {
        return end_ + ahead < text_.size() ? text_[end_ + ahead] : '\0';
    };
    if (is_letter(here(0))) {
        while (is_letter(here(0)) || is_digit(here(0))) ++end_;
    } else if (is_digit(here(0)) || (here(0) == '.' && is_digit(here(1)))) {
        while (is_digit(here(0)) || (here(0) == '.' && here(1) != '.')) ++end_;
        const bool exponent = here(0) == 'e' || here(0) == 'E';
        const std::size_t sign = here(1) == '-' || here(1) == '+' ? 1 : 0;
        if (exponent && is_digit(here(1 + sign))) {
            end_ += 1 + sign;
            while (is_digit(here(0))) ++end_;
        }
    } else if (end_ < text_.size()) {
        const std::string_view two = std::string_view(text_).substr(end_, 2);
        const bool pair = is_among(two, {"<=", ">=", "==", "!=", "..", "**", "//"});
        if (!pair && std::string_view("[](),:=+-*/%^<>").find(here(0)) == std::string::npos) {
            refuse(at_, "no rule holds " + first_character());
        }
        end_ += pair ? 2 : 1;
    }
    word_ = text_.substr(at_, end_ - at_);
}

std::string RuleReader::first_character() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    return quoted(text_.substr(at_, end - at_));
}

}  // namespace attn
