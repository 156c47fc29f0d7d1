#include "attn/text/pattern.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

using Point = std::int32_t;
constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// The characters of a text, and the byte at which each begins; one more stands for the end.
struct Points {
    std::vector<Point> points;
    std::vector<std::size_t> begins;

    explicit Points(std::string_view text) {
        begins.push_back(0);
        for (const auto& [point, character] : points_of(text)) {
            points.push_back(point);
            begins.push_back(begins.back() + character.size());
        }
    }
};

bool is_white_space(Point c) {
    return (c >= 9 && c <= 13) || c == 0x85 || utf8proc_category_string(c)[0] == 'Z';
}

/// A part of a class: characters from `low` to `high`, or of the categories that begin so.
struct Member {
    Point low = 0;
    Point high = 0;
    std::vector<std::string> categories{};
    bool spaces = false;
    bool negated = false;

    bool has(Point c) const {
        const std::string_view own = utf8proc_category_string(c);
        bool found = spaces ? is_white_space(c) : categories.empty() && c >= low && c <= high;
        for (const std::string& each : categories) found = found || own.starts_with(each);
        return found != negated;
    }
};

struct Class {
    std::vector<Member> members;
    bool negated = false;
    bool any_case = false;

    bool has(Point c) const {
        const auto holds = [&](Point each) {
            return std::any_of(members.begin(), members.end(),
                               [each](const Member& member) { return member.has(each); });
        };
        bool found = holds(c);
        if (any_case && !found) {
            const Point upper = utf8proc_toupper(c);
            found = holds(upper) || holds(utf8proc_tolower(c)) || holds(utf8proc_tolower(upper));
        }
        return found != negated;
    }
};

}  // namespace

/// A class or a group, and how often it stands there.
struct PatternItem {
    Class characters{};
    std::shared_ptr<PatternGroup> group{};  ///< instead of the class
    std::size_t least = 1;
    std::size_t most = 1;
    bool possessive = false;
    bool lazy = false;
};

struct PatternGroup {
    enum class Kind { plain, ahead, not_ahead };
    Kind kind = Kind::plain;
    std::vector<std::vector<PatternItem>> alternatives{1};
};

namespace {

class Parser {
public:
    Parser(std::string_view text, const std::string& label)
        : text_(text), front_(label.empty() ? "" : label + ": "), points_(text) {}

    PatternGroup whole() {
        constexpr std::size_t longest = 2000;
        if (points_.points.size() > longest) refuse();
        PatternGroup group = alternatives(false, 0);
        if (at_ < points_.points.size()) refuse();
        return group;
    }

private:
    [[noreturn]] void refuse() const {
        const std::size_t begin = points_.begins[std::min(at_, points_.points.size())];
        throw InputError(front_ + "the pattern " + shown(text_) + " is not understood from " +
                         shown(text_.substr(begin)) + " on: pass --ids");
    }
    bool ends() const { return at_ == points_.points.size(); }
    Point here() const { return ends() ? 0 : points_.points[at_]; }
    bool take(std::string_view word) {
        const std::string_view rest = text_.substr(points_.begins[at_]);
        if (!rest.starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    Point next() {
        if (ends()) refuse();
        return points_.points[at_++];
    }

    PatternGroup alternatives(bool any_case, std::size_t depth) {
        constexpr std::size_t deepest = 30;
        if (depth > deepest) refuse();
        PatternGroup group;
        while (!ends() && here() != ')') {
            if (take("|")) {
                group.alternatives.emplace_back();
            } else {
                group.alternatives.back().push_back(item(any_case, depth));
            }
        }
        return group;
    }

    PatternItem item(bool any_case, std::size_t depth) {
        PatternItem made;
        if (take("(")) {
            PatternGroup::Kind kind = PatternGroup::Kind::plain;
            if (take("?i:")) {
                any_case = true;
            } else if (take("?!")) {
                kind = PatternGroup::Kind::not_ahead;
            } else if (take("?=")) {
                kind = PatternGroup::Kind::ahead;
            } else if (!take("?:") && here() == '?') {
                refuse();
            }
            made.group = std::make_shared<PatternGroup>(alternatives(any_case, depth + 1));
            made.group->kind = kind;
            if (!take(")")) refuse();
        } else if (take("[")) {
            made.characters = bracket();
        } else if (take(".")) {
            made.characters.members = {{'\n', '\n'}};
            made.characters.negated = true;
        } else if (take("\\")) {
            made.characters.members = {escape()};
        } else {
            constexpr std::u32string_view others = U"*+?{}^$";
            if (others.find(static_cast<char32_t>(here())) != others.npos) refuse();
            const Point point = next();
            made.characters.members = {{point, point}};
        }
        made.characters.any_case = any_case;
        count(made);
        return made;
    }

    void count(PatternItem& item) {
        if (take("?")) {
            item.least = 0;
        } else if (take("*")) {
            item.least = 0;
            item.most = unlimited;
        } else if (take("+")) {
            item.most = unlimited;
        } else if (take("{")) {
            item.least = number();
            item.most = item.least;
            if (take(",")) item.most = here() == '}' ? unlimited : number();
            if (!take("}") || item.most < item.least) refuse();
        } else {
            return;
        }
        item.possessive = take("+");
        item.lazy = !item.possessive && take("?");
    }

    std::size_t number() {
        constexpr std::size_t most = 1000;
        std::size_t result = 0;
        if (here() < '0' || here() > '9') refuse();
        while (here() >= '0' && here() <= '9') {
            result = 10 * result + static_cast<std::size_t>(next() - '0');
            if (result > most) refuse();
        }
        return result;
    }

    /// What stands behind a backslash.
    Member escape() {
        switch (const Point letter = next()) {
            case 'r':
                return {'\r', '\r'};
            case 'n':
                return {'\n', '\n'};
            case 't':
                return {'\t', '\t'};
            case 's':
            case 'S':
                return {0, 0, {}, true, letter == 'S'};
            case 'd':
            case 'D':
                return {0, 0, {"Nd"}, false, letter == 'D'};
            case 'w':
            case 'W':
                return {0, 0, {"L", "M", "N", "Pc"}, false, letter == 'W'};
            case 'p':
            case 'P':
                return {0, 0, {category()}, false, letter == 'P'};
            default:
                // Letters and digits mean something; other marks stand for themselves.
                if (letter < 128 && utf8proc_category_string(letter)[0] != 'P' &&
                    utf8proc_category_string(letter)[0] != 'S' && letter != ' ') {
                    --at_;
                    refuse();
                }
                return {letter, letter};
        }
    }

    std::string category() {
        constexpr std::string_view known = "L M N P S Z C";
        std::string name;
        if (!take("{")) {
            name = static_cast<char>(std::min<Point>(next(), 127));
        } else {
            while (!ends() && here() != '}')
                name += static_cast<char>(std::min<Point>(next(), 127));
            if (!take("}")) refuse();
        }
        const bool fits = !name.empty() && name.size() <= 2 && known.find(name[0]) != known.npos &&
                          name[0] != ' ' &&
                          (name.size() == 1 || (name[1] >= 'a' && name[1] <= 'z'));
        if (!fits) refuse();
        return name;
    }

    Class bracket() {
        Class made;
        made.negated = take("^");
        do {
            const bool escaped = take("\\");
            if (!escaped && here() == '[') refuse();  // classes within classes
            Member member = escaped ? escape() : Member{here(), next()};
            const bool is_one = member.categories.empty() && !member.spaces;
            const bool to = is_one && here() == '-' && at_ + 1 < points_.points.size() &&
                            points_.points[at_ + 1] != ']';
            if (to) {
                ++at_;
                const bool escaped_end = take("\\");
                member.high = escaped_end ? escape().high : next();
                if (member.high < member.low) refuse();
            }
            made.members.push_back(std::move(member));
        } while (!ends() && here() != ']');
        if (!take("]")) refuse();
        return made;
    }

    std::string_view text_;
    std::string front_;
    Points points_;
    std::size_t at_ = 0;
};

/// Tries the ways in which a pattern may fit, in their order, until what follows fits too.
class Matcher {
public:
    using Next = std::function<bool(std::size_t)>;
    explicit Matcher(const std::vector<Point>& points) : points_(points) {}

    bool group(const PatternGroup& group, std::size_t at, const Next& next) {
        return std::any_of(group.alternatives.begin(), group.alternatives.end(),
                           [&](const auto& items) { return items_from(items, 0, at, next); });
    }

private:
    bool items_from(const std::vector<PatternItem>& items, std::size_t i, std::size_t at,
                    const Next& next) {
        if (i == items.size()) return next(at);
        const Depth deeper(*this);
        const PatternItem& item = items[i];
        const Next rest = [&](std::size_t end) { return items_from(items, i + 1, end, next); };
        if (item.group == nullptr) return characters(item, at, rest);
        if (item.group->kind == PatternGroup::Kind::plain) return repeated(item, 0, at, rest);
        const bool found = group(*item.group, at, [](std::size_t) { return true; });
        return found == (item.group->kind == PatternGroup::Kind::ahead) && rest(at);
    }

    bool characters(const PatternItem& item, std::size_t at, const Next& rest) {
        std::size_t most = 0;
        while (most < item.most && at + most < points_.size() &&
               item.characters.has(points_[at + most])) {
            ++most;
        }
        if (most < item.least) return false;
        if (item.possessive) return rest(at + most);
        for (std::size_t n = 0; n <= most - item.least; ++n) {
            if (rest(at + (item.lazy ? item.least + n : most - n))) return true;
        }
        return false;
    }

    bool repeated(const PatternItem& item, std::size_t count, std::size_t at, const Next& rest) {
        const Depth deeper(*this);
        const auto once_more = [&] {
            return count < item.most && group(*item.group, at, [&](std::size_t end) {
                       return end > at && repeated(item, count + 1, end, rest);
                   });
        };
        const auto enough = [&] { return count >= item.least && rest(at); };
        return item.lazy ? enough() || once_more() : once_more() || enough();
    }

    /// Holds the tries within bounds of time and stack.
    struct Depth {
        explicit Depth(Matcher& of) : matcher(of) {
            constexpr std::size_t deepest = 1000;
            constexpr std::size_t most_tries = 1'000'000;
            if (++matcher.tries_ > most_tries || matcher.depth_ == deepest) {
                throw InputError("the tokenizer's pattern takes too long on this text: pass --ids");
            }
            ++matcher.depth_;
        }
        ~Depth() { --matcher.depth_; }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;
        Matcher& matcher;
    };

    const std::vector<Point>& points_;
    std::size_t depth_ = 0;
    std::size_t tries_ = 0;
};

}  // namespace

Pattern::Pattern(std::string_view text, const std::string& label)
    : group_(std::make_shared<const PatternGroup>(Parser(text, label).whole())) {}

std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view text) const {
    const Points points(text);
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t at = 0; at < points.points.size();) {
        std::size_t end = at;
        Matcher(points.points).group(*group_, at, [&](std::size_t place) {
            end = place;
            return true;
        });
        if (end > at) found.emplace_back(points.begins[at], points.begins[end]);
        at = std::max(end, at + 1);
    }
    return found;
}

}  // namespace attn
