#include "attn/io/csv_fields.hpp"

#include <charconv>

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

constexpr std::string_view blanks{" \t\r"};

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Where a comment starts, unless the # stands in quotes.
std::size_t comment_start(std::string_view text) {
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        if (text[i] == '#' && !quoted) return i;
    }
    return text.size();
}

char find_delimiter(std::string_view text) {
    std::string unquoted;
    bool quoted = false;
    for (const char letter : text) {
        if (letter == '"') quoted = !quoted;
        if (!quoted) unquoted += letter;
    }
    for (const char delimiter : {';', ',', '\t'}) {
        if (unquoted.find(delimiter) != unquoted.npos) return delimiter;
    }
    return ' ';
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    double number = 0.0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end) return std::nullopt;
    return number;
}

CsvLines::CsvLines(std::string_view bytes, const std::string& label) : rest_(bytes), label_(label) {
    constexpr std::string_view byte_order_mark{"\xEF\xBB\xBF"};
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
}

const std::vector<std::string>* CsvLines::next() {
    while (!rest_.empty()) {
        const std::string_view whole = take_line();
        const std::string_view text = trimmed(whole.substr(0, comment_start(whole)));
        if (text.empty()) {
            const bool comment = !trimmed(whole).empty();
            if (!comment && delimiter_ != '\0' && blank_line_ == 0) blank_line_ = line_;
            continue;
        }
        if (blank_line_ != 0) {
            line_ = blank_line_;
            fail("is blank between two rows: remove it, a file holds one table");
        }
        if (delimiter_ == '\0') delimiter_ = find_delimiter(text);
        split(text);
        return &fields_;
    }
    return nullptr;
}

std::string_view CsvLines::take_line() {
    const std::size_t end = rest_.find('\n');
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    ++line_;
    return text;
}

void CsvLines::split(std::string_view text) {
    fields_.clear();
    std::size_t position = 0;
    while (true) {
        // Pass over the blanks that belong to no field.
        while (position < text.size() && blanks.find(text[position]) != blanks.npos &&
               text[position] != delimiter_) {
            ++position;
        }
        // Take the field: up to the closing quote, or up to the next delimiter.
        std::string field;
        bool quoted = false;
        if (position < text.size() && text[position] == '"') {
            for (++position;; ++position) {
                if (position == text.size()) fail("has an open quote: close it on the same line");
                if (text[position] != '"') {
                    field += text[position];
                } else if (position + 1 < text.size() && text[position + 1] == '"') {
                    field += text[position++];
                } else {
                    break;
                }
            }
            ++position;
            quoted = true;
        }
        const std::size_t end = delimiter_ == ' ' ? text.find_first_of(blanks, position)
                                                  : text.find(delimiter_, position);
        const std::string_view plain =
            trimmed(text.substr(position, end == text.npos ? end : end - position));
        if (quoted && !plain.empty()) fail("goes on after a closing quote: put a delimiter there");
        field += plain;
        fields_.push_back(std::move(field));
        if (end == text.npos) return;
        // Step over the delimiter, which may be a run of blanks.
        position = delimiter_ == ' ' ? text.find_first_not_of(blanks, end) : end + 1;
    }
}

void CsvLines::fail(const std::string& what) const {
    throw InputError(label_ + ": line " + std::to_string(line_) + " " + what);
}

}  // namespace attn
