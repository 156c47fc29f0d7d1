#include "attn/core/plan/attention_file.hpp"

#include <algorithm>
#include <set>

#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

namespace {

constexpr std::size_t longest_file = 65536;

/// One line of a file: its first word and the rest.
struct Line {
    std::size_t number = 0;
    std::string word, remainder;
};

class Reader {
public:
    Reader(const std::string& text, const std::string& label) {
        file_.label = label;
        file_.text = text;
    }

    AttentionFile file() {
        if (file_.text.size() > longest_file) {
            file_.refuse(1, "it is larger than 64 KB: an attention file has few lines");
        }
        std::size_t number = 0;
        for (std::size_t at = 0; at < file_.text.size();) {
            const std::size_t end = std::min(file_.text.find('\n', at), file_.text.size());
            std::string remainder(
                trimmed(without_remark(std::string_view(file_.text).substr(at, end - at))));
            at = end + 1;
            ++number;
            if (number == 1 && remainder.starts_with("\xEF\xBB\xBF"))
                remainder = trimmed(remainder.substr(3));
            if (remainder.empty()) continue;
            std::ranges::replace(remainder, '\t', ' ');
            if (visible(remainder) != remainder) {
                file_.refuse(number, "there is an invisible character: remove it");
            }
            line_.number = number;
            std::string_view rest = remainder;
            line_.word = next_token(rest);
            line_.remainder = rest;
            file_.at(number, [&] { read(); });
        }
        if (file_.name.empty()) {
            file_.refuse(1, "an attention file begins with its name, as in attention mine");
        }
        use_exact_names();
        for (const AttentionGroup& each : groups_) join_together(file_, each);
        check();
        return std::move(file_);
    }

private:
    template <class Owner>
    using Texts = std::vector<std::pair<std::string_view, std::string Owner::*>>;

    /// Returns the text of `owner` that a word sets; nullptr if there is none.
    template <class Owner>
    static std::string* text_of(Owner& owner, const Texts<Owner>& texts, std::string_view word) {
        const auto found = std::ranges::find(texts, word, &Texts<Owner>::value_type::first);
        return found == texts.end() ? nullptr : &(owner.*(found->second));
    }

    /// Returns the text for a word that sets a single text of the file, a step or a mistake.
    std::string* text_called(const std::string& word) {
        static const Texts<AttentionMistake> of_mistake{{"title", &AttentionMistake::title},
                                                        {"effect", &AttentionMistake::effect},
                                                        {"lesson", &AttentionMistake::lesson}};
        static const Texts<AttentionStep> of_step{
            {"title", &AttentionStep::title},   {"note", &AttentionStep::note},
            {"torch", &AttentionStep::torch},   {"numpy", &AttentionStep::numpy},
            {"called", &AttentionStep::called}, {"extends", &AttentionStep::extends},
            {"after", &AttentionStep::after},   {"when", &AttentionStep::when},
            {"loop", &AttentionStep::loop}};
        static const Texts<AttentionFile> of_file{
            {"attention", &AttentionFile::name},    {"title", &AttentionFile::title},
            {"source", &AttentionFile::source},     {"lesson", &AttentionFile::lesson},
            {"explains", &AttentionFile::explains}, {"begins", &AttentionFile::begins}};
        if (mistake_ != nullptr) return text_of(*mistake_, of_mistake, word);
        if (step_ != nullptr) return text_of(*step_, of_step, word);
        if (parameter_ != nullptr && word == "title") return &parameter_->title;
        return text_of(file_, of_file, word);
    }

    void read() {
        const std::string& word = line_.word;
        if (std::string* const text = text_called(word)) {
            if (line_.remainder.empty()) refuse(word + " has no text: add a description");
            if (!text->empty()) refuse(word + " occurs twice: remove one");
            if (word == "begins") file_.begins_line = line_.number;
            if (word == "note") check_facts(line_.remainder);
            if (word == "when") {
                each_condition(line_.remainder, [](const ConditionWord& each) {
                    if (find_condition(each.name) == nullptr) refuse_condition(each.name);
                });
            }
            if (word == "attention" || word == "extends" || word == "after") {
                *text = name_in(line_.remainder);
            } else {
                *text = line_.remainder;
            }
        } else if (word == "setting" || word == "axis") {
            read_number(word == "axis");
        } else if (word == "parameter") {
            read_parameter();
        } else if (word == "form") {
            leave();
            form_ = name_in(line_.remainder);
            if (has(file_.forms, form_)) refuse("form " + form_ + " occurs twice: remove one");
            file_.forms.push_back(form_);
        } else if (word == "same") {
            leave();
            form_.clear();
            file_.same_line = line_.number;
            if (line_.remainder.empty())
                refuse("same names the tensor that all forms compute, as in same context");
            for (std::string_view rest = line_.remainder; !rest.empty();) {
                file_.same.push_back(name_in(std::string(next_token(rest))));
            }
        } else if (word == "together") {
            leave();
            AttentionGroup group{{}, line_.number, form_};
            for (std::string_view rest = line_.remainder; !rest.empty();) {
                group.names.push_back(name_in(std::string(next_token(rest))));
            }
            if (group.names.size() < 2) {
                refuse("together names steps that read each other: together momentum memory");
            }
            groups_.push_back(std::move(group));
        } else if (word == "define") {
            leave();
            Definition result = parse_definition(line_.remainder, file_.definitions);
            file_.definitions.emplace(result.name, result);
        } else if (word == "step") {
            leave();
            const Rule rule = parse_rule(line_.remainder, file_.definitions);
            file_.steps.push_back({rule, line_.number, form_});
            step_ = &file_.steps.back();
        } else if (word == "detail" && step_ != nullptr && line_.remainder.empty()) {
            step_->is_detail = true;
        } else if (word == "at" && step_ != nullptr && line_.remainder == "once") {
            step_->at_once = true;
        } else if (word == "mistake") {
            read_mistake();
        } else if (word == "rule" && mistake_ != nullptr) {
            if (mistake_->rule.value != nullptr) refuse("rule occurs twice: remove one");
            mistake_->rule = parse_rule(line_.remainder, file_.definitions);
            if (mistake_->rule.step != mistake_->step) {
                refuse("the mistake is at " + mistake_->step + ", and its rule makes " +
                       mistake_->rule.step);
            }
        } else if (word == "fix" && mistake_ != nullptr) {
            std::string_view rest = line_.remainder;
            const std::string_view language = next_token(rest);
            if (language != "torch:" && language != "numpy:") {
                refuse("a fix is one of torch: or numpy:, as in fix torch: w = w / scale");
            }
            (language == "torch:" ? mistake_->torch : mistake_->numpy) = rest;
        } else {
            refuse_word();
        }
    }

    /// A misspelt fact would suppress its sentence forever.
    static void check_facts(const std::string& note) {
        for (std::size_t at = note.find('{'); at != note.npos; at = note.find('{', at + 1)) {
            const std::size_t end = note.find('}', at);
            const std::string fact = note.substr(at + 1, end - at - 1);
            if (end == note.npos) refuse("the brace of {" + fact + " is not closed");
            if (has(note_facts(), fact)) continue;
            if (fact.find_first_of(" [(") != fact.npos) {
                parse_rule("fact[] = " + fact);
                continue;
            }
            refuse("notes have no fact {" + fact + "}" +
                   did_you_mean(fact, note_facts(), ": there are " + joined(note_facts(), " ")));
        }
    }

    [[noreturn]] void refuse_word() const {
        const std::vector<std::string>& words = attention_words();
        const bool is_known = std::ranges::find(words, line_.word) != words.end();
        refuse(is_known
                   ? line_.word + " is not expected here: a line about a step goes below the step"
                   : "there is no word '" + line_.word + "' in attention files" +
                         did_you_mean(line_.word, words, ": there are " + joined(words, " ")));
    }

    void leave() { step_ = nullptr, mistake_ = nullptr, parameter_ = nullptr; }

    /// Returns the meaning of a name in all rules; empty if a file may define it. An axis may be
    /// called f or i, which not all walks have.
    static std::string meaning_in_walks(const std::string& name, bool is_axis) {
        static const std::set<std::string> letters{"b", "c", "h", "k", "q", "t"};
        const bool is_own = !is_axis && (name == "f" || name == "i");
        return letters.contains(name) || is_own ? "an index"
               : is_walk_number(name)           ? "a number"
                                                : "";
    }

    void read_number(bool is_axis) {
        leave();
        const char sign = is_axis ? '<' : '=';
        const std::size_t at = line_.remainder.find(sign);
        if (at == line_.remainder.npos) {
            refuse(is_axis ? "an axis needs its length, as in axis o < H * Dv"
                           : "a setting needs its number, as in setting chunk = 2");
        }
        std::vector<AttentionNumber>& all = is_axis ? file_.axes : file_.settings;
        const std::string name = name_in(std::string(trimmed(line_.remainder.substr(0, at))));
        for (const AttentionNumber& each : all) {
            if (each.name == name) refuse(name + " occurs twice: remove one");
        }
        if (const std::string has = meaning_in_walks(name, is_axis); !has.empty()) {
            refuse(name + " is " + has + " in every walk: choose another name");
        }
        all.push_back({name, parse_expression(line_.remainder.substr(at + 1)), line_.number});
    }

    void read_parameter() {
        leave();
        const std::size_t end = line_.remainder.find(']');
        const std::size_t sign = line_.remainder.find_first_not_of(" \t", end + 1);
        const bool draws = end != line_.remainder.npos && sign != line_.remainder.npos &&
                           line_.remainder[sign] == '~';
        if (!draws && (sign == line_.remainder.npos || line_.remainder[sign] != '=')) {
            refuse(
                "a parameter needs its letters and a distribution, as in w_gate[o,c] ~ linear "
                "or tau[h] = 1");
        }
        const Rule specified =
            parse_rule(draws ? line_.remainder.substr(0, sign) + "= 0" : line_.remainder);
        AttentionParameter result{specified.step, specified.indices};
        result.line = line_.number;
        for (const AttentionParameter& each : file_.parameters) {
            if (each.name == result.name) refuse("two parameters are called " + result.name);
        }
        draws ? read_distribution(trimmed_text(line_.remainder.substr(sign + 1)), result)
              : static_cast<void>(result.value = specified.value);
        file_.parameters.push_back(std::move(result));
        parameter_ = &file_.parameters.back();
    }

    static std::string trimmed_text(const std::string& text) { return std::string(trimmed(text)); }

    void read_distribution(const std::string& remainder, AttentionParameter& result) const {
        const std::string word = remainder.substr(0, remainder.find('('));
        const std::vector<std::string> words{"linear", "normal", "uniform", "ones", "zeros"};
        const Initialisation hows[] = {Initialisation::linear_weight, Initialisation::normal,
                                       Initialisation::uniform, Initialisation::ones,
                                       Initialisation::zeros};
        const auto known = std::ranges::find(words, word);
        if (known == words.end()) {
            refuse("there is no distribution '" + word + "'" +
                   did_you_mean(word, words, ": there are " + joined(words, " ")));
        }
        result.how = hows[known - words.begin()];
        if (word == remainder) return;
        const std::size_t comma = remainder.find(',');
        const bool may = word == "normal" || word == "uniform";
        if (!may || comma == remainder.npos || remainder.back() != ')') {
            refuse("normal(mean, deviation) and uniform(least, most) take two numbers, not " +
                   remainder.substr(word.size()));
        }
        const double first = number_of(
            parse_expression(remainder.substr(word.size() + 1, comma - word.size() - 1)), {});
        const double second = number_of(
            parse_expression(remainder.substr(comma + 1, remainder.size() - comma - 2)), {});
        if (word == "normal" && !(second >= 0)) refuse("a standard deviation cannot be negative");
        if (word == "uniform" && !(first <= second))
            refuse("uniform(least, most) takes the smaller number first");
        result.shift = first;
        result.spread = word == "normal" ? second : second - first;
    }

    void read_mistake() {
        leave();
        std::string_view rest = line_.remainder;
        AttentionMistake result{std::string(next_token(rest)), {}};
        const bool names_place = next_token(rest) == "at" && !rest.empty();
        if (!names_place) refuse("a mistake names its step, as in mistake forget-late at state");
        result.step = name_in(std::string(rest));
        result.line = line_.number;
        for (const AttentionMistake& each : file_.mistakes) {
            if (each.id == result.id) refuse("two mistakes are called " + result.id);
        }
        file_.mistakes.push_back(std::move(result));
        mistake_ = &file_.mistakes.back();
    }

    std::string name_in(const std::string& text) const {
        const bool is_name = !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
                             std::ranges::all_of(text, [&](char c) {
                                 return is_of_name(c) || (c == '-' && line_.word != "setting" &&
                                                          line_.word != "axis");
                             });
        if (!is_name) refuse("'" + text + "' is not a name: letters, digits and _");
        return text;
    }

    /// In a file that uses `latest`, names without it are exact.
    void use_exact_names() {
        std::vector<Rule*> rules;
        for (AttentionStep& each : file_.steps) rules.push_back(&each.rule);
        for (AttentionMistake& each : file_.mistakes) rules.push_back(&each.rule);
        std::erase_if(rules, [](const Rule* rule) { return rule->value == nullptr; });
        const auto remainder = [](const Rule* rule) { return names_latest(*rule->value); };
        if (std::ranges::none_of(rules, remainder)) return;
        for (Rule* const rule : rules) rule->value = with_exact_names(rule->value);
    }

    static bool has(const std::vector<std::string>& all, const std::string& name) {
        return std::ranges::find(all, name) != all.end();
    }

    /// Checks properties of the whole file.
    void check() const {
        std::vector<std::string> read;
        const auto add = [&](const auto& self, const RuleNode& node) -> void {
            if (node.kind == RuleNode::Kind::name || node.kind == RuleNode::Kind::cell) {
                read.push_back(node.word);
            }
            if (node.kind == RuleNode::Kind::reduce) read.push_back(node.index);
            for (const RuleTree& part : node.parts) self(self, *part);
        };
        for (const AttentionStep& step : file_.steps) {
            add(add, *step.rule.value);
            read.insert(read.end(), step.rule.indices.begin(), step.rule.indices.end());
            std::size_t same = 0;
            for (const AttentionStep& other : file_.steps) {
                const bool meet =
                    other.form.empty() || step.form.empty() || other.form == step.form;
                const bool may = step.when == other.when;
                same += other.rule.step == step.rule.step && meet && may ? 1 : 0;
            }
            if (same > 1) file_.refuse(step.line, "two steps make " + step.rule.step);
        }
        for (const AttentionParameter& each : file_.parameters) {
            if (each.value != nullptr) add(add, *each.value);
            read.insert(read.end(), each.letters.begin(), each.letters.end());
        }
        for (const AttentionNumber& each : file_.axes) add(add, *each.value);
        for (const AttentionNumber& each : file_.settings) add(add, *each.value);
        for (const AttentionMistake& each : file_.mistakes) {
            if (each.rule.value == nullptr || each.title.empty()) {
                file_.refuse(each.line, "the mistake " + each.id + " lacks its rule or its title");
            }
            add(add, *each.rule.value);
            for (const AttentionStep& step : file_.steps) {
                if (step.rule.step != each.step || !same_tree(*step.rule.value, *each.rule.value)) {
                    continue;
                }
                file_.refuse(each.line, "the rule of the mistake " + each.id +
                                            " is that of its step: nothing is wrong there");
            }
        }
        const auto require_read = [&](const auto& all, const std::string& problem) {
            for (const auto& each : all) {
                if (!has(read, each.name)) file_.refuse(each.line, problem + each.name);
            }
        };
        require_read(file_.axes, "nothing has the axis ");
        require_read(file_.settings, "no rule reads the setting ");
        require_read(file_.parameters, "no rule reads the parameter ");
        if (file_.steps.empty())
            file_.refuse(1, "it has no step: add one, step weights[q,k] = ...");
        if (!file_.same.empty() && file_.forms.size() < 2) {
            file_.refuse(file_.same_line, "`same` needs two forms");
        }
    }

    [[noreturn]] static void refuse(const std::string& message) { throw ConfigError(message); }

    AttentionFile file_;
    Line line_;
    std::string form_;
    std::vector<AttentionGroup> groups_;
    AttentionStep* step_ = nullptr;
    AttentionParameter* parameter_ = nullptr;
    AttentionMistake* mistake_ = nullptr;
};

}  // namespace

AttentionFile parse_attention(const std::string& text, const std::string& label) {
    return Reader(text, label).file();
}

}  // namespace attn
