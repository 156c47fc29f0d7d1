#include "attn/rules/print.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attn/rules/python_frame.hpp"
#include "attn/rules/rule.hpp"

namespace attn {
namespace {

using namespace python;
using Kind = RuleNode::Kind;
using Whole = std::int64_t;

bool divides(const RuleNode& node) {
    return node.word == "/" ||
           std::ranges::any_of(node.parts, [](const RuleTree& part) { return divides(*part); });
}

class Writer {
public:
    explicit Writer(const RulePython& with)
        : with_(with), torch_(with.is_torch), module_(torch_ ? "torch." : "np.") {}

    /// The whole tensor.
    std::string line(const Rule& rule) {
        Frame frame;
        for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
            frame.push_back({rule.indices[axis], static_cast<Whole>(with_.made.shape[axis])});
        }
        Written text;
        for (effort_ = exchanged; !text; effort_ = looked_up) {
            text = filling(*rule.value, frame);
            if (effort_ == looked_up) break;
        }
        if (is_loose_ && !with_.type.empty()) text->text = text->held() + typed();
        return rule.step + " = " + text->text;
    }

private:
    std::string typed() const { return (torch_ ? ".to(torch." : ".astype(np.") + with_.type + ")"; }

    std::string dimension(const char* word, std::size_t place, std::size_t count) const {
        return word + std::string("-") + std::to_string(count - place);
    }

    /// With every dimension of the frame.
    Written filling(const RuleNode& node, const Frame& frame, bool in_index = false) {
        Written text = written(node, frame, in_index);
        if (!text || text->along == all_of(frame)) return text;
        std::vector<std::string> missing;  // in front of the array
        bool only_ones = true;
        for (std::size_t place = 0; place < frame.size(); ++place) {
            const bool has = (text->along & bit(place)) != 0;
            only_ones = only_ones && (has || frame[place].length == 1);
            if (text->along >> place << place == text->along && !has) missing.emplace_back("None");
        }
        const std::string shape = "(" + sizes_text(frame) + (frame.size() == 1 ? ",)" : ")");
        if (constant(node)) {
            is_loose_ = true;
            text->text = module_ + "full(" + shape + ", " + text->text + ")";
        } else if (only_ones && text->along != 0) {
            text->text = text->held() + taken(missing);
        } else {
            text->text = torch_ ? text->held() + ".expand" + shape
                                : "np.broadcast_to(" + text->text + ", " + shape + ")";
        }
        return Text{text->text, Binds::single, all_of(frame)};
    }

    /// An expression along the frame; `in_index`: of whole numbers.
    Written written(const RuleNode& node, const Frame& frame, bool in_index = false) {
        const bool rounds = in_index && divides(node);
        if (Written number = rounds ? std::nullopt : constant(node)) return number;
        if (Written count = counted(node, frame, in_index)) return count;
        switch (node.kind) {
            case Kind::cell:
                return cell_array(node, with_.outline(node.word).shape, frame,
                                  {effort_, torch_, [&](const RuleNode& part, const Frame& own) {
                                       return written(part, own, true);
                                   }});
            case Kind::reduce:
                return reduction(node, frame);
            case Kind::choose:
                return choice(node, frame, in_index);
            case Kind::call:
                return call(node, frame, in_index);
            default:
                return operation(node, frame, in_index);
        }
    }

    Written operation(const RuleNode& node, const Frame& frame, bool in_index) {
        std::vector<Text> parts;
        for (const RuleTree& each : node.parts) {
            const Written part = written(*each, frame, in_index);
            if (!part) return std::nullopt;
            parts.push_back(*part);
        }
        return operated(node, parts, in_index);
    }

    /// An index as a number: `torch.arange(4)[:, None]`.
    Written counted(const RuleNode& node, const Frame& frame, bool in_index) const {
        // Only in an index a division rounds down.
        const std::optional<Affine> counts =
            in_index || !divides(node) ? affine(node, frame) : std::nullopt;
        const bool counts_one = counts && counts->terms.size() == 1;
        if (!counts_one || counts->terms[0].stride == 0) return std::nullopt;
        const auto& [index, stride, length] = counts->terms[0];
        std::string range = std::to_string(counts->first + stride * length);
        if (counts->first != 0 || stride != 1) range = std::to_string(counts->first) + ", " + range;
        if (stride != 1) range += ", " + std::to_string(stride);
        const bool has_type = !in_index && !with_.type.empty();
        return laid(
            module_ + "arange(" + range + (has_type ? ", dtype=" + module_ + with_.type : "") + ")",
            frame, bit(place_of(frame, index)));
    }

    Written call(const RuleNode& node, const Frame& frame, bool in_index) {
        const std::string& word = node.word;
        const Written first = written(*node.parts[0], frame, in_index && word != "floor");
        if (!first) return std::nullopt;
        Text made{module_ + word + "(" + first->text + ")", Binds::single, first->along};
        if (node.parts.size() == 2) {
            const Written second = written(*node.parts[1], frame, in_index);
            if (!second) return std::nullopt;
            const bool is_bound = torch_ && (first->along == 0 || second->along == 0);
            const bool turned = first->along == 0;
            made.along |= second->along;
            made.text = is_bound
                            ? (turned ? *second : *first).held() +
                                  (word == "max" ? ".clamp(min=" : ".clamp(max=") +
                                  (turned ? *first : *second).text + ")"
                            : module_ + word + "imum(" + first->text + ", " + second->text + ")";
        } else if (word == "half") {
            made.text = first->held() + (torch_ ? ".half()" : ".astype(np.float16)") + typed();
        } else if (word == "relu" && !torch_) {
            made.text = "np.maximum(" + first->text + ", 0)";
        } else if (word == "sigmoid" && !torch_) {
            made.text = "1 / (1 + np.exp(-" + first->held(Binds::negated) + "))";
            made.binds = Binds::multiplied;
        } else if (word == "floor" && in_index) {
            made.text += torch_ ? ".long()" : ".astype(np.int64)";
        }
        return made;
    }

    Written choice(const RuleNode& node, const Frame& frame, bool in_index) {
        if (Written pieces = in_pieces(node, frame, in_index)) return pieces;
        std::vector<Text> parts;
        std::uint64_t along = 0;
        for (const RuleTree& each : node.parts) {
            const Written part = written(*each, frame, in_index);
            if (!part) return std::nullopt;
            parts.push_back(*part);
            along |= part->along;
        }
        is_loose_ = is_loose_ || (parts[1].along == 0 && parts[2].along == 0);
        for (Text& part : parts) {
            const bool is_whole = part.text.find_first_not_of("-0123456789") == part.text.npos;
            if (is_whole && !in_index) part.text += ".0";  // of the type of the other side
        }
        return Text{
            module_ + "where(" + parts[0].text + ", " + parts[1].text + ", " + parts[2].text + ")",
            Binds::single, along};
    }

    /// `if k < 3 then past_key[k,f] else key[k - 3,f]`: one piece behind the other.
    Written in_pieces(const RuleNode& node, const Frame& frame, bool in_index) {
        const RuleNode& where = *node.parts[0];
        const bool compares = is_operation(where, "<") && where.parts[0]->kind == Kind::name &&
                              whole_number(*where.parts[1]);
        if (!compares) return std::nullopt;
        const std::string& index = where.parts[0]->word;
        const std::size_t place = place_of(frame, index);
        const Whole first = *whole_number(*where.parts[1]);
        if (place == frame.size() || first <= 0 || first >= frame[place].length) return {};
        Frame front = frame;
        front[place].length = first;
        Frame behind = frame;
        behind[place].length -= first;
        const RuleTree later = changed(node.parts[2], [&](const RuleNode& each) -> RuleTree {
            if (each.kind != Kind::name || each.word != index) return nullptr;
            return operate_node("+", {name_node(index), number_node(where.parts[1]->number)});
        });
        const Written one = filling(*node.parts[1], front, in_index);
        const Written other = filling(*later, behind, in_index);
        if (!one || !other) return std::nullopt;
        return Text{(torch_ ? "torch.cat((" : "np.concatenate((") + one->text + ", " + other->text +
                        dimension(torch_ ? "), dim=" : "), axis=", place, frame.size()) + ")",
                    Binds::single, all_of(frame)};
    }

    // Reductions.

    Written reduction(const RuleNode& node, const Frame& frame) {
        if (place_of(frame, node.index) < frame.size()) return reduction(*renamed(node), frame);
        const RuleNode& body = *node.parts.back();
        Dimension along{node.index, length_along(body, node.index)};
        bool is_whole = node.parts.size() == 1;
        if (!is_whole) {
            const RuleNode& end = *node.parts[1];
            is_whole = whole_number(*node.parts[0]) == 0 && whole_number(end);
            if (is_whole) along.length = *whole_number(end);
        }
        if (is_whole && node.word == "sum" && is_operation(body, "*")) {
            for (const std::size_t left : {0, 1}) {
                Written product = matrices(*body.parts[left], *body.parts[1 - left], along, frame);
                if (product) return product;
            }
        }
        const Effort most = effort_;
        for (effort_ = as_it_lies; effort_ <= most; effort_ = static_cast<Effort>(effort_ + 1)) {
            if (Written line = reduced(node, along, frame, is_whole)) {
                effort_ = most;
                return line;
            }
        }
        effort_ = most;
        return std::nullopt;
    }

    /// With an index of its own.
    static RuleTree renamed(const RuleNode& node) {
        RuleNode other = node;
        other.index += "_";
        other.parts.back() = changed(other.parts.back(), [&](const RuleNode& each) -> RuleTree {
            const bool is_it = each.kind == Kind::name && each.word == node.index;
            return is_it ? name_node(other.index) : nullptr;
        });
        return tree_of(std::move(other));
    }

    /// In the place of a dimension that nothing else needs, or beside the others.
    Written reduced(const RuleNode& node, const Dimension& along, const Frame& frame,
                    bool is_whole) {
        const auto instead_of = [&](std::size_t place) -> Written {
            for (const RuleTree& part : node.parts) {
                if (holds_index(*part, frame[place].index)) return std::nullopt;
            }
            Frame inside = frame;
            inside[place] = along;
            Written line = over(node, inside, place, true, is_whole);
            if (line && frame[place].length == 1) line->along |= bit(place);
            return line;
        };
        if (!frame.empty()) {
            if (Written line = instead_of(frame.size() - 1)) return line;
        }
        for (std::size_t place = frame.size() + 1; place-- > 0;) {
            Frame inside = frame;
            inside.insert(inside.begin() + static_cast<std::ptrdiff_t>(place), along);
            if (Written line = over(node, inside, place, false, is_whole)) return line;
        }
        for (std::size_t place = frame.size(); place-- > 0;) {
            if (Written line = instead_of(place)) return line;
        }
        return std::nullopt;
    }

    /// Along one dimension, which is kept with one place or goes.
    Written over(const RuleNode& node, const Frame& inside, std::size_t place, bool keeps,
                 bool is_whole) {
        Written text = written(*node.parts.back(), inside);
        if (!text) return std::nullopt;
        const bool adds = node.word == "sum" || node.word == "mean";
        const std::string last =
            dimension("", place, inside.size()) + (!keeps   ? ")"
                                                   : torch_ ? ", keepdim=True)"
                                                            : ", keepdims=True)");
        std::string divisor;
        if (!is_whole) {
            const Written within = limits(node, inside[place].index, inside);
            if (!within) return std::nullopt;
            const std::string nothing = adds                 ? "0.0"
                                        : node.word == "max" ? "-float(\"inf\")"
                                                             : "float(\"inf\")";
            text =
                Text{module_ + "where(" + within->text + ", " + text->text + ", " + nothing + ")",
                     Binds::single, text->along | within->along};
            if (node.word == "mean") divisor = " / " + within->held() + ".sum(" + last;
        }
        if ((text->along & bit(place)) == 0) {
            // The same at every place.
            if (keeps || place + 1 != inside.size()) return std::nullopt;
            const std::string times = std::to_string(inside[place].length) + " * ";
            if (node.word != "sum") return text;
            return Text{times + text->held(Binds::negated), Binds::multiplied, text->along};
        }
        const bool is_largest = torch_ && !adds;
        const std::string method = !divisor.empty() ? "sum" : (is_largest ? "a" : "") + node.word;
        const std::uint64_t above = text->along >> (place + 1);
        return Text{text->held() + "." + method + "(" + last + divisor,
                    divisor.empty() ? Binds::single : Binds::multiplied,
                    (text->along & (bit(place) - 1)) | above << (keeps ? place + 1 : place)};
    }

    /// Where `first <= k < end`.
    Written limits(const RuleNode& node, const std::string& index, const Frame& inside) {
        const RuleTree k = name_node(index);
        const RuleTree both = operate_node(
            "and", {operate_node(">=", {k, node.parts[0]}), operate_node("<", {k, node.parts[1]})});
        const bool from_start = whole_number(*node.parts[0]) == 0;
        return written(from_start ? *both->parts[1] : *both, inside, true);
    }

    /// `a @ b`: a has the last dimension but one, b the last, and both that of the sum.
    Written matrices(const RuleNode& a, const RuleNode& b, const Dimension& along,
                     const Frame& frame) {
        if (frame.size() < 2) return std::nullopt;
        const std::size_t row = frame.size() - 2;
        const std::size_t column = frame.size() - 1;
        if (holds_index(a, frame[column].index) || holds_index(b, frame[row].index)) return {};
        Frame of_a = frame;
        of_a[column] = along;
        Frame of_b = frame;
        of_b[row] = along;
        const Written left = written(a, of_a);
        const Written right = written(b, of_b);
        const std::uint64_t last = bit(row) | bit(column);
        if (!left || !right || (left->along & right->along & last) != last) return std::nullopt;
        return Text{left->held(Binds::multiplied) + " @ " + right->held(Binds::negated),
                    Binds::multiplied, left->along | right->along};
    }

    /// The length of the first axis that an index goes over by itself; 0 without one.
    Whole length_along(const RuleNode& node, const std::string& index) const {
        if (node.kind == Kind::cell) {
            const Shape shape = with_.outline(node.word).shape;
            for (std::size_t i = 0; i < node.parts.size(); ++i) {
                const bool is_it =
                    node.parts[i]->kind == Kind::name && node.parts[i]->word == index;
                if (is_it) return static_cast<Whole>(shape[i]);
            }
        }
        for (const RuleTree& part : node.parts) {
            if (const Whole length = length_along(*part, index)) return length;
        }
        return 0;
    }

    const RulePython& with_;
    bool torch_;
    std::string module_;
    Effort effort_ = as_it_lies;
    bool is_loose_ = false;  ///< numbers are written whose type nothing says
};

}  // namespace

std::string rule_python(const Rule& rule, const RulePython& with) {
    return Writer(with).line(rule);
}

}  // namespace attn
